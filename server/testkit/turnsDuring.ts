// Counts how often another fiber gets a turn while an effect runs. So a test sees that long work lets others run.
import { Effect, Fiber } from "effect"

export const turnsDuring = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<number, E, R> =>
  Effect.gen(function* () {
    let turns = 0
    const other = yield* Effect.forkChild(
      Effect.gen(function* () {
        for (;;) {
          yield* Effect.yieldNow
          turns++
        }
      }),
    )
    yield* Effect.yieldNow
    const before = turns
    yield* work
    const during = turns - before
    yield* Fiber.interrupt(other)
    return during
  })
