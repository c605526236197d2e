// Lets only a few pieces of work run at a time. The others wait. The groups of work take turns, so that a group with much
// work does not delay the others. Within a group, work runs in the order in which it came. The number of waiting pieces
// and the time that each waits are limited.
import { Deadlines } from "./Deadlines.ts"

export interface TurnsOptions {
  /** How many pieces run at a time. */
  readonly atOnce: number
  /** How many may wait. Further work is refused. */
  readonly waitingMax: number
  readonly waitAtMostMs: number
}

/** Measures the rests. */
export interface RestClock {
  readonly nowMs: () => number
  readonly after: (ms: number, run: () => void) => void
}

const systemClock: RestClock = {
  nowMs: () => performance.now(),
  after: (ms, run) => void setTimeout(run, ms).unref(),
}

export class Turns {
  readonly #options: TurnsOptions
  readonly #clock: RestClock
  readonly #deadlines: Deadlines
  /** The waiting pieces of each group. The first group has the next turn. */
  readonly #waiting = new Map<string, Set<() => void>>()
  #waitingCount = 0
  #running = 0
  #restsUntilMs = 0

  constructor(options: TurnsOptions, clock: RestClock = systemClock) {
    this.#options = options
    this.#clock = clock
    this.#deadlines = new Deadlines(options.waitAtMostMs)
  }

  /**
   * The result of the work, or of `orElse` if the work had no turn. The turn lasts longer than the work, so that such work
   * does not use all time of the thread: all results together rest for the sum of their `restMs`. The rests follow one
   * another, so that the next pieces begin one by one and not together.
   */
  async run<A>(
    group: string,
    work: () => Promise<A>,
    orElse: () => A,
    restMs: (result: A) => number = () => 0,
  ): Promise<A> {
    if (!(await this.#begin(group))) return orElse()
    let waitMs = 0
    try {
      const result = await work()
      waitMs = restMs(result)
      return result
    } finally {
      if (waitMs < 1) this.#end()
      else this.#endAfter(waitMs)
    }
  }

  #endAfter(restMs: number): void {
    const nowMs = this.#clock.nowMs()
    this.#restsUntilMs = Math.max(nowMs, this.#restsUntilMs) + restMs
    this.#clock.after(this.#restsUntilMs - nowMs, () => this.#end())
  }

  #begin(group: string): boolean | Promise<boolean> {
    if (this.#running < this.#options.atOnce) {
      this.#running++
      return true
    }
    if (this.#waitingCount >= this.#options.waitingMax) return false
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const start = () => resolve(true)
    const giveUp = () => {
      // A turn that was given at the same moment is passed on.
      if (!this.#remove(group, start)) this.#end()
      return false
    }
    const waiting = this.#waiting.get(group)
    if (waiting === undefined) this.#waiting.set(group, new Set([start]))
    else waiting.add(start)
    this.#waitingCount++
    return this.#deadlines.within(promise, giveUp, giveUp)
  }

  #remove(group: string, start: () => void): boolean {
    const waiting = this.#waiting.get(group)
    if (waiting?.delete(start) !== true) return false
    this.#waitingCount--
    if (waiting.size === 0) this.#waiting.delete(group)
    return true
  }

  /** The turn goes directly to the next piece of work, so nobody can come in between. */
  #end(): void {
    for (const [group, waiting] of this.#waiting) {
      for (const start of waiting) {
        this.#remove(group, start)
        // The group has its next turn after all other groups.
        if (waiting.size > 0) {
          this.#waiting.delete(group)
          this.#waiting.set(group, waiting)
        }
        start()
        return
      }
    }
    this.#running--
  }
}
