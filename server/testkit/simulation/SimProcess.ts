// A process of the simulated world: its fibres, clock, chance, logs and metrics. The world outside reaches it
// only by `post`, as the network and the kernel reach a real one: while it is paused that waits, and once it
// has crashed it is lost, finalizers and all.
import { Clock, Context, Effect, type Fiber, Logger, Metric, Random, Scheduler } from "effect"
import type { Chance } from "./Chance.ts"
import { type MachineClock, SimClock } from "./SimClock.ts"
import { SimDispatcher, SimScheduler } from "./SimScheduler.ts"
import type { World } from "./World.ts"

export class SimProcess {
  readonly name: string
  readonly world: World
  readonly chance: Chance
  readonly context: Context.Context<never>
  isAlive = true
  isPaused = false
  readonly #inbox: SimDispatcher
  readonly #onEnd = new Set<() => void>()

  constructor(name: string, world: World, machine: MachineClock, chance: Chance) {
    this.name = name
    this.world = world
    this.chance = chance
    this.#inbox = new SimDispatcher(this)
    const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
      world.trace.note(name, () => `${logLevel}: ${[message].flat().map(String).join(" ")}`)
    })
    this.context = Context.make(Scheduler.Scheduler, new SimScheduler(this)).pipe(
      Context.add(Clock.Clock, new SimClock(this, machine)),
      Context.add(Random.Random, randomFrom(chance)),
      Context.add(Metric.MetricRegistry, new Map()),
      Context.add(Logger.CurrentLoggers, new Set([logger])),
      // References have defaults: whoever runs under this context needs none of them by name.
    ) as Context.Context<never>
  }

  /** To be called inside the process, that is from what was posted to it. */
  run<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E> {
    return Effect.runForkWith(this.context)(effect)
  }

  /** Something reaches the process: it happens when the process runs, or never. */
  post(task: () => void): void {
    this.#inbox.scheduleTask(task, 0)
  }

  pause(): void {
    if (!this.isAlive || this.isPaused) return
    this.isPaused = true
    this.world.park(this)
  }

  resume(): void {
    if (!this.isPaused) return
    this.isPaused = false
    this.world.unpark(this)
  }

  /** Drops every fibre where it stands. */
  crash(): void {
    if (!this.isAlive) return
    this.isAlive = false
    this.world.park(this)
    this.world.forget(this)
    for (const end of this.#onEnd) end()
    this.#onEnd.clear()
  }

  /** Told of the crash, unless called off; connections break that way. */
  whenCrashed(end: () => void): () => void {
    this.#onEnd.add(end)
    return () => this.#onEnd.delete(end)
  }

  /** A dispatcher has work. */
  isReady(dispatcher: SimDispatcher): void {
    this.world.isReady(dispatcher)
  }
}

const randomFrom = (chance: Chance): typeof Random.Random.Service => ({
  nextIntUnsafe: () => Math.floor(chance.next() * Number.MAX_SAFE_INTEGER),
  nextDoubleUnsafe: () => chance.next(),
})
