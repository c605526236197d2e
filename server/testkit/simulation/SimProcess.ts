// A process of the simulated world: its fibres, clock, randomness, logs and metrics. The outside reaches it only
// through `post`, as the network and the kernel reach a real process. While the process is paused, posted tasks wait.
// When the process crashes, all its tasks are lost, finalizers included.
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
      // These are references with defaults, so an effect that runs under this context requires none of them in its
      // type.
    ) as Context.Context<never>
  }

  /** Call this only inside the process, that is, from a posted task. */
  run<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E> {
    return Effect.runForkWith(this.context)(effect)
  }

  /** Hands a task to the process. The task runs when the process runs, or never. */
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

  /** Drops every fibre at its current step. */
  crash(): void {
    if (!this.isAlive) return
    this.isAlive = false
    this.world.park(this)
    this.world.forget(this)
    for (const end of this.#onEnd) end()
    this.#onEnd.clear()
  }

  /** Calls `end` when the process crashes, unless the returned function cancelled that. Connections break this way. */
  whenCrashed(end: () => void): () => void {
    this.#onEnd.add(end)
    return () => this.#onEnd.delete(end)
  }

  /** Notes that a dispatcher has work. */
  isReady(dispatcher: SimDispatcher): void {
    this.world.isReady(dispatcher)
  }
}

const randomFrom = (chance: Chance): typeof Random.Random.Service => ({
  nextIntUnsafe: () => Math.floor(chance.next() * Number.MAX_SAFE_INTEGER),
  nextDoubleUnsafe: () => chance.next(),
})
