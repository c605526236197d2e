/**
 * Slows down addresses that try wrong keys. Only the answers to wrong keys wait, so a right key from the same address is
 * answered at once. How many answers wait at the same time is limited, in all and for each address: a connection whose
 * answer waits counts for its address, and others behind the same proxy need connections, too.
 */
const freeTries = 10
const forgottenAfterMs = 60_000
const firstDelayMs = 50
const usualLongestDelayMs = 2_000
const addressesMax = 10_000
const waitingMax = 1_000
export const waitingPerAddressMax = 50

interface Tries {
  count: number
  lastMs: number
}

export class FailedTries {
  readonly #byAddress = new Map<string, Tries>()
  readonly #longestDelayMs: number
  readonly #sleep: (ms: number) => Promise<void>
  readonly #waitingOf = new Map<string, number>()
  #waiting = 0

  constructor(longestDelayMs = usualLongestDelayMs, sleep = sleepFor) {
    this.#longestDelayMs = longestDelayMs
    this.#sleep = sleep
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
  async wait(address: string, delayMs: number): Promise<void> {
    const waiting = this.#waitingOf.get(address) ?? 0
    if (delayMs === 0 || this.#waiting >= waitingMax || waiting >= waitingPerAddressMax) return
    this.#addWaiting(address, 1)
    try {
      await this.#sleep(delayMs)
    } finally {
      this.#addWaiting(address, -1)
    }
  }

  #addWaiting(address: string, change: 1 | -1): void {
    const waiting = (this.#waitingOf.get(address) ?? 0) + change
    if (waiting === 0) this.#waitingOf.delete(address)
    else this.#waitingOf.set(address, waiting)
    this.#waiting += change
  }
}

const sleepFor = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
