// How much work for clients may run in one turn of the event loop. Requests that a client sends ahead, and large answers,
// run in later turns when the budget of the current turn is spent. Without it, a hundred connections that each send many
// requests ahead would hold the thread for seconds. The first request of a connection never waits.

export interface TurnBudgetOptions {
  readonly unitsPerTurn: number
  /** The budget is also spent when so much time has passed since the first work of the turn. */
  readonly turnMs: number
  /** Monotonic. */
  readonly nowMs: () => number
}

export class TurnBudget {
  readonly #options: TurnBudgetOptions
  readonly #waiting = new Set<() => void>()
  #spent = 0
  #beganAtMs = 0
  #isTurnQueued = false

  constructor(options: TurnBudgetOptions) {
    this.#options = options
  }

  get isSpent(): boolean {
    const { unitsPerTurn, turnMs, nowMs } = this.#options
    return this.#spent >= unitsPerTurn || (this.#spent > 0 && nowMs() - this.#beganAtMs >= turnMs)
  }

  spend(units: number): void {
    if (this.#spent === 0) this.#beganAtMs = this.#options.nowMs()
    this.#spent += units
    this.#queueTurn()
  }

  /** Runs the work in a later turn, in the order in which it was deferred. */
  defer(work: () => void): void {
    this.#waiting.add(work)
    this.#queueTurn()
  }

  forget(work: () => void): void {
    this.#waiting.delete(work)
  }

  #queueTurn(): void {
    if (this.#isTurnQueued) return
    this.#isTurnQueued = true
    setImmediate(this.#beginTurn)
  }

  readonly #beginTurn = (): void => {
    this.#isTurnQueued = false
    this.#spent = 0
    // Work may defer itself again. It has its next turn after all others.
    let left = this.#waiting.size
    for (const work of this.#waiting) {
      if (left-- === 0 || this.isSpent) break
      this.#waiting.delete(work)
      work()
    }
    if (this.#waiting.size > 0) this.#queueTurn()
  }
}
