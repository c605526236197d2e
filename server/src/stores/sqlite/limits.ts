// The limits of one write to the SQLite store. Only one write runs at a time: the writer executes them one after the
// other anyway, and writes that wait longer share a larger commit.
export const limits = {
  // Keys are random, so each write changes its own page of an index. In a commit twice as large, more writes share a page:
  // in a burst an outcome costs a tenth less. Packing so many takes about 3 ms of the engine's thread.
  batchItems: 2_000,
  batchBytes: 4 << 20,
  itemBytes: 1 << 20,
  concurrentWrites: 1,
  shardsTogether: Number.MAX_SAFE_INTEGER,
} as const
