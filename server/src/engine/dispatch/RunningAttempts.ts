// Runs attempts, and ends those that still run when the engine stops.
import { Effect, Exit, Fiber } from "effect"
import { type Delivery, isOngoing, type OngoingAttempt } from "../../ports/Deliverer.ts"

export class RunningAttempts {
  readonly #runFork: <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A>
  readonly #fibers = new Set<Fiber.Fiber<unknown>>()
  readonly #ongoing = new Set<() => void>()

  constructor(runFork: <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A>) {
    this.#runFork = runFork
  }

  /** `onExit` is called once, perhaps before this returns. The result interrupts the attempt. */
  readonly start = (
    attempt: Effect.Effect<Delivery> | OngoingAttempt,
    onExit: (exit: Exit.Exit<Delivery>) => void,
  ): (() => void) => {
    if (!isOngoing(attempt)) return this.run(attempt, onExit)
    const end = () => {
      if (!this.#ongoing.delete(end)) return
      attempt.abandon()
      onExit(Exit.interrupt())
    }
    this.#ongoing.add(end)
    attempt.onEnd((delivery) => {
      if (this.#ongoing.delete(end)) onExit(Exit.succeed(delivery))
    })
    return end
  }

  /** The same for any effect. */
  readonly run = <A>(effect: Effect.Effect<A>, onExit: (exit: Exit.Exit<A>) => void): (() => void) => {
    // An attempt that has ended needs no fiber. An exit of this effect has its type.
    if (Exit.isExit(effect)) {
      onExit(effect as Exit.Exit<A>)
      return () => {}
    }
    const fiber = this.#runFork(effect)
    this.#fibers.add(fiber)
    fiber.addObserver((exit) => {
      this.#fibers.delete(fiber)
      onExit(exit)
    })
    return () => fiber.interruptUnsafe()
  }

  get interruptAll(): Effect.Effect<void> {
    return Effect.suspend(() => {
      for (const end of [...this.#ongoing]) end()
      return Fiber.interruptAll([...this.#fibers])
    })
  }
}
