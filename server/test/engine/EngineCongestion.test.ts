// The backlog of one tenant costs other tenants nothing: no millisecond, and no room in memory. This holds for any size
// of the backlog, and also if its endpoint hangs.
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import { shardOf } from "../../src/domain/TimerKey.ts"
import { applyTo } from "../../testkit/applyTo.ts"
import { type EngineHarness, engineTest, type Hanging, hostFailed } from "../../testkit/EngineHarness.ts"
import { putOf, sampleSpec, sampleTimer } from "../../testkit/timers.ts"

const bounds = { window: { timers: 400, page: 40 }, shards: 2 }
const backlog = 3_000

/** Rows of an earlier run of the service. No node has them in memory. */
const leave = (
  engine: EngineHarness,
  namespace: string,
  count: number,
  executeAt: (index: number) => number,
) => {
  for (let index = 0; index < count; index++) {
    const timer = sampleTimer({ namespace, timerId: `${namespace}-${index}`, executeAt: executeAt(index) })
    applyTo(engine.database, shardOf(timer.uuid, bounds.shards), putOf(timer))
  }
}

const windowTimers = Effect.fnUntraced(function* (engine: EngineHarness) {
  yield* engine.node.engine.sample
  return yield* engine.metric("timer_window_timers")
})

/** While the large namespace hangs, the timers of the small one fire on their millisecond. */
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

