// What a caller is told, and whether it is true.
import { describe, expect } from "bun:test"
import { Effect, Fiber } from "effect"
import type { TimerView } from "../../../src/engine/front/Scheduler.ts"
import { delivered, type EngineHarness, engineTest, refused } from "../../../testkit/EngineHarness.ts"
import { at } from "../../../testkit/StoreFixture.ts"
import { sampleSpec } from "../../../testkit/timers.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

const stateOf = Effect.fnUntraced(function* (engine: EngineHarness, timerId: string) {
  return (yield* engine.node.scheduler.get("shop", timerId))?.state
})

const listed = (query: { readonly timers: ReadonlyArray<TimerView> }) =>
  query.timers.map((view) => [view.state, "timer" in view ? view.timer.timerId : view.life.timerId])

describe("create", () => {
  engineTest("fires once, at its millisecond, with its payload", { shards: 4 }, (engine) =>
    Effect.gen(function* () {
      const start = engine.now()
      yield* engine.create({ timerId: "a", inMs: 1_500, payload: bytes('{"n":1}'), correlationId: "c" })
      yield* engine.advance(1_499)
      expect(engine.fires).toEqual([])
      yield* engine.advance(1)
      expect(at(engine.fires, 0)).toMatchObject({
        at: start + 1_500,
        firedAt: start + 1_500,
        attempt: 1,
        epoch: 1,
        correlationId: "c",
        payload: bytes('{"n":1}'),
      })
      yield* engine.advance(60_000)
      expect(engine.fires.length).toBe(1)
      expect(engine.stored("a").last).toMatchObject({ state: "delivered", latenessMs: 0 })
      expect(yield* engine.rescued).toBe(0)
    }),
  )

  engineTest("with an instant in the past is due at once, and without an id gets one", {}, (engine) =>
    Effect.gen(function* () {
      const answer = yield* engine.create({ inMs: -60_000 })
      yield* engine.still
      expect(engine.fires.length).toBe(1)
      // The lateness does not count the time before the creation.
      const timerId = "timer" in answer ? answer.timer.timerId : ""
      expect(engine.stored(timerId).last).toMatchObject({ state: "delivered", latenessMs: 0 })
      expect(answer.result === "created" && answer.timer.timerId).toMatch(/^[0-9a-f-]{36}$/)
    }),
  )

  engineTest(
    "of a pending key replaces, keeps or fails as asked; the same again is unchanged",
    {},
    (engine) =>
      Effect.gen(function* () {
        const first = yield* engine.create({ timerId: "a", inMs: 10_000 })
        const same = yield* engine.create({ timerId: "a", inMs: 10_000 })
        const kept = yield* engine.create({ timerId: "a", inMs: 20_000, onExisting: "keep" })
        const failed = yield* engine.create({ timerId: "a", inMs: 20_000, onExisting: "fail" })
        const replaced = yield* engine.create({ timerId: "a", inMs: 20_000 })
        const results = [first, same, kept, failed, replaced].map(({ result }) => result)
        expect(results).toEqual(["created", "unchanged", "unchanged", "exists", "replaced"])
        yield* engine.advance(60_000)
        expect(engine.fires.map(({ at, executeAt }) => at - executeAt)).toEqual([0])
        expect(engine.fires[0]?.fireId).toBe("timer" in replaced ? replaced.timer.fireId : "")
      }),
  )

  engineTest("that is repeated after its life has ended fires once", {}, (engine) =>
    Effect.gen(function* () {
      const command = engine.command({ timerId: "a", inMs: 1_000 })
      yield* engine.node.scheduler.create(command)
      yield* engine.advance(1_000)
      const again = yield* engine.node.scheduler.create(command)
      expect(again.result).toBe("alreadyFinished")
      yield* engine.advance(10_000)
      expect(engine.fires.length).toBe(1)
      // Another instant begins another life.
      expect((yield* engine.create({ timerId: "a", inMs: 1_000 })).result).toBe("created")
      yield* engine.advance(1_000)
      expect(new Set(engine.fires.map(({ fireId }) => fireId)).size).toBe(2)
    }),
  )

  engineTest(
    "many are applied in order, also for the same key twice, each with its answer",
    { shards: 4 },
    (engine) =>
      Effect.gen(function* () {
        const answers = yield* engine.node.scheduler.createMany([
          engine.command({ timerId: "a", inMs: 1_000 }),
          engine.command({ timerId: "b", inMs: 1_000 }),
          engine.command({ timerId: "a", inMs: 2_000 }),
          engine.command({ timerId: "big", payload: new Uint8Array(2 << 20) }),
          engine.command({ timerId: "a", inMs: 2_000 }),
        ])
        expect(answers.map((answer) => ("result" in answer ? answer.result : answer._tag))).toEqual([
          "created",
          "created",
          "replaced",
          "TimerUnstorable",
          "unchanged",
        ])
        yield* engine.advance(5_000)
        expect(engine.fires.map(({ timerId, at, executeAt }) => [timerId, at - executeAt])).toEqual([
          ["b", 0],
          ["a", 0],
        ])
        expect(yield* engine.node.scheduler.createMany([])).toEqual([])
      }),
  )
})

