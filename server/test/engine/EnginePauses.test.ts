// What operators pause and limit. A pause starts nothing and loses nothing. It costs other namespaces nothing, and its
// time does not count against timers.
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import {
  editSettings,
  pauseService,
  resumeService,
  type SettingsEdit,
} from "../../src/domain/editSettings.ts"
import { shardOf } from "../../src/domain/TimerKey.ts"
import { serviceRecord } from "../../src/engine/namespaces/SettingsRecords.ts"
import { applyTo } from "../../testkit/applyTo.ts"
import {
  delivered,
  type EngineHarness,
  type EngineNode,
  engineTest,
  refused,
} from "../../testkit/EngineHarness.ts"
import { setIn } from "../../testkit/memorySettings.ts"
import { putOf, sampleTimer } from "../../testkit/timers.ts"

const put = (engine: EngineHarness, namespace: string, edit: SettingsEdit, node: EngineNode = engine.node) =>
  node.directory.change(namespace, engine.now(), (settings) =>
    Effect.succeed(editSettings(settings, edit, engine.now())),
  )

const pauseAll = (engine: EngineHarness, node: EngineNode = engine.node) =>
  node.directory.change(serviceRecord, engine.now(), (settings) =>
    Effect.succeed(pauseService(settings, undefined, engine.now())),
  )

const resumeAll = (engine: EngineHarness, node: EngineNode = engine.node) =>
  node.directory.change(serviceRecord, engine.now(), (settings) =>
    Effect.succeed(resumeService(settings, engine.now())),
  )

const reads = ({ faults }: EngineHarness) => faults.calls("due") + faults.calls("dueHeads")

describe("a namespace that is paused", () => {
  engineTest(
    "starts no attempt, while others fire on time; when resumed, it starts at once in due order",
    {},
    (engine) =>
      Effect.gen(function* () {
        yield* put(engine, "shop", { paused: true })
        for (const inMs of [300, 100, 200]) yield* engine.create({ timerId: `t-${inMs}`, inMs })
        yield* engine.create({ namespace: "other", timerId: "o", inMs: 150 })
        yield* engine.advance(5_000)
        expect(engine.fires.map(({ timerId, at, executeAt }) => [timerId, at - executeAt])).toEqual([
          ["o", 0],
        ])
        expect(engine.stored("t-100").pending?.attempts).toBe(0)
        yield* put(engine, "shop", { paused: false })
        yield* engine.still
        expect(engine.fires.map(({ timerId }) => timerId)).toEqual(["o", "t-100", "t-200", "t-300"])
        expect(engine.stored("t-100").last?.latenessMs).toBe(4_900)
      }),
  )

  engineTest("accepts timers, changes and cancels as usual", {}, (engine) =>
    Effect.gen(function* () {
      yield* put(engine, "shop", { paused: true })
      yield* engine.create({ timerId: "a" })
      yield* engine.create({ timerId: "b" })
      yield* engine.advance(1_000)
      expect(yield* engine.cancel("a")).toMatchObject({ result: "cancelled" })
      yield* put(engine, "shop", { paused: null })
      yield* engine.still
      expect(engine.fires.map(({ timerId }) => timerId)).toEqual(["b"])
    }),
  )

  engineTest("lets running attempts finish, and their retries wait", {}, (engine) =>
    Effect.gen(function* () {
      const hanging = engine.hang()
      yield* engine.create({ timerId: "a" })
      yield* engine.create({ timerId: "b" })
      yield* engine.still
      yield* put(engine, "shop", { paused: true })
      yield* hanging.end("a", delivered)
      yield* hanging.end("b", refused)
      expect(engine.stored("a").last?.state).toBe("delivered")
      expect(engine.stored("b").pending?.attempts).toBe(1)
      yield* engine.advance(60_000)
      expect(engine.firesOf("b")).toHaveLength(1)
      yield* put(engine, "shop", { paused: false })
      yield* hanging.endAll()
      expect(engine.stored("b").last?.state).toBe("delivered")
    }),
  )

  engineTest(
    "takes no room from others, however much falls due, and is not read more than needed",
    { window: { timers: 400, page: 40 }, shards: 2, isEmpty: true },
    (engine) =>
      Effect.gen(function* () {
        const start = engine.now()
        const backlog = 3_000
        for (let index = 0; index < backlog; index++) {
          const timer = sampleTimer({
            namespace: "large",
            timerId: `large-${index}`,
            executeAt: start - 10_000 + index,
          })
          applyTo(engine.database, shardOf(timer.uuid, 2), putOf(timer))
        }
        setIn(engine.database, "large", { pausedSinceMs: start - 20_000 }, start)
        yield* engine.startNode("node-1")
        yield* engine.advance(2_000)
        const [before, beganAt] = [reads(engine), engine.now()]
        for (let index = 0; index < 20; index++) {
          yield* engine.create({
            namespace: "small",
            timerId: `live-${index}`,
            executeAt: beganAt + 500 + index * 137,
          })
        }
        yield* engine.advance(20_000)
        const live = engine.fires.filter(({ namespace }) => namespace === "small")
        expect(live.map(({ at, executeAt }) => at - executeAt)).toEqual(Array(20).fill(0))
        // The sweeps of two shards over the timers in memory, and few other reads.
        expect(reads(engine) - before).toBeLessThan(120)
        expect(engine.fires.filter(({ namespace }) => namespace === "large")).toEqual([])
        yield* put(engine, "large", { paused: false })
        for (let second = 0; second < 30; second++) yield* engine.advance(1_000)
        expect(new Set(engine.fires.map(({ fireId }) => fireId)).size).toBe(backlog + 20)
        expect(engine.fires).toHaveLength(backlog + 20)
        expect(yield* engine.rescued).toBe(0)
      }),
  )

  engineTest(
    "stays paused when the service is restarted, before anything fires",
    { isEmpty: true },
    (engine) =>
      Effect.gen(function* () {
        const first = yield* engine.startNode("node-1")
        yield* first.scheduler.create(engine.command({ timerId: "a", inMs: 100 }))
        yield* put(engine, "shop", { paused: true })
        yield* first.kill
        yield* engine.advance(10_000)
        const second = yield* engine.startNode("node-2")
        yield* engine.advance(30_000)
        expect(engine.fires).toEqual([])
        yield* put(engine, "shop", { paused: false }, second)
        yield* engine.still
        expect(engine.fires.map(({ timerId }) => timerId)).toEqual(["a"])
      }),
  )
})

