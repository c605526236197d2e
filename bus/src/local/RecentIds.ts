// The ids that were published lately: by them a repeat is told from a message. Time is monotonic, so that a
// clock that is set does not bring repeats back; the memory is bounded, and forgets the oldest first.
export class RecentIds {
  /** When each was published, oldest first. */
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
