// The ids that were published recently, by which the bus recognises repeats. The time is monotonic, so a change of the
// system clock does not matter. The memory is bounded and drops the oldest ids first.
export class RecentIds {
  /** The publishing time of each id, oldest first. */
  readonly #publishedAtMs = new Map<string, number>()
  readonly #windowMs: number
  readonly #atMost: number

  constructor(windowMs: number, atMost: number) {
    this.#windowMs = windowMs
    this.#atMost = atMost
  }

  has(id: string, nowMs: number): boolean {
    const publishedAtMs = this.#publishedAtMs.get(id)
    return publishedAtMs !== undefined && nowMs - publishedAtMs < this.#windowMs
  }

  add(id: string, nowMs: number): void {
    this.#publishedAtMs.delete(id)
    this.#publishedAtMs.set(id, nowMs)
    for (const [oldest, publishedAtMs] of this.#publishedAtMs) {
      if (this.#publishedAtMs.size <= this.#atMost && nowMs - publishedAtMs < this.#windowMs) break
      this.#publishedAtMs.delete(oldest)
    }
  }
}
