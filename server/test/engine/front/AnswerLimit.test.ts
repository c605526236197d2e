// Many waits for answers with one sleep.
import { expect, test } from "bun:test"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { AnswerLimit } from "../../../src/engine/front/AnswerLimit.ts"

const withLimit = (use: (limit: AnswerLimit) => Effect.Effect<void>): Promise<void> =>
  Effect.gen(function* () {
    const clock = yield* Clock.clockWith(Effect.succeed)
    const runFork = Effect.runForkWith(yield* Effect.context<never>())
    yield* use(new AnswerLimit({ clock, runFork }, 5_000))
  }).pipe(Effect.provide(TestClock.layer()), Effect.scoped, Effect.runPromise)

test("a wait ends at its own time, unless its answer comes before", () =>
  withLimit((limit) =>
    Effect.gen(function* () {
      const late: Array<string> = []
      const answered = limit.begin(() => late.push("answered"))
      const first = limit.begin(() => late.push("first"))
      yield* TestClock.adjust(3_000)
      limit.begin(() => late.push("second"))
      expect(limit.end(answered)).toBe(true)
      yield* TestClock.adjust(1_999)
      expect(late).toEqual([])
      yield* TestClock.adjust(1)
      expect(late).toEqual(["first"])
      expect(limit.end(first)).toBe(false)
      yield* TestClock.adjust(3_000)
      expect(late).toEqual(["first", "second"])
    }),
  ))

test("many waits of the same time end in parts", () =>
  withLimit((limit) =>
    Effect.gen(function* () {
      let late = 0
      for (let count = 0; count < 250; count++) limit.begin(() => late++)
      yield* TestClock.adjust(5_000)
      expect(late).toBe(100)
      yield* TestClock.adjust(1)
      expect(late).toBe(200)
      yield* TestClock.adjust(1)
      expect(late).toBe(250)
    }),
  ))
