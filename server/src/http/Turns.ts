// Lets only a few pieces of work run at a time. The others wait in the order in which they came. The number of waiting
// pieces and the time that each waits are limited.
import { Deadlines } from "./Deadlines.ts"

export interface TurnsOptions {
  /** How many pieces run at a time. */
  readonly atOnce: number
  /** How many may wait. Further work is refused. */
  readonly waitingMax: number
  readonly waitAtMostMs: number
}

export class Turns {
  readonly #options: TurnsOptions
  readonly #deadlines: Deadlines
  readonly #waiting = new Set<() => void>()
  #running = 0

  constructor(options: TurnsOptions) {
    this.#options = options
    this.#deadlines = new Deadlines(options.waitAtMostMs)
  }

  /** The result of the work, or of `orElse` if the work had no turn. */
  async run<A>(work: () => Promise<A>, orElse: () => A): Promise<A> {
    if (!(await this.#begin())) return orElse()
    try {
      return await work()
    } finally {
      this.#end()
    }
  }

  #begin(): boolean | Promise<boolean> {
    if (this.#running < this.#options.atOnce) {
      this.#running++
      return true
    }
    if (this.#waiting.size >= this.#options.waitingMax) return false
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const start = () => resolve(true)
    const giveUp = () => {
      // A turn that was given at the same moment is passed on.
      if (!this.#waiting.delete(start)) this.#end()
      return false
    }
    this.#waiting.add(start)
    return this.#deadlines.within(promise, giveUp, giveUp)
  }

  /** The turn goes directly to the next piece of work, so nobody can come in between. */
  #end(): void {
    const [next] = this.#waiting
    if (next === undefined) {
      this.#running--
      return
    }
    this.#waiting.delete(next)
    next()
  }
}
