// The time of day, by which timers are due. It is separate from Effect's Clock, which measures sleeps, leases and
// timeouts, because a manual clock replaces only this one.
import { Clock, Context, Effect, Layer } from "effect"
import { Alarm, systemAlarm } from "./Alarm.ts"

export class WallClock extends Context.Service<WallClock, { now(): number }>()("punctual/ports/WallClock") {
  /** The system's clock, with an alarm that is as exact. */
  static readonly system = Layer.merge(
    Layer.succeed(WallClock, { now: () => Date.now() }),
    Layer.succeed(Alarm, systemAlarm),
  )

  /** Wall time that follows Effect's Clock, so it is virtual if that clock is. */
  static readonly fromClock = Layer.effect(
    WallClock,
    Effect.map(
      Clock.clockWith((clock) => Effect.succeed(clock)),
      (clock) => ({ now: () => clock.currentTimeMillisUnsafe() }),
    ),
  )

  /** Wall time that stands still until it is moved. */
  static manual(startMs: number): Layer.Layer<WallClock | ManualClock> {
    return Layer.syncContext(() => {
      let nowMs = startMs
      const moveTo = (ms: number) => {
        nowMs = Math.max(nowMs, ms)
      }
      return Context.make(WallClock, { now: () => nowMs }).pipe(Context.add(ManualClock, { moveTo }))
    })
  }
}

/** Moves a manual wall clock. Absent if the clock runs by itself. */
export class ManualClock extends Context.Service<
  ManualClock,
  {
    /** Never moves back. The caller must wake the loops that sleep until an instant. */
    moveTo(ms: number): void
  }
>()("punctual/ports/ManualClock") {}
