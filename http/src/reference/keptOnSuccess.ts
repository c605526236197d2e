// A value that is made at the first request and then kept.

/** If making the value fails, the next request tries again. Requests at the same time share one attempt. */
export const keptOnSuccess = <A>(make: () => Promise<A>): (() => Promise<A>) => {
  let kept: Promise<A> | undefined
  return () => {
    kept ??= make().catch((error: unknown) => {
      kept = undefined
      throw error
    })
    return kept
  }
}
