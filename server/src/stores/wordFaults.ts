// What the doctor says about the index of words in SQL stores.

/**
 * Words of pending timers and of dead letters are written and removed together with their rows. So a word without its
 * row is a fault. Pruning removes words of history and the lives in separate steps, so those are not checked.
 */
export const faultOfWords = (count: number, state: string): ReadonlyArray<string> =>
  count === 0 ? [] : [`${count} ${count === 1 ? "word belongs" : "words belong"} to no ${state} timer`]
