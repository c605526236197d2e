// What one write to the SQLite store may hold. One is under way at a time: the writer takes them one after
// the other anyway, and what waits longer shares a larger commit.
export const limits = {
  batchItems: 1_000,
  batchBytes: 4 << 20,
  itemBytes: 1 << 20,
  concurrentWrites: 1,
  shardsTogether: Number.MAX_SAFE_INTEGER,
} as const
