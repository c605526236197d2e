// Lateness counts up to the moment when the request is sent. A slow lookup before it makes a timer late.
import { describe, expect } from "bun:test"
import { Effect, Metric } from "effect"
import { engineTest, refused } from "../../testkit/EngineHarness.ts"
import { sampleSpec } from "../../testkit/timers.ts"

/** The sum of the latenesses that the metric has seen, in milliseconds, and their number. */
const latenessSeen = Effect.gen(function* () {
  for (const { id, type, state } of yield* Metric.snapshot) {
    if (id === "timer_lateness_seconds" && type === "Histogram") {
      return { sumMs: Math.round(state.sum * 1_000), count: state.count }
    }
  }
  return { sumMs: 0, count: 0 }
})

describe("an attempt that prepares for 2 s before it sends", () => {
  engineTest("is 2 s late in the history and in the metric, which counts it when it is sent", {}, (engine) =>
    Effect.gen(function* () {
      engine.preparesMs = 2_000
      const hanging = engine.hang()
      yield* engine.create({ timerId: "a", inMs: 1_000 })
      yield* engine.advance(2_999)
      expect(yield* latenessSeen).toEqual({ sumMs: 0, count: 0 })
      yield* engine.advance(1)
      expect(yield* latenessSeen).toEqual({ sumMs: 2_000, count: 1 })
      yield* engine.advance(500)
      yield* hanging.endAll()
      expect(engine.stored("a").last).toMatchObject({ state: "delivered", latenessMs: 2_000 })
      expect(yield* latenessSeen).toEqual({ sumMs: 2_000, count: 1 })
    }),
  )

  engineTest("and then fails is counted once; the retry keeps its own time", {}, (engine) =>
    Effect.gen(function* () {
      engine.preparesMs = 2_000
      engine.onFire(({ attempt }) => Effect.succeed(attempt === 1 ? refused : { kind: "delivered" }))
      const start = engine.now()
      yield* engine.create({ timerId: "a", inMs: 0 })
      yield* engine.advance(60_000)
      expect(yield* latenessSeen).toEqual({ sumMs: 2_000, count: 1 })
      const last = engine.stored("a").last
      const sentAt = engine.fires[1]?.at ?? Number.NaN
      expect(last).toMatchObject({ state: "delivered", attempts: 2, latenessMs: sentAt - start })
    }),
  )

  engineTest("of an event or a handler counts in the same way", {}, (engine) =>
    Effect.gen(function* () {
      engine.preparesMs = 700
      yield* engine.create({ timerId: "a", inMs: 0, spec: { ...sampleSpec, target: { type: "handler" } } })
      yield* engine.advance(10_000)
      expect(engine.stored("a").last).toMatchObject({ state: "delivered", latenessMs: 700 })
    }),
  )
})

engineTest(
  "a timer whose silent attempt ended because others needed its slot counts once",
  { dispatch: { inFlight: 2, slow: 1, trial: 0 }, silentAfterMs: 5_000 },
  (engine) =>
    Effect.gen(function* () {
      const hanging = engine.hang()
      const namespaces = ["a", "b", "c"]
      for (const namespace of namespaces) yield* engine.create({ namespace, timerId: "t" })
      for (let second = 0; second < 30; second++) yield* engine.advance(1_000)
      yield* hanging.endAll()
      for (let second = 0; second < 30; second++) yield* engine.advance(1_000)
      expect(engine.fires.length).toBeGreaterThan(namespaces.length)
      expect(yield* latenessSeen).toMatchObject({ count: namespaces.length })
    }),
)
