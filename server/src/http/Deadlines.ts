// Bounds on what a call waits for: its body, and its answer.

/**
 * One time-out for many waits. All waits are equally long, so they end in the order in which they began,
 * and one system timer for the oldest serves them all.
 */
export class Deadlines {
  readonly #timeoutMs: number
  readonly #waits = new Set<{ readonly endsAt: number; readonly end: () => void }>()
  #isArmed = false

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  within<A>(work: Promise<A>, onTimeout: () => A, onFailure: () => A): Promise<A> {
    return new Promise((resolve) => {
      const wait = {
        endsAt: performance.now() + this.#timeoutMs,
        end: () => resolve(onTimeout()),
      }
      this.#waits.add(wait)
      if (!this.#isArmed) this.#arm(this.#timeoutMs)
      // Every call waits here once, so this makes do without the promises that `finally` would add.
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
    // An idle service must be able to end: waiting for bodies keeps no process alive.
    setTimeout(() => this.#endOverdue(), inMs).unref()
  }

  #endOverdue(): void {
    const now = performance.now()
    this.#isArmed = false
    for (const wait of this.#waits) {
      if (wait.endsAt > now) {
        this.#arm(Math.ceil(wait.endsAt - now))
        return
      }
      this.#waits.delete(wait)
      wait.end()
    }
  }
}
