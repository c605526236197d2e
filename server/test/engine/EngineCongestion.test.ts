// One tenant's backlog, however large and however stuck its endpoint, costs the others nothing: not a
// millisecond, not their place in memory.
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import { shardOf } from "../../src/domain/TimerKey.ts"
import { type EngineHarness, engineTest, type Hanging, hostFailed } from "../../testkit/EngineHarness.ts"
import { putOf, sampleSpec, sampleTimer } from "../../testkit/timers.ts"

const bounds = { window: { timers: 400, page: 40 }, shards: 2 }
const backlog = 3_000

/** Rows of an earlier run of the service: nobody has them in memory. */
const leave = (
  engine: EngineHarness,
  namespace: string,
  count: number,
  executeAt: (index: number) => number,
) => {
  for (let index = 0; index < count; index++) {
    const timer = sampleTimer({ namespace, timerId: `${namespace}-${index}`, executeAt: executeAt(index) })
    engine.database.apply(shardOf(timer.uuid, bounds.shards), putOf(timer))
  }
}

const windowTimers = Effect.fnUntraced(function* (engine: EngineHarness) {
  yield* engine.node.engine.sample
  return yield* engine.metric("timer_window_timers")
})

/** While the large namespace hangs, the small one's timers fire on their millisecond. */
const expectOthersOnTime = Effect.fnUntraced(function* (engine: EngineHarness) {
  const start = engine.now()
  for (let index = 0; index < 20; index++) {
    yield* engine.create({
      namespace: "small",
      timerId: `live-${index}`,
      executeAt: start + 500 + index * 137,
    })
  }
  for (let second = 0; second < 4; second++) {
    yield* engine.advance(1_000)
    const held = yield* windowTimers(engine)
    expect(held).toBeLessThanOrEqual(bounds.window.timers + (yield* engine.metric("timer_in_flight")))
  }
  const live = engine.fires.filter(({ timerId }) => timerId.startsWith("live-"))
  expect(live.length).toBe(20)
  for (const fire of live) expect(fire.at - fire.executeAt).toBe(0)
})

const expectAllDelivered = Effect.fnUntraced(function* (
  engine: EngineHarness,
  hanging: Hanging,
  count: number,
) {
  yield* hanging.endAll()
  for (let second = 0; second < 30; second++) yield* engine.advance(1_000)
  const large = engine.fires.filter(({ namespace }) => namespace === "large")
  expect(new Set(large.map(({ fireId }) => fireId)).size).toBe(count)
  expect(large.length).toBe(count)
  expect(engine.database.tally.delivered).toBe(engine.database.tally.created)
  expect(yield* windowTimers(engine)).toBe(0)
  expect(yield* engine.rescued).toBe(0)
})

describe("a namespace with a large overdue backlog at an endpoint that hangs", () => {
  engineTest(
    "found at the start, it leaves others on time, and is delivered once when it recovers",
    { ...bounds, isEmpty: true },
    (engine) =>
      Effect.gen(function* () {
        const hanging = engine.hang(({ namespace }) => namespace === "large")
        const start = engine.now()
        leave(engine, "large", backlog, (index) => start - 10_000 + index)
        leave(engine, "small", 20, (index) => start + 700 + index * 91)
        yield* engine.startNode("node-1")
        yield* expectOthersOnTime(engine)
        const stored = engine.fires.filter(({ timerId }) => timerId.startsWith("small-"))
        expect(stored.length).toBe(20)
        for (const fire of stored) expect(fire.at - fire.executeAt).toBe(0)
        yield* expectAllDelivered(engine, hanging, backlog)
      }),
  )

  engineTest("created while the service runs, it leaves others on time as well", bounds, (engine) =>
    Effect.gen(function* () {
      const hanging = engine.hang(({ namespace }) => namespace === "large")
      const commands = Array.from({ length: backlog }, (_, index) =>
        engine.command({ namespace: "large", executeAt: engine.now() - backlog + index }),
      )
      for (let from = 0; from < backlog; from += 500) {
        yield* engine.node.scheduler.createMany(commands.slice(from, from + 500))
      }
      yield* expectOthersOnTime(engine)
      yield* expectAllDelivered(engine, hanging, backlog)
    }),
  )

  engineTest(
    "behind an open breaker it waits without costing attempts",
    { ...bounds, isEmpty: true },
    (engine) =>
      Effect.gen(function* () {
        const start = engine.now()
        leave(engine, "large", backlog, (index) => start - 10_000 + index)
        engine.onFire(({ namespace }) =>
          Effect.succeed(namespace === "large" ? hostFailed : { kind: "delivered" }),
        )
        yield* engine.startNode("node-1")
        yield* expectOthersOnTime(engine)
        // Those in flight as it opened, and a probe or two.
        const attempts = engine.fires.filter(({ namespace }) => namespace === "large").length
        expect(attempts).toBeLessThan(100)
        engine.onFire(() => Effect.succeed({ kind: "delivered" }))
        for (let second = 0; second < 90; second++) yield* engine.advance(1_000)
        expect(engine.database.tally.delivered).toBe(engine.database.tally.created)
        expect(yield* engine.rescued).toBe(0)
      }),
  )

  engineTest("many such namespaces leave room for one more", { ...bounds, isEmpty: true }, (engine) =>
    Effect.gen(function* () {
      const start = engine.now()
      for (let tenant = 0; tenant < 5; tenant++)
        leave(engine, `large${tenant}`, 600, (index) => start - 1_000 + index)
      const hanging = engine.hang(({ namespace }) => namespace.startsWith("large"))
      yield* engine.startNode("node-1")
      yield* expectOthersOnTime(engine)
      yield* hanging.endAll()
      for (let second = 0; second < 30; second++) yield* engine.advance(1_000)
      expect(engine.database.tally.delivered).toBe(engine.database.tally.created)
      expect(yield* engine.rescued).toBe(0)
    }),
  )
})

describe("one host of a namespace that hangs", () => {
  engineTest("does not keep the others of the namespace waiting", bounds, (engine) =>
    Effect.gen(function* () {
      engine.hang(({ target }) => "url" in target && target.url.includes("stuck"))
      const at = (host: string) =>
        ({ ...sampleSpec.target, url: `https://${host}.test/` }) as typeof sampleSpec.target
      for (let index = 0; index < 160; index++)
        yield* engine.create({ timerId: `s${index}`, target: at("stuck") })
      yield* engine.create({ timerId: "well", inMs: 250, target: at("well") })
      yield* engine.advance(250)
      expect(engine.firesOf("well").length).toBe(1)
    }),
  )
})
