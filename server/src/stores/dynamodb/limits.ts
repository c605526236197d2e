// The limits of DynamoDB and those that follow from them. Leases last 5 s, so every call ends before that.

/** A transaction has at most 100 items: the fence, and three for each change (the key, a life, its place in the order). */
export const transactionItems = 100
/** A transaction has at most 4 MB. The rest is for names and expressions. */
export const transactionBytes = 3_700_000

export const writeLimits = {
  batchItems: 33,
  batchBytes: 3 << 20,
  /** An item of DynamoDB has at most 400 KB. A dead letter also keeps the log of its attempts. */
  itemBytes: 360_000,
  shardsTogether: 1,
} as const

/** The largest item that is written. */
export const mostItemBytes = 400_000

/** Requests at once of a service, and of a command. */
export const requestsOfService = 64
export const requestsOfCommand = 8

/** The commits of different shards run side by side. */
export const concurrentWrites = 32

export const shardsByDefault = 64

/** DynamoDB removes expired items by itself, within a few days. Only what it left after this time is removed by a prune. */
export const expiryGraceMs = 4 * 24 * 60 * 60 * 1_000

/** A key that has a dead letter does not expire. */
export const neverSeconds = 253_402_300_799
