/**
 * Slows down addresses that try wrong keys. Only the answers to wrong keys wait, so a right key from the same address is
 * answered at once. How many answers wait at the same time is limited.
 */
const freeTries = 10
const forgottenAfterMs = 60_000
const firstDelayMs = 50
const usualLongestDelayMs = 2_000
const addressesMax = 10_000
const waitingMax = 1_000

interface Tries {
  count: number
  lastMs: number
}

export class FailedTries {
  readonly #byAddress = new Map<string, Tries>()
  readonly #longestDelayMs: number
  #waiting = 0

  constructor(longestDelayMs = usualLongestDelayMs) {
    this.#longestDelayMs = longestDelayMs
  }

  /** Counts a failure. Answers how long its answer should wait, in milliseconds. */
  failed(address: string, nowMs: number): number {
    const before = this.#byAddress.get(address)
    const isRecent = before !== undefined && nowMs - before.lastMs < forgottenAfterMs
    const count = isRecent ? before.count + 1 : 1
    // The addresses that failed last are remembered longest.
    this.#byAddress.delete(address)
    this.#byAddress.set(address, { count, lastMs: nowMs })
    const [oldest] = this.#byAddress.keys()
    if (this.#byAddress.size > addressesMax && oldest !== undefined) this.#byAddress.delete(oldest)
    return count <= freeTries
      ? 0
      : Math.min(this.#longestDelayMs, firstDelayMs * 2 ** Math.min(20, count - freeTries - 1))
  }

  /** Resolves after the delay, or at once if too many answers wait already. */
  async wait(delayMs: number): Promise<void> {
    if (delayMs === 0 || this.#waiting >= waitingMax) return
    this.#waiting++
    try {
      await new Promise<void>((resolve) => setTimeout(resolve, delayMs))
    } finally {
      this.#waiting--
    }
  }
}
