// The time of day, by which timers are due. It is apart from Effect's Clock, which measures sleeps,
// leases and time-outs, because a manual clock replaces only this one.
import { Clock, Context, Effect, Layer } from "effect"
import { Alarm, systemAlarm } from "./Alarm.ts"

export class WallClock extends Context.Service<WallClock, { now(): number }>()("punctual/ports/WallClock") {
  /** With an alarm that is as exact as it is. */
  static readonly system = Layer.merge(
    Layer.succeed(WallClock, { now: () => Date.now() }),
    Layer.succeed(Alarm, systemAlarm),
  )

  /** Wall time that follows Effect's Clock: virtual wherever that is. */
  static readonly fromClock = Layer.effect(
    WallClock,
    Effect.map(
      Clock.clockWith((clock) => Effect.succeed(clock)),
      (clock) => ({ now: () => clock.currentTimeMillisUnsafe() }),
    ),
  )

  /** Wall time that stands still until somebody moves it. */
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

/** The hand that moves a wall clock which stands still; absent where the clock goes by itself. */
export class ManualClock extends Context.Service<
  ManualClock,
  {
    /** Never back: what is in the past stays there. Whoever sleeps until an instant is to be woken by the caller. */
    moveTo(ms: number): void
  }
>()("punctual/ports/ManualClock") {}