describe("update", () => {
  engineTest("arms again: attempts start over, under a new fireId and revision", {}, (engine) =>
    Effect.gen(function* () {
      engine.onFire(() => Effect.succeed(refused))
      yield* engine.create({ timerId: "a", payload: bytes("1") })
      yield* engine.advance(100)
      const before = engine.stored("a").pending
      expect(before?.attempts).toBe(1)
      const changed = yield* engine.node.scheduler.update({
        namespace: "shop",
        timerId: "a",
        set: { executeAt: engine.now() + 1_000, payload: null },
      })
      if (changed.result !== "changed") throw new Error(changed.result)
      expect(changed.timer).toMatchObject({ attempts: 0, revision: (before?.revision ?? 0) + 1 })
      expect(changed.timer.fireId).not.toBe(before?.fireId ?? "")
      expect(changed.timer.payload).toBeUndefined()
      engine.onFire(() => Effect.succeed(delivered))
      yield* engine.advance(30_000)
      expect(engine.fires.map(({ attempt, at, executeAt }) => [attempt, at - executeAt])).toEqual([
        [1, 0],
        [1, 0],
      ])
    }),
  )

  engineTest(
    "is refused while an attempt runs, under another revision, and if nothing is pending",
    {},
    (engine) =>
      Effect.gen(function* () {
        const { update } = engine.node.scheduler
        const hanging = engine.hang()
        const created = yield* engine.create({ timerId: "a" })
        const revision = "timer" in created ? created.timer.revision : 0
        yield* engine.still
        const set = { executeAt: engine.now() + 5_000 }
        expect((yield* update({ namespace: "shop", timerId: "a", set })).result).toBe("inFlight")
        expect(yield* update({ namespace: "shop", timerId: "a", set, ifRevision: 1 })).toEqual({
          result: "revisionMismatch",
          revision,
        })
        yield* hanging.endAll()
        expect((yield* update({ namespace: "shop", timerId: "a", set })).result).toBe("notFound")
        expect(engine.fires.length).toBe(1)
      }),
  )
})

