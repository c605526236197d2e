/** Joins words for an error that lists what is possible. */

/** `a`, `a or b`, `a, b or c`. */
export const orOf = (words: ReadonlyArray<string>): string =>
  words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`
