// Waits for something that another process does. It asks again and again. The time limit is generous, because it only
// separates slow from never.

const usuallyEveryMs = 10

/** The first answer that is not undefined. */
export const eventually = async <A>(
  what: string,
  ask: () => Promise<A | undefined> | A | undefined,
  withinMs = 30_000,
  askEveryMs = usuallyEveryMs,
): Promise<A> => {
  const deadline = performance.now() + withinMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, askEveryMs))
  }
}

/** For a server that may not answer for a while: a question that fails has no answer yet. */
export const eventuallyAnswered = async <A>(
  what: string,
  ask: () => Promise<A | undefined>,
  withinMs?: number,
  askEveryMs?: number,
): Promise<A> => {
  let cause: unknown
  const answer = async () => {
    try {
      return await ask()
    } catch (error) {
      cause = error
      return undefined
    }
  }
  try {
    return await eventually(what, answer, withinMs, askEveryMs)
  } catch (error) {
    const late = error instanceof Error ? error.message : String(error)
    throw cause === undefined ? error : new Error(`${late}; a question failed: ${cause}`, { cause })
  }
}
