// How the engine stops, and what it reports about itself.
import { describe, expect } from "bun:test"
import { Effect, Fiber } from "effect"
import { delivered, engineTest } from "../../testkit/EngineHarness.ts"

describe("drain", () => {
  engineTest("starts nothing, lets running attempts finish, settles and releases", { shards: 2 }, (engine) =>
    Effect.gen(function* () {
      const hanging = engine.hang()
      yield* engine.create({ timerId: "running" })
      yield* engine.create({ timerId: "soon", inMs: 500 })
      yield* engine.still
      const draining = yield* Effect.forkChild(engine.node.engine.drain(10_000))
      yield* engine.advance(2_000)
      expect(engine.node.engine.status()).toMatchObject({ isDraining: true, isWaiting: false })
      expect(engine.fires.map(({ timerId }) => timerId)).toEqual(["running"])
      // The shards are not released yet, because the outcome is not stored.
      expect(engine.database.shards.every(({ node }) => node === "node-1")).toBe(true)
      const refusal = yield* Effect.flip(engine.create({ timerId: "late" }))
      expect(refusal).toMatchObject({ _tag: "NoOwner", retryAfterMs: 1_000 })
      expect((yield* Effect.flip(engine.cancel("soon")))._tag).toBe("NoOwner")
      yield* hanging.end("running", delivered)
      yield* engine.advance(100)
      yield* Fiber.join(draining)
      expect(engine.stored("running").last?.state).toBe("delivered")
      expect(engine.stored("soon").pending?.attempts).toBe(0)
      expect(engine.database.shards.every(({ node }) => node === undefined)).toBe(true)
      yield* engine.advance(20_000)
      expect(engine.fires.length).toBe(1)
    }),
  )

  engineTest(
    "never takes longer than its time limit, and the next owner repeats the running attempts",
    {},
    (engine) =>
      Effect.gen(function* () {
        engine.hang()
        yield* engine.create({ timerId: "stuck" })
        yield* engine.still
        const draining = yield* Effect.forkChild(engine.node.engine.drain(3_000))
        yield* engine.advance(3_100)
        yield* Fiber.join(draining)
        expect(engine.database.shards[0]?.node).toBeUndefined()
        yield* engine.node.kill
        engine.onFire(() => Effect.succeed(delivered))
        yield* engine.startNode("node-2")
        yield* engine.still
        expect(engine.fires.map(({ node, attempt }) => [node, attempt])).toEqual([
          ["node-1", 1],
          ["node-2", 1],
        ])
        expect(engine.fires[0]?.fireId).toBe(engine.fires[1]?.fireId ?? "")
        expect(engine.stored("stuck").last).toMatchObject({ state: "delivered", attempts: 1 })
      }),
  )
})

engineTest("a drain ends within its time limit even if the store does not answer", { shards: 2 }, (engine) =>
  Effect.gen(function* () {
    engine.faults.holdCall("release", { times: 2 })
    const draining = yield* Effect.forkChild(engine.node.engine.drain(3_000))
    yield* engine.advance(20_000)
    expect(draining.pollUnsafe()).toBeDefined()
  }),
)

engineTest("a killed node starts nothing more and does not store its running work", {}, (engine) =>
  Effect.gen(function* () {
    engine.hang()
    yield* engine.create({ timerId: "running" })
    yield* engine.create({ timerId: "soon", inMs: 500 })
    yield* engine.still
    yield* engine.node.kill
    yield* engine.advance(10_000)
    expect(engine.fires.map(({ timerId }) => timerId)).toEqual(["running"])
    expect(engine.stored("running").pending?.attempts).toBe(0)
  }),
)

engineTest("a loop that makes no progress is named", {}, (engine) =>
  Effect.gen(function* () {
    const commit = engine.faults.holdCall("write")
    yield* Effect.forkChild(engine.create({ inMs: 60_000 }))
    yield* engine.advance(11_000)
    expect(engine.node.engine.status().stalledLoops).toEqual(["committing"])
    yield* commit.release
    yield* engine.still
    expect(engine.node.engine.status().stalledLoops).toEqual([])
    const read = engine.faults.holdCall("due")
    yield* engine.advance(45_000)
    expect(engine.node.engine.status().stalledLoops).toEqual(["reading"])
    yield* read.release
    yield* engine.still
    expect(engine.node.engine.status().stalledLoops).toEqual([])
  }),
)

engineTest("a loop whose every read fails makes no progress", {}, (engine) =>
  Effect.gen(function* () {
    engine.faults.fail("due", { times: 1_000 })
    engine.faults.fail("dueHeads", { times: 1_000 })
    yield* engine.advance(45_000)
    expect(engine.node.engine.status().stalledLoops).toEqual(["reading"])
  }),
)

engineTest("gauges show pending, loaded, running and late timers", { shards: 2 }, (engine) =>
  Effect.gen(function* () {
    engine.hang()
    yield* engine.create({ timerId: "running" })
    yield* engine.create({ timerId: "near", inMs: 10_000 })
    yield* engine.create({ timerId: "far", inMs: 3_600_000 })
    yield* engine.advance(2_000)
    yield* engine.node.engine.sample
    expect(yield* engine.metric("timer_pending")).toBe(3)
    expect(yield* engine.metric("timer_window_timers")).toBe(2)
    expect(yield* engine.metric("timer_in_flight")).toBe(1)
    expect(yield* engine.metric("timer_owned_shards")).toBe(2)
    expect(yield* engine.metric("timer_oldest_due_age_seconds")).toBe(2)
  }),
)
