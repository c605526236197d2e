// The time of day, by which timers are due. It is apart from Effect's Clock, which measures sleeps,
// leases and time-outs, because a manual clock replaces only this one.
import { Clock, Context, Effect, Layer } from "effect"

export class WallClock extends Context.Service<WallClock, { now(): number }>()("punctual/ports/WallClock") {
  static readonly system = Layer.succeed(WallClock, { now: () => Date.now() })

  /** Wall time that follows Effect's Clock: virtual wherever that is. */
  static readonly fromClock = Layer.effect(
    WallClock,
    Effect.map(
      Clock.clockWith((clock) => Effect.succeed(clock)),
      (clock) => ({ now: () => clock.currentTimeMillisUnsafe() }),
    ),
  )
}