describe("cancel", () => {
  engineTest("answers the result", {}, (engine) =>
    Effect.gen(function* () {
      engine.onFire(({ timerId }) =>
        Effect.succeed(timerId === "dead" ? { kind: "dead", reason: "refused", error: "no" } : delivered),
      )
      yield* engine.create({ timerId: "pending", inMs: 1_000 })
      yield* engine.create({ timerId: "delivered" })
      yield* engine.create({ timerId: "dead" })
      yield* engine.advance(10)
      const results = []
      for (const timerId of ["pending", "pending", "delivered", "dead", "never"]) {
        results.push((yield* engine.cancel(timerId)).result)
      }
      expect(results).toEqual([
        "cancelled",
        "alreadyCancelled",
        "alreadyDelivered",
        "alreadyDead",
        "notFound",
      ])
      yield* engine.advance(10_000)
      expect(engine.firesOf("pending")).toEqual([])
    }),
  )

  engineTest("during an attempt says so; no other follows, and the outcome is recorded", {}, (engine) =>
    Effect.gen(function* () {
      const hanging = engine.hang()
      yield* engine.create({ timerId: "failed" })
      yield* engine.create({ timerId: "done" })
      yield* engine.still
      expect((yield* engine.cancel("failed")).result).toBe("inFlight")
      expect((yield* engine.cancel("done")).result).toBe("inFlight")
      expect(yield* stateOf(engine, "done")).toBe("cancelled")
      yield* hanging.end("failed", refused)
      yield* hanging.end("done", delivered)
      yield* engine.advance(120_000)
      expect(engine.fires.length).toBe(2)
      expect(engine.stored("failed").last).toMatchObject({ state: "cancelled", attempts: 1 })
      expect(engine.stored("done").last).toMatchObject({ state: "delivered", attempts: 1 })
      expect(engine.database.tally).toMatchObject({ created: 2, delivered: 1, cancelled: 1 })
    }),
  )

  engineTest("of many is limited and says if there is more", { shards: 4 }, (engine) =>
    Effect.gen(function* () {
      const { scheduler } = engine.node
      const commands = Array.from({ length: 1_200 }, (_, index) =>
        engine.command({ timerId: `t${index}`, inMs: 5_000 }),
      )
      yield* scheduler.createMany(commands)
      engine.hang()
      yield* engine.create({ timerId: "running" })
      yield* engine.still
      const first = yield* scheduler.cancelMany("shop", {})
      expect(first).toEqual({ cancelled: 999, inFlight: 1, more: true })
      expect(yield* scheduler.cancelMany("shop", {})).toEqual({ cancelled: 201, inFlight: 0, more: false })
      expect(yield* scheduler.count({ namespace: "shop", state: "pending" })).toEqual({
        count: 0,
        capped: false,
      })
      yield* engine.advance(10_000)
      expect(engine.fires.length).toBe(1)
    }),
  )
})

describe("many writes", () => {
  engineTest("a timer that was moved after it was found is not cancelled with the others", {}, (engine) =>
    Effect.gen(function* () {
      const { scheduler } = engine.node
      yield* engine.create({ timerId: "moved", inMs: 5_000 })
      yield* engine.create({ timerId: "other", inMs: 5_000 })
      const found = engine.faults.holdReply("list")
      const cancelling = yield* Effect.forkChild(scheduler.cancelMany("shop", {}))
      yield* found.reached
      const executeAt = engine.now() + 60_000
      yield* scheduler.update({ namespace: "shop", timerId: "moved", set: { executeAt } })
      yield* found.release
      expect(yield* Fiber.join(cancelling)).toEqual({ cancelled: 1, inFlight: 0, more: false })
      yield* engine.advance(60_000)
      expect(engine.fires.map((fire) => [fire.timerId, fire.at])).toEqual([["moved", executeAt]])
    }),
  )

  engineTest("of one key are limited, and the answer says so", {}, (engine) =>
    Effect.gen(function* () {
      const told: Array<string> = []
      for (let index = 0; index < 150; index++) {
        engine.node.scheduler.createNow(engine.command({ timerId: "same", inMs: 1_000 + index }), (answer) =>
          told.push("result" in answer ? answer.result : answer._tag),
        )
      }
      yield* engine.advance(0)
      // A refusal comes at once, the other answers after their commits.
      expect(told).toEqual([
        ...Array.from({ length: 50 }, () => "TooManyWrites"),
        "created",
        ...Array.from({ length: 99 }, () => "replaced"),
      ])
      yield* engine.advance(10_000)
      expect(engine.fires.length).toBe(1)
    }),
  )
})

describe("the visible state", () => {
  engineTest(
    "of a timer is pending, then in flight while its attempt runs, and then its final state",
    {},
    (engine) =>
      Effect.gen(function* () {
        const hanging = engine.hang()
        yield* engine.create({ timerId: "a", inMs: 100 })
        yield* engine.create({ timerId: "b", inMs: 5_000 })
        expect(yield* stateOf(engine, "a")).toBe("pending")
        yield* engine.advance(100)
        expect(yield* stateOf(engine, "a")).toBe("inFlight")
        const query = { namespace: "shop", reversed: false, includePayload: false, limit: 10 } as const
        expect(listed(yield* engine.node.scheduler.list({ ...query, state: "pending" }))).toEqual([
          ["inFlight", "a"],
          ["pending", "b"],
        ])
        yield* hanging.endAll()
        expect(yield* stateOf(engine, "a")).toBe("delivered")
        expect(listed(yield* engine.node.scheduler.list({ ...query, state: "delivered" }))).toEqual([
          ["delivered", "a"],
        ])
        expect(yield* engine.node.scheduler.get("shop", "never")).toBeUndefined()
      }),
  )
})

