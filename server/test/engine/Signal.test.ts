import { expect } from "bun:test"
import { Effect } from "effect"
import { Signal } from "../../src/engine/Signal.ts"
import { engineTest } from "../../testkit/EngineHarness.ts"

const countWakes = Effect.fnUntraced(function* (signal: Signal) {
  const wakes = { count: 0 }
  yield* Effect.forkScoped(
    Effect.gen(function* () {
      for (;;) {
        yield* signal.waitAtMost(1_000)
        wakes.count++
      }
    }),
  )
  return wakes
})

engineTest("any number of raises ends one wait, in its own turn", { isEmpty: true }, (engine) =>
  Effect.gen(function* () {
    const signal = new Signal()
    const wakes = yield* countWakes(signal)
    yield* engine.still
    for (let raise = 0; raise < 5; raise++) signal.raise()
    expect(wakes.count).toBe(0)
    yield* engine.still
    expect(wakes.count).toBe(1)
  }),
)

engineTest("a raise without a waiter is not lost", { isEmpty: true }, (engine) =>
  Effect.gen(function* () {
    const signal = new Signal()
    signal.raise()
    const wakes = yield* countWakes(signal)
    yield* engine.still
    expect(wakes.count).toBe(1)
  }),
)

engineTest(
  "a wait ends when its time is over, and the next wait works normally",
  { isEmpty: true },
  (engine) =>
    Effect.gen(function* () {
      const signal = new Signal()
      const wakes = yield* countWakes(signal)
      yield* engine.advance(999)
      expect(wakes.count).toBe(0)
      yield* engine.advance(2_001)
      expect(wakes.count).toBe(3)
      signal.raise()
      yield* engine.still
      expect(wakes.count).toBe(4)
    }),
)
