// Waits that are bounded, for work of which only the end matters.

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Resolves when the work has ended, or when the time is over. Never fails. */
export const within = async (ms: number, work: Promise<unknown>): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([work.catch(() => {}), promise])
  clearTimeout(timer)
}