describe("the whole service, paused", () => {
  engineTest("starts nothing in any namespace, and continues where it was", {}, (engine) =>
    Effect.gen(function* () {
      yield* pauseAll(engine)
      for (const namespace of ["a", "b", "c"])
        yield* engine.create({ namespace, timerId: namespace, inMs: 10 })
      yield* put(engine, "b", { paused: true })
      yield* engine.advance(60_000)
      expect(engine.fires).toEqual([])
      yield* engine.node.engine.sample
      expect(yield* engine.metric("timer_service_paused")).toBe(1)
      expect(yield* engine.metric("timer_paused_namespaces")).toBe(1)
      expect(yield* engine.metric("timer_oldest_due_age_seconds")).toBeCloseTo(59.99)
      expect(engine.node.engine.status().stalledLoops).toEqual([])
      yield* resumeAll(engine)
      yield* engine.still
      expect(engine.fires.map(({ timerId }) => timerId).sort()).toEqual(["a", "c"])
      yield* put(engine, "b", { paused: false })
      yield* engine.still
      expect(engine.fires).toHaveLength(3)
    }),
  )

  engineTest(
    "becomes idle even if all due timers do not fit into memory",
    { window: { timers: 100, page: 20 } },
    (engine) =>
      Effect.gen(function* () {
        yield* pauseAll(engine)
        const commands = Array.from({ length: 600 }, (_, index) =>
          engine.command({ namespace: `n-${index % 150}`, timerId: `t-${index}`, inMs: index }),
        )
        yield* engine.node.scheduler.createMany(commands)
        yield* engine.advance(5_000)
        const before = reads(engine)
        yield* engine.advance(20_000)
        expect(reads(engine) - before).toBeLessThan(1_000)
        yield* resumeAll(engine)
        for (let second = 0; second < 20; second++) yield* engine.advance(1_000)
        expect(new Set(engine.fires.map(({ timerId }) => timerId)).size).toBe(600)
      }),
  )

  engineTest("is paused on every node within a second", { isEmpty: true, shards: 4 }, (engine) =>
    Effect.gen(function* () {
      const first = yield* engine.startNode("node-1")
      const second = yield* engine.startNode("node-2")
      yield* engine.advance(10_000)
      expect(second.engine.status().ownedShards).toBe(2)
      yield* pauseAll(engine, first)
      yield* engine.advance(1_000)
      const timers = Array.from({ length: 20 }, (_, index) =>
        sampleTimer({ timerId: `t-${index}`, executeAt: engine.now() + 100 }),
      )
      for (const timer of timers) applyTo(engine.database, shardOf(timer.uuid, 4), putOf(timer))
      yield* engine.advance(20_000)
      expect(engine.fires).toEqual([])
      yield* resumeAll(engine, first)
      yield* engine.advance(1_000)
      expect(engine.fires).toHaveLength(20)
      expect(new Set(engine.fires.map(({ node }) => node)).size).toBe(2)
    }),
  )
})

