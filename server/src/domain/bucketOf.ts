// Equal parts of a span of time, and the part to which an instant belongs.

export interface Buckets {
  /** Inclusive, in milliseconds. */
  readonly from: number
  /** Exclusive. */
  readonly until: number
  readonly buckets: number
}

/** `atMs` must be within the span. Rounding never leads to a bucket after the last. */
export const bucketOf = (atMs: number, { from, until, buckets }: Buckets): number =>
  Math.min(buckets - 1, Math.floor(((atMs - from) * buckets) / (until - from)))
