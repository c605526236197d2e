// The longest time that the engine's thread was held, from the service's own metrics.

/**
 * In milliseconds, from the text of /metrics before and after. From a histogram it is the upper bound of the highest
 * bucket that got a value. Undefined if the service has no such metric, or if the thread was never held.
 */
export const longestStallMs = (before: string, after: string): number | undefined => {
  const earlier = stallBuckets(before)
  let longestMs: number | undefined
  let below = 0
  for (const [upTo, count] of stallBuckets(after)) {
    const added = count - (earlier.get(upTo) ?? 0)
    if (added > below) longestMs = upTo * 1_000
    below = added
  }
  return longestMs
}

/** The counts by upper bound in seconds, in ascending order. */
const stallBuckets = (metrics: string): ReadonlyMap<number, number> =>
  new Map(
    [...metrics.matchAll(/^timer_thread_stall_seconds_bucket\{le="([^"]+)"\} (\S+)$/gm)]
      .map(
        ([, upTo, count]) =>
          [upTo === "+Inf" ? Number.POSITIVE_INFINITY : Number(upTo), Number(count)] as const,
      )
      .sort(([a], [b]) => a - b),
  )