describe("time within a pause", () => {
  const minute = 60_000

  engineTest("does not count towards expireAfter, for a namespace or the service", {}, (engine) =>
    Effect.gen(function* () {
      yield* engine.create({ timerId: "kept", inMs: minute, spec: { expireAfterMs: minute } })
      yield* engine.create({ timerId: "late", inMs: minute, spec: { expireAfterMs: minute } })
      yield* put(engine, "shop", { paused: true })
      yield* engine.advance(10 * minute)
      yield* pauseAll(engine)
      yield* put(engine, "shop", { paused: false })
      yield* engine.advance(10 * minute)
      const hanging = engine.hang()
      yield* resumeAll(engine)
      yield* engine.still
      yield* hanging.endAll()
      expect(engine.stored("kept").last?.state).toBe("delivered")
      expect(engine.stored("late").last?.state).toBe("delivered")
    }),
  )

  engineTest(
    "is all that is excluded: a timer that waited too long before the pause is expired",
    { dispatch: { inFlight: 1 } },
    (engine) =>
      Effect.gen(function* () {
        const hanging = engine.hang()
        yield* engine.create({ timerId: "first" })
        yield* engine.create({ timerId: "waits", spec: { expireAfterMs: minute } })
        yield* engine.advance(minute - 10)
        yield* put(engine, "shop", { paused: true })
        yield* engine.advance(10 * minute)
        yield* put(engine, "shop", { paused: false })
        yield* engine.advance(11)
        yield* hanging.endAll()
        expect(engine.stored("waits").last).toMatchObject({ state: "dead", reason: "expired" })
      }),
  )

  engineTest("does not count towards maxDuration", {}, (engine) =>
    Effect.gen(function* () {
      const policy = {
        maxAttempts: 100,
        initialIntervalMs: minute,
        backoffMultiplier: 1,
        maxIntervalMs: minute,
        jitter: 0,
      }
      engine.onFire(() => Effect.succeed(refused))
      yield* engine.create({ timerId: "a", spec: { retryPolicy: { ...policy, maxDurationMs: 3 * minute } } })
      yield* engine.advance(minute)
      expect(engine.firesOf("a")).toHaveLength(2)
      yield* put(engine, "shop", { paused: true })
      yield* engine.advance(30 * minute)
      yield* put(engine, "shop", { paused: false })
      yield* engine.still
      expect(engine.firesOf("a")).toHaveLength(3)
      expect(engine.stored("a").pending?.attempts).toBe(3)
      yield* engine.advance(minute)
      yield* engine.advance(minute)
      expect(engine.stored("a").last).toMatchObject({ state: "dead", reason: "durationExhausted" })
    }),
  )
})

describe("maxInFlight", () => {
  engineTest(
    "limits the attempts of a namespace at once, below the node's own limit and not above it",
    { dispatch: { inFlightPerNamespace: 5 } },
    (engine) =>
      Effect.gen(function* () {
        const hanging = engine.hang()
        yield* put(engine, "shop", { maxInFlight: 3 })
        yield* put(engine, "wide", { maxInFlight: 1_000 })
        for (let index = 0; index < 10; index++) {
          yield* engine.create({ timerId: `t-${index}` })
          yield* engine.create({ namespace: "wide", timerId: `t-${index}` })
        }
        yield* engine.still
        const runningOf = (namespace: string) =>
          engine.fires.filter((fire) => fire.namespace === namespace).length
        expect([runningOf("shop"), runningOf("wide")]).toEqual([3, 5])
        yield* put(engine, "shop", { maxInFlight: 4 })
        yield* engine.still
        expect(runningOf("shop")).toBe(4)
        yield* hanging.endAll()
        expect([runningOf("shop"), runningOf("wide")]).toEqual([10, 10])
      }),
  )

  engineTest("is divided among nodes by the shards that they own", { isEmpty: true, shards: 4 }, (engine) =>
    Effect.gen(function* () {
      engine.hang()
      const first = yield* engine.startNode("node-1")
      yield* engine.startNode("node-2")
      yield* engine.advance(10_000)
      yield* put(engine, "shop", { maxInFlight: 5 }, first)
      yield* engine.advance(1_000)
      for (let index = 0; index < 60; index++) {
        const timer = sampleTimer({ timerId: `t-${index}`, executeAt: engine.now() })
        applyTo(engine.database, shardOf(timer.uuid, 4), putOf(timer))
      }
      yield* engine.advance(20_000)
      const byNode = ["node-1", "node-2"].map(
        (name) => engine.fires.filter(({ node }) => node === name).length,
      )
      expect(byNode).toEqual([3, 3])
    }),
  )
})
