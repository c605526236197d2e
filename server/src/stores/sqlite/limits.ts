// What one write to the SQLite store may hold. Two may be under way: while one commits, the next is
// on its way to the writer, so that the disk never waits for the main thread.
export const limits = {
  batchItems: 1_000,
  batchBytes: 4 << 20,
  itemBytes: 1 << 20,
  concurrentWrites: 2,
} as const
