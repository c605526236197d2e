// The simulated world: true time, the coming events, and the order of turns. It has one thread and one seed. Nothing
// waits for anything real, so every run of a seed takes the same steps.
import { Chance } from "./Chance.ts"
import { EventQueue, type SimEvent } from "./EventQueue.ts"
import type { SimProcess } from "./SimProcess.ts"
import type { SimDispatcher } from "./SimScheduler.ts"
import { Trace } from "./Trace.ts"

/** More steps than this at one instant mean an endless loop. */
const stepsAtOnce = 200_000

export class World {
  readonly seed: number
  readonly trace: Trace
  /** True time since the start. */
  nowUs = 0
  steps = 0
  readonly #turns: Chance
  readonly #events = new EventQueue()
  readonly #ready: Array<SimDispatcher> = []
  readonly #parked = new Map<SimProcess, Set<SimDispatcher>>()
  #stopped: string | undefined

  constructor(seed: number, options: { readonly isTraced: boolean }) {
    this.seed = seed
    this.#turns = this.chance("turns")
    this.trace = new Trace(this, options.isTraced)
  }

  chance(name: string): Chance {
    return Chance.of(this.seed, name)
  }

  get nowMs(): number {
    return this.nowUs / 1_000
  }

  /** Why the run stopped early, if it did. */
  get whyStopped(): string | undefined {
    return this.#stopped
  }

  after(delayUs: number, run: () => void): SimEvent {
    return this.#events.add(this.nowUs + Math.max(1, Math.round(delayUs)), run)
  }

  afterMs(delayMs: number, run: () => void): SimEvent {
    return this.after(delayMs * 1_000, run)
  }

  /** Stops the world. The state stays as it is at this moment. */
  stop(why: string): void {
    this.#stopped ??= why
  }

  /** Runs the world until that instant, or until it is stopped. */
  runUntil(endUs: number): void {
    let stepsNow = 0
    while (this.#stopped === undefined) {
      if (this.#ready.length > 0) {
        this.#takeTurn()
        if (++stepsNow > stepsAtOnce) this.stop(`no rest after ${stepsAtOnce} steps at one instant`)
        continue
      }
      const nextAtUs = this.#events.nextAtUs
      if (nextAtUs === undefined || nextAtUs > endUs) break
      if (nextAtUs > this.nowUs) stepsNow = 0
      this.nowUs = nextAtUs
      const event = this.#events.take()
      if (event?.run === undefined) continue
      this.steps++
      this.trace.mix(event.order)
      event.run()
    }
    this.nowUs = Math.max(this.nowUs, this.#stopped === undefined ? endUs : 0)
  }

  isReady(dispatcher: SimDispatcher): void {
    const parked = this.#parked.get(dispatcher.process)
    if (parked === undefined) this.#ready.push(dispatcher)
    else parked.add(dispatcher)
  }

  /** The process gets no more turns. */
  park(process: SimProcess): void {
    const parked = this.#parked.get(process) ?? new Set()
    this.#parked.set(process, parked)
    for (let index = this.#ready.length - 1; index >= 0; index--) {
      const dispatcher = this.#ready[index]
      if (dispatcher?.process !== process) continue
      parked.add(dispatcher)
      this.#ready.splice(index, 1)
    }
  }

  unpark(process: SimProcess): void {
    const parked = this.#parked.get(process)
    this.#parked.delete(process)
    for (const dispatcher of parked ?? []) if (dispatcher.size > 0) this.#ready.push(dispatcher)
  }

  forget(process: SimProcess): void {
    this.#parked.delete(process)
  }

  /** Takes one step of one fibre, picked by the seed. */
  #takeTurn(): void {
    const index = this.#turns.below(this.#ready.length)
    const dispatcher = this.#ready[index]
    if (dispatcher === undefined) return
    this.steps++
    this.trace.mix(index * 8_191 + this.#ready.length)
    // The dispatcher leaves the list while it runs, because its step may pause its own process. After its last step,
    // new work makes the dispatcher ready again.
    const last = this.#ready.pop()
    if (last !== undefined && last !== dispatcher) this.#ready[index] = last
    const hasMore = dispatcher.size > 1
    dispatcher.runNext()
    if (hasMore && dispatcher.process.isAlive) this.isReady(dispatcher)
  }
}
