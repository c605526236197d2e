// Limits how long a call waits for its body and its answer.

export interface DeadlineWait {
  readonly endsAt: number
  readonly end: () => void
}

/**
 * One timeout for many waits. All waits have the same length, so they end in the order in which they began. Therefore
 * one system timer, set for the oldest wait, is enough.
 */
export class Deadlines {
  readonly #timeoutMs: number
  readonly #waits = new Set<DeadlineWait>()
  #isArmed = false

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  /** Calls `end` after the timeout, unless `finish` is called before. */
  begin(end: () => void): DeadlineWait {
    const wait = { endsAt: performance.now() + this.#timeoutMs, end }
    this.#waits.add(wait)
    if (!this.#isArmed) this.#arm(this.#timeoutMs)
    return wait
  }

  /** The wait is over. False if it ended before. */
  finish(wait: DeadlineWait): boolean {
    return this.#waits.delete(wait)
  }

  within<A>(work: Promise<A>, onTimeout: () => A, onFailure: () => A): Promise<A> {
    return new Promise((resolve) => {
      const wait = this.begin(() => resolve(onTimeout()))
      // Every call waits here once, so this code avoids the additional promises of `finally`.
      work.then(
        (value) => {
          this.#waits.delete(wait)
          resolve(value)
        },
        () => {
          this.#waits.delete(wait)
          resolve(onFailure())
        },
      )
    })
  }

  #arm(inMs: number): void {
    this.#isArmed = true
    // A wait for a body must not keep the process alive.
    setTimeout(() => this.#endOverdue(), inMs).unref()
  }

  #endOverdue(): void {
    const now = performance.now()
    this.#isArmed = false
    let ended = 0
    for (const wait of this.#waits) {
      if (wait.endsAt > now || ended++ === endsPerTurn) {
        this.#arm(Math.max(1, Math.ceil(wait.endsAt - now)))
        return
      }
      this.#waits.delete(wait)
      wait.end()
    }
  }
}

/** Every end leads to an answer. Many of them at once would hold the thread. */
const endsPerTurn = 100
