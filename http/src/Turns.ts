// Lets only a few pieces of work run at a time. The others wait, and their groups take turns (FairQueue.ts). The number of
// waiting pieces and the time that each waits are limited.
import { Deadlines } from "./Deadlines.ts"
import { FairQueue } from "./FairQueue.ts"
import { type PaceClock, systemPaceClock } from "./PaceClock.ts"

export interface TurnsOptions {
  /** How many pieces run at a time. */
  readonly atOnce: number
  /** How many may wait. Then the group with the most gives way to groups with fewer, and further work is refused. */
  readonly waitingMax: number
  readonly waitAtMostMs: number
}

interface Waiting {
  readonly settle: (hasTurn: boolean) => void
  /** It gave way to another group. */
  isRefused: boolean
}

export class Turns {
  readonly #options: TurnsOptions
  readonly #clock: PaceClock
  readonly #deadlines: Deadlines
  readonly #waiting = new FairQueue<Waiting>()
  #running = 0
  #restsUntilMs = 0

  constructor(options: TurnsOptions, clock: PaceClock = systemPaceClock) {
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
    if (this.#waiting.size >= this.#options.waitingMax && !this.#makeRoom(group)) return false
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const own: Waiting = { settle: resolve, isRefused: false }
    const giveUp = () => {
      // A turn that was given at the same moment is passed on.
      if (!own.isRefused && !this.#waiting.delete(group, own)) this.#end()
      return false
    }
    this.#waiting.add(group, own)
    return this.#deadlines.within(promise, giveUp, giveUp)
  }

  #makeRoom(group: string): boolean {
    const other = this.#waiting.takeFromLargest(this.#waiting.sizeOf(group) + 1)
    if (other === undefined) return false
    other.isRefused = true
    other.settle(false)
    return true
  }

  /** The turn goes directly to the next piece of work, so nobody can come in between. */
  #end(): void {
    const next = this.#waiting.take()
    if (next === undefined) this.#running--
    else next.settle(true)
  }
}
