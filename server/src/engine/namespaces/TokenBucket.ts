// Limits a rate per second. After a rest, at most one second's worth is available at once. Nothing here reads a clock.

export class TokenBucket {
  #tokens = Number.POSITIVE_INFINITY
  #filledMs = Number.NEGATIVE_INFINITY

  /** Takes one token and returns 0, or returns in how many milliseconds there will be one. `nowMs` is monotonic. */
  take(perSecond: number, nowMs: number): number {
    const most = Math.max(1, perSecond)
    const gained =
      this.#tokens === Number.POSITIVE_INFINITY ? 0 : ((nowMs - this.#filledMs) / 1_000) * perSecond
    this.#tokens = Math.min(most, this.#tokens + Math.max(0, gained))
    this.#filledMs = nowMs
    if (this.#tokens < 1) return ((1 - this.#tokens) / perSecond) * 1_000
    this.#tokens--
    return 0
  }
}