describe("the result of an attempt", () => {
  engineTest("after the last attempt is a dead letter, which keeps its payload", {}, (engine) =>
    Effect.gen(function* () {
      engine.onFire(() => Effect.succeed(refused))
      yield* engine.create({
        timerId: "a",
        payload: bytes("keep"),
        spec: { retryPolicy: { ...sampleSpec.retryPolicy, maxAttempts: 3, jitter: 0 } },
      })
      yield* engine.advance(120_000)
      const start = engine.fires[0]?.at ?? 0
      expect(engine.fires.map((fire) => [fire.attempt, fire.at - start])).toEqual([
        [1, 0],
        [2, 5_000],
        [3, 25_000],
      ])
      expect(new Set(engine.fires.map(({ fireId }) => fireId)).size).toBe(1)
      expect(engine.stored("a").pending).toBeUndefined()
      expect(engine.stored("a").last).toMatchObject({
        state: "dead",
        reason: "attemptsExhausted",
        attempts: 3,
        payload: bytes("keep"),
      })
    }),
  )

  engineTest(
    "a timer that could not start in time is dead as expired, without an attempt",
    { dispatch: { inFlight: 2 } },
    (engine) =>
      Effect.gen(function* () {
        const hanging = engine.hang()
        yield* engine.create({ timerId: "first" })
        yield* engine.create({ timerId: "second", inMs: 10, spec: { expireAfterMs: 1_000 } })
        yield* engine.create({ timerId: "third", inMs: 20, spec: { expireAfterMs: 5_000 } })
        yield* engine.advance(2_000)
        yield* hanging.endAll()
        yield* engine.advance(10_000)
        expect(engine.fires.map(({ timerId }) => timerId)).toEqual(["first", "third"])
        expect(engine.stored("second").last).toMatchObject({ state: "dead", reason: "expired", attempts: 0 })
      }),
  )

  engineTest(
    "a delivery that arms again keeps the key, with a new fireId, payload and attempts",
    {},
    (engine) =>
      Effect.gen(function* () {
        const answers = [
          refused,
          { kind: "rearm", next: { inMs: 2_000 }, payload: bytes("two") } as const,
          { kind: "rearm", next: { inMs: 1 } } as const,
          delivered,
        ]
        engine.onFire(() => Effect.succeed(answers.shift() ?? delivered))
        const spec = { retryPolicy: { ...sampleSpec.retryPolicy, jitter: 0 } }
        yield* engine.create({ timerId: "a", payload: bytes("one"), spec })
        yield* engine.advance(60_000)
        const start = engine.fires[0]?.at ?? 0
        expect(
          engine.fires.map((fire) => [fire.at - start, fire.attempt, new TextDecoder().decode(fire.payload)]),
        ).toEqual([
          [0, 1, "one"],
          [5_000, 2, "one"],
          [7_000, 1, "two"],
          // A time nearer than a second becomes one second.
          [8_000, 1, "two"],
        ])
        expect(new Set(engine.fires.map(({ fireId }) => fireId)).size).toBe(3)
        expect(engine.database.tally).toMatchObject({ created: 1, rearmed: 2, delivered: 3 })
      }),
  )

  engineTest("an attempt that dies is retried like any other", {}, (engine) =>
    Effect.gen(function* () {
      let fires = 0
      engine.onFire(() =>
        fires++ === 0 ? Effect.die(new Error("a bug in a deliverer")) : Effect.succeed(delivered),
      )
      yield* engine.create({ timerId: "a" })
      yield* engine.advance(10_000)
      expect(engine.fires.map(({ attempt }) => attempt)).toEqual([1, 2])
      expect(engine.stored("a").last?.state).toBe("delivered")
    }),
  )

  engineTest("a target type without a deliverer is retried, not lost", {}, (engine) =>
    Effect.gen(function* () {
      yield* engine.create({ timerId: "a", target: { type: "event" } })
      yield* engine.advance(100)
      expect(engine.stored("a").pending).toMatchObject({ attempts: 1 })
      expect(engine.stored("a").pending?.attemptLog?.at(-1)?.error).toContain("no deliverer")
    }),
  )
})
