// How much work for clients may run in one turn. New connections, requests and large answers run in later turns when the
// budget of the current turn is spent. Without it, thousands of connections that send a request at the same moment, or a
// hundred that each send many requests ahead, would hold the thread for seconds. The addresses of clients take turns.
import { FairQueue } from "../FairQueue.ts"

export interface TurnBudgetOptions {
  readonly unitsPerTurn: number
  /** The budget is also spent when so much time has passed since the first work of the turn. */
  readonly turnMs: number
  /** Monotonic. */
  readonly nowMs: () => number
  /** Begins the next turn. By default in the next turn of the event loop. */
  readonly after?: (begin: () => void) => void
}

export class TurnBudget {
  readonly #options: TurnBudgetOptions
  readonly #waiting = new FairQueue<() => void>()
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

  /** Runs the work in a later turn. The groups take turns. */
  defer(group: string, work: () => void): void {
    this.#waiting.add(group, work)
    this.#queueTurn()
  }

  forget(group: string, work: () => void): void {
    this.#waiting.delete(group, work)
  }

  #queueTurn(): void {
    if (this.#isTurnQueued) return
    this.#isTurnQueued = true
    const { after = setImmediate } = this.#options
    after(this.#beginTurn)
  }

  readonly #beginTurn = (): void => {
    this.#isTurnQueued = false
    // What one piece of work spent beyond its turn counts in the next ones.
    this.#spent = Math.max(0, this.#spent - this.#options.unitsPerTurn)
    this.#beganAtMs = this.#options.nowMs()
    // Work may defer itself again. It has its next turn after all others.
    for (let left = this.#waiting.size; left > 0 && !this.isSpent; left--) this.#waiting.take()?.()
    if (this.#waiting.size > 0 || this.#spent > 0) this.#queueTurn()
  }
}
