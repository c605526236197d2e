// What the PostgreSQL store takes at once, and how long it may keep anyone waiting. Leases live 5 s: everything
// below ends before that, at the database and in this process, so that a frozen node, or a cut connection, never
// keeps another from taking a shard over.

/** Of one write. `concurrentWrites` follows from the number of connections. */
export const writeLimits = {
  batchItems: 1_000,
  batchBytes: 4 << 20,
  itemBytes: 1 << 20,
  shardsTogether: Number.MAX_SAFE_INTEGER,
} as const

/** Keys are indexed, and an entry of an index holds 2,700 bytes at most. */
export const mostKeyBytes = 1_000

export const defaultConnections = 8

/** One each for writes, reads, claims and renewals. */
export const fewestConnections = 4

/** At the database: a statement, the wait for a lock in it, an open transaction whose client says nothing. */
export const statementTimeoutMs = 3_000
export const lockTimeoutMs = 2_500
export const idleInTransactionTimeoutMs = 1_500

/** At the database: a client that takes nothing of its answer any more. */
export const unreadAnswerTimeoutMs = 3_000

/** Here: a call, from the moment it has a connection. */
export const callTimeoutMs = 4_000
export const connectTimeoutMs = 3_000

/** Here: the wait for a connection, and how many calls may wait for one. */
export const waitTimeoutMs = 4_000
export const mostWaiting = 1_000

/** A read that failed for want of a connection is tried again; a write never is, its asker repeats it. */
export const readRetries = 2
export const readRetryDelayMs = 100

/** A page of an archive: those of dead letters may lie far apart among what else has ended. */
export const archiveTimeoutMs = 300_000
