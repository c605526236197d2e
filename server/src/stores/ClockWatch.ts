// Compares this node's clock with that of the shared database. Timers fire by the clock of the node that owns them, so
// a wrong clock makes them early or late by its error. Nothing else notices that.
import { formatDuration } from "@punctual/api/DurationMs"
import { Context, Effect, Layer, Metric, Option } from "effect"
import { StoreClock } from "../ports/StoreClock.ts"
import { WallClock } from "../ports/WallClock.ts"

const readEveryMs = 10_000
/** A larger offset is logged as a warning. */
const warnPastMs = 500

const offsetSeconds = Metric.gauge("timer_clock_offset_seconds", {
  description: "How far this node's clock is ahead of the database's; negative if it is behind",
})

export class ClockWatch extends Context.Service<
  ClockWatch,
  {
    /** The last reading: how far this node's clock is ahead of the database's. */
    offsetMs(): number | undefined
  }
>()("punctual/stores/ClockWatch") {
  /** A store without a clock has nothing to compare with. Then nothing is read. */
  static readonly layer: Layer.Layer<ClockWatch, never, WallClock> = Layer.effect(
    ClockWatch,
    Effect.gen(function* () {
      const given = yield* Effect.serviceOption(StoreClock)
      if (Option.isNone(given)) return { offsetMs: () => undefined }
      const storeClock = given.value
      const wall = yield* WallClock
      let last: number | undefined
      const read = Effect.flatMap(
        storeClock.offsetMs(() => wall.now()),
        (offsetMs) => {
          const before = last
          last = offsetMs
          return Effect.andThen(Metric.update(offsetSeconds, offsetMs / 1_000), told(before ?? 0, offsetMs))
        },
      ).pipe(
        // All users of an unreachable database report it, so this only logs at debug level.
        Effect.catch(({ message }) => Effect.logDebug(`the database's clock could not be read: ${message}`)),
      )
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(read, Effect.sleep(readEveryMs))))
      return { offsetMs: () => last }
    }),
  )
}

/** Logs once each time that the limit is crossed. */
const told = (beforeMs: number, offsetMs: number): Effect.Effect<void> => {
  const [wasOff, isOff] = [Math.abs(beforeMs) > warnPastMs, Math.abs(offsetMs) > warnPastMs]
  if (wasOff === isOff) return Effect.void
  if (!isOff) return Effect.logInfo("this node's clock agrees with the database's again")
  const way = offsetMs > 0 ? "ahead of" : "behind"
  return Effect.logWarning(
    `this node's clock is ${formatDuration(Math.round(Math.abs(offsetMs)))} ${way} the database's, and its timers fire by this clock: synchronise it, for example with NTP`,
  )
}
