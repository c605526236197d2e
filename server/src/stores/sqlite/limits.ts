// The limits of one write to the SQLite store. Only one write runs at a time: the writer executes them one after the
// other anyway, and writes that wait longer share a larger commit.
export const limits = {
  batchItems: 1_000,
  batchBytes: 4 << 20,
  itemBytes: 1 << 20,
  concurrentWrites: 1,
  shardsTogether: Number.MAX_SAFE_INTEGER,
} as const
