// The limits of the MongoDB store, and how long a call may take. Leases last 5 s. A call ends before that, so a frozen
// server or a broken connection never keeps a node from noticing that it lost its shards.

/** The limits of one write. A commit is one document of its shard until the next commit, so it is kept small. */
export const writeLimits = {
  batchItems: 500,
  batchBytes: 4 << 20,
  itemBytes: 1 << 20,
  shardsTogether: 1,
} as const

/** A commit, its application and its reads have this many connections together. Leases have their own. */
export const defaultConnections = 8
export const leaseConnections = 2

/** The limit for a command of an archive or of an examination, which may read a whole collection. */
export const longCommandTimeoutMs = 300_000

/**
 * Documents of ended keys and removed lives stay at least this long, as traces. Without its trace, a key could be
 * created again by an owner that was stopped in the middle of an application.
 */
export const tracesKeptSeconds = 3_600

/** An application that has taken this long ends, long before the traces that protect the data from it are removed. */
export const applicationTimeoutMs = 600_000

/** How often an application, a look or a commit begins again because another process changed what it read. */
export const mostRounds = 5

/** How often the store looks for shards without commits, to remove their last intents. */
export const settleIdleEveryMs = 30_000
