// Measures how long the engine's thread was busy without a pause. Timers fire, and requests are read and answered, on
// this thread. While one piece of work holds it, everything else waits. A system timer that should run every few
// milliseconds runs late by that time.
import { Effect, Metric, type Scope } from "effect"

const stalls = Metric.histogram("timer_thread_stall_seconds", {
  description: "How long the engine's thread did not get to other work, from 5 ms",
  boundaries: [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10],
})

/** How often the thread is checked. A stall is measured as up to this much shorter than it was. */
export const checkEveryMs = 10
/** Shorter waits are normal and not counted. */
const countedFromMs = 5

/** Checks the thread until the scope closes. */
export const watchThread = (
  nowMs: () => number = () => performance.now(),
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    let checkedAt = nowMs()
    const check = () => {
      const now = nowMs()
      const lateMs = now - checkedAt - checkEveryMs
      checkedAt = now
      if (lateMs >= countedFromMs) stalls.updateUnsafe(lateMs / 1_000, context)
    }
    yield* Effect.acquireRelease(
      // The check must not keep the process alive.
      Effect.sync(() => setInterval(check, checkEveryMs).unref()),
      (interval) => Effect.sync(() => clearInterval(interval)),
    )
  })