describe("a namespace with a large overdue backlog at a hanging endpoint", () => {
  engineTest(
    "found at the start, does not delay others, and is delivered once when the endpoint recovers",
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

  engineTest("created while the service runs, does not delay others either", bounds, (engine) =>
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
    "behind an open breaker, waits without using any attempts",
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
        // The attempts that ran when the breaker opened, and one or two probes.
        const attempts = engine.fires.filter(({ namespace }) => namespace === "large").length
        expect(attempts).toBeLessThan(100)
        engine.onFire(() => Effect.succeed({ kind: "delivered" }))
        for (let second = 0; second < 90; second++) yield* engine.advance(1_000)
        expect(engine.database.tally.delivered).toBe(engine.database.tally.created)
        expect(yield* engine.rescued).toBe(0)
      }),
  )

  engineTest("leaves room for one more, even if there are many", { ...bounds, isEmpty: true }, (engine) =>
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

describe("a window that is too small for all due timers", () => {
  const small = { window: { timers: 40, page: 10, lookAheadMs: 5_000 }, dispatch: { inFlightPerHost: 2 } }

  for (const [filledBy, window] of Object.entries({
    count: small.window,
    weight: { ...small.window, timers: 400, bytes: 40 * 800 },
  })) {
    engineTest(
      `reads no page in vain while all endpoints hang; limited by ${filledBy}`,
      { ...small, window, isEmpty: true },
      (engine) =>
        Effect.gen(function* () {
          const start = engine.now()
          for (let index = 0; index < 240; index++) {
            const timer = sampleTimer({
              namespace: `n${index % 6}`,
              timerId: `t${index}`,
              executeAt: start - 1_000 + index * 25,
              payload: new Uint8Array(index % 5 === 0 ? 900 : 50),
            })
            applyTo(engine.database, 0, putOf(timer))
          }
          const hanging = engine.hang()
          yield* engine.startNode("node-1")
          for (let step = 0; step < 80; step++) {
            const before = engine.faults.calls("due")
            yield* engine.advance(100)
            expect(engine.faults.calls("due") - before).toBeLessThan(40)
          }
          yield* hanging.endAll()
          for (let second = 0; second < 10; second++) yield* engine.advance(1_000)
          expect(engine.database.tally.delivered).toBe(240)
          expect(yield* engine.rescued).toBe(0)
        }),
    )
  }

  engineTest(
    "starts a due timer before other timers of the same namespace that are due later",
    small,
    (engine) =>
      Effect.gen(function* () {
        const hanging = engine.hang()
        for (let index = 0; index < 25; index++)
          yield* engine.create({ timerId: `later-${index}`, inMs: 4_000 + index })
        for (let index = 0; index < 30; index++) {
          yield* engine.create({ timerId: `due-${index}` })
          yield* engine.still
        }
        yield* engine.advance(100)
        yield* hanging.endAll()
        yield* engine.advance(1_000)
        const due = engine.fires.filter(({ timerId }) => timerId.startsWith("due-"))
        expect(new Set(due.map(({ timerId }) => timerId)).size).toBe(30)
        yield* engine.advance(10_000)
        expect(engine.fires.length).toBe(55)
        expect(yield* engine.rescued).toBe(0)
      }),
  )
})

describe("hanging hosts that fill the slots for new hosts", () => {
  const few = { dispatch: { inFlight: 4, slow: 1, trial: 0 }, silentAfterMs: 5_000 }
  const hosts = ["hang0", "hang1", "hang2", "hang3"] as const
  const isHanging = ({ namespace }: { readonly namespace: string }) => namespace.startsWith("hang")

  engineTest(
    "delay a new host by 5 s and not by their timeouts; they are called again and use no attempt",
    few,
    (engine) =>
      Effect.gen(function* () {
        const hanging = engine.hang(isHanging)
        const spec = { retryPolicy: { ...sampleSpec.retryPolicy, maxAttempts: 1 } }
        for (const namespace of hosts) yield* engine.create({ namespace, timerId: namespace, spec })
        yield* engine.create({ namespace: "new", timerId: "new" })
        for (let second = 0; second < 12; second++) yield* engine.advance(1_000)
        expect(engine.fires.filter(({ namespace }) => namespace === "new").length).toBe(1)
        yield* hanging.endAll()
        for (let second = 0; second < 30; second++) yield* engine.advance(1_000)
        const repeated = engine.fires.filter(isHanging)
        expect(repeated.length).toBeGreaterThan(hosts.length)
        // The metric counts them, but they were not settled.
        expect(yield* engine.metric("timer_deliveries_total")).toBe(engine.fires.length)
        expect(yield* engine.metric("timer_schedules_processed_total")).toBe(hosts.length + 1)
        expect(new Set(repeated.map(({ fireId }) => fireId)).size).toBe(hosts.length)
        expect(repeated.every(({ attempt }) => attempt === 1)).toBe(true)
        expect(engine.database.tally.delivered).toBe(hosts.length + 1)
        expect(yield* engine.rescued).toBe(0)
      }),
  )

  engineTest("do not bring back a timer that was cancelled during its attempt", few, (engine) =>
    Effect.gen(function* () {
      const hanging = engine.hang()
      const [first, second, ...others] = hosts
      for (const namespace of [first, second]) yield* engine.create({ namespace, timerId: namespace })
      yield* engine.advance(1_000)
      for (const namespace of [first, second]) yield* engine.cancel(namespace, namespace)
      for (const namespace of others) yield* engine.create({ namespace, timerId: namespace })
      for (let round = 0; round < 9; round++) yield* engine.advance(1_000)
      expect(engine.fires.length).toBe(hosts.length)
      yield* hanging.endAll()
      for (let round = 0; round < 30; round++) yield* engine.advance(1_000)
      expect(engine.fires.length).toBe(hosts.length)
      // The other cancelled timer moved to a slow slot and was answered there.
      expect(engine.database.tally).toMatchObject({ created: 4, cancelled: 1, delivered: 3 })
    }),
  )
})

describe("one hanging host of a namespace", () => {
  const at = (host: string) =>
    ({ ...sampleSpec.target, url: `https://${host}.test/` }) as typeof sampleSpec.target

  engineTest(
    "a timer for another host that is inserted without the owner fires at its time",
    { window: { timers: 400, page: 10 } },
    (engine) =>
      Effect.gen(function* () {
        engine.hang(({ target }) => "url" in target && target.url.includes("stuck"))
        for (let index = 0; index < 160; index++) yield* engine.create({ target: at("stuck") })
        const spec = { ...sampleSpec, target: at("well") }
        const timer = sampleTimer({ timerId: "well", executeAt: engine.now() + 3_000, spec })
        yield* engine.faults.store.insertIfAbsent(0, [putOf(timer)])
        yield* engine.advance(3_000)
        expect(engine.firesOf("well").map((fire) => fire.at)).toEqual([timer.executeAt])
      }),
  )

  engineTest("does not delay the other hosts of the namespace", bounds, (engine) =>
    Effect.gen(function* () {
      engine.hang(({ target }) => "url" in target && target.url.includes("stuck"))
      for (let index = 0; index < 160; index++)
        yield* engine.create({ timerId: `s${index}`, target: at("stuck") })
      yield* engine.create({ timerId: "well", inMs: 250, target: at("well") })
      yield* engine.advance(250)
      expect(engine.firesOf("well").length).toBe(1)
    }),
  )
})

describe("a crowd of new namespaces whose timers are due at one instant", () => {
  engineTest(
    "does not fire before the timers of known namespaces, and all of it fires",
    { shards: 1 },
    (engine) =>
      Effect.gen(function* () {
        yield* engine.create({ namespace: "known", inMs: 10 })
        yield* engine.advance(100)
        const executeAt = engine.now() + 1_000
        // More than leave the window in one turn.
        const crowd = Array.from({ length: 1_100 }, (_, index) => `new-${index}`)
        const commands = [...crowd, "known"].map((namespace) => engine.command({ namespace, executeAt }))
        yield* engine.node.scheduler.createMany(commands)
        engine.fires.length = 0
        yield* engine.advance(1_000)
        expect(engine.fires.slice(0, 2).map(({ namespace }) => namespace)).toContain("known")
        // New namespaces start at a pace.
        yield* engine.advance(10_000)
        expect(new Set(engine.fires.map(({ namespace }) => namespace)).size).toBe(crowd.length + 1)
      }),
  )
})
