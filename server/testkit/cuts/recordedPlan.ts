// What the recorded process and the judge of its files both know.

export const recordedShards = 4

/** The most items of one write. */
export const recordedItems = 5

/** After so many writes the process is quiet for longer than the store waits with a checkpoint. */
export const quietEvery = 45
export const quietMs = 400
