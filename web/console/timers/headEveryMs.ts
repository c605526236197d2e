/** How often a page may ask for its first rows. If the service is busy, its answers take longer, and pages ask less often. */
export const headEveryMs = { least: 2_000, most: 10_000 } as const

/** A page rests so many times as long as the service needed for the last answer. */
const restsPerAnswer = 10

export const headEveryMsAfter = (answerMs: number): number =>
  Math.min(headEveryMs.most, Math.max(headEveryMs.least, restsPerAnswer * answerMs))
