// The limits of the PostgreSQL store, and how long a call may take. Leases last 5 s. Everything below ends before that,
// at the database and in this process. So a frozen node or a broken connection never prevents another node from taking
// a shard over.

/**
 * The limits of one write. `concurrentWrites` follows from the number of connections. A thousand timers with small payloads
 * fit into `batchBytes`. With 4 MiB the driver held the thread for tens of milliseconds, and other timers were late.
 */
export const writeLimits = {
  batchItems: 1_000,
  batchBytes: 768 << 10,
  itemBytes: 1 << 20,
  shardsTogether: Number.MAX_SAFE_INTEGER,
} as const

/** At the database: the limits for a statement, for the wait for a lock, and for an idle transaction. */
export const statementTimeoutMs = 3_000
export const lockTimeoutMs = 2_500
export const idleInTransactionTimeoutMs = 1_500

/** At the database: the limit for a client that no longer reads its answer. */
export const unreadAnswerTimeoutMs = 3_000

/** In this process. SessionPool.ts has the limits of calls. */
export const connectTimeoutMs = 3_000

/** The limit for a page of an archive. Dead letters may be far apart among the other finished lives. */
export const archiveTimeoutMs = 300_000
