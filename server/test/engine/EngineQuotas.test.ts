// What a namespace may create: a number a second, and a number pending at once. Refused creates write nothing and say
// when to retry. Namespaces without a quota need no check.
import { describe, expect } from "bun:test"
import { Effect, Fiber } from "effect"
import { editSettings, type SettingsEdit } from "../../src/domain/editSettings.ts"
import { shardOf } from "../../src/domain/TimerKey.ts"
import type { QuotaUsedUp } from "../../src/engine/namespaces/Quotas.ts"
import { applyTo } from "../../testkit/applyTo.ts"
import {
  type EngineHarness,
  type EngineNode,
  engineTest,
  type NewTimer,
} from "../../testkit/EngineHarness.ts"
import { putOf, sampleTimer } from "../../testkit/timers.ts"

const put = (engine: EngineHarness, edit: SettingsEdit, node: EngineNode = engine.node) =>
  node.directory.change("shop", engine.now(), (settings) =>
    Effect.succeed(editSettings(settings, edit, engine.now())),
  )

const hour = 3_600_000

/** How each create was answered: its result, or the quota that refused it. */
const createMany = (engine: EngineHarness, timers: ReadonlyArray<NewTimer>, node: EngineNode = engine.node) =>
  Effect.map(
    node.scheduler.createMany(timers.map((timer) => engine.command({ inMs: hour, ...timer }))),
    (answers) =>
      answers.map((answer) =>
        "result" in answer ? answer.result : answer._tag === "QuotaUsedUp" ? answer.quota : answer._tag,
      ),
  )

const some = (count: number, name = "t"): ReadonlyArray<NewTimer> =>
  Array.from({ length: count }, (_, index) => ({ timerId: `${name}-${index}` }))

const count = (results: ReadonlyArray<string>, result: string) =>
  results.filter((one) => one === result).length

const refusalOf = (engine: EngineHarness, timer: NewTimer = {}) =>
  Effect.flip(engine.create({ inMs: hour, ...timer })) as Effect.Effect<QuotaUsedUp, unknown>

describe("maxPending", () => {
  engineTest("accepts as many timers as it allows, and refuses the rest, each in its place", {}, (engine) =>
    Effect.gen(function* () {
      yield* put(engine, { maxPending: 5 })
      yield* createMany(engine, some(3))
      const results = yield* createMany(engine, [...some(4, "u"), { namespace: "other", timerId: "o" }])
      expect(results).toEqual(["created", "created", "maxPending", "maxPending", "created"])
      expect(yield* refusalOf(engine)).toMatchObject({ quota: "maxPending", limit: 5 })
      expect(engine.database.tally.created).toBe(6)
    }),
  )

  engineTest(
    "counts timers from before it was set, or before the service started",
    { isEmpty: true },
    (engine) =>
      Effect.gen(function* () {
        for (let index = 0; index < 4; index++) {
          const timer = sampleTimer({ timerId: `old-${index}` })
          applyTo(engine.database, shardOf(timer.uuid, 1), putOf(timer))
        }
        yield* engine.startNode("node-1")
        yield* put(engine, { maxPending: 5 })
        expect(yield* createMany(engine, some(3))).toEqual(["created", "maxPending", "maxPending"])
      }),
  )

  engineTest(
    "never accepts one too many, however many come at once and however slow the count is",
    {},
    (engine) =>
      Effect.gen(function* () {
        yield* put(engine, { maxPending: 50 })
        const gate = engine.faults.holdReply("count")
        const calls = yield* Effect.forEach(Array.from({ length: 20 }), (_, index) =>
          Effect.forkChild(createMany(engine, some(10, `call-${index}`))),
        )
        yield* gate.reached
        yield* gate.release
        const results = (yield* Effect.forEach(calls, Fiber.join)).flat()
        expect(count(results, "created")).toBe(50)
        expect(engine.database.tally.created).toBe(50)
        for (let second = 0; second < 5; second++) {
          yield* engine.advance(1_000)
          expect(count(yield* createMany(engine, some(10, `later-${second}`)), "created")).toBe(0)
        }
      }),
  )

  engineTest("counts creates whose commit a count did not see", {}, (engine) =>
    Effect.gen(function* () {
      yield* put(engine, { maxPending: 10 })
      yield* createMany(engine, some(5))
      yield* engine.advance(5_000)
      // Three creates are on their way when the store counts for the next ones.
      const writes = engine.faults.holdCall("write")
      const underWay = yield* Effect.forkChild(createMany(engine, some(3, "slow")))
      yield* writes.reached
      const counts = engine.faults.holdReply("count")
      const more = yield* Effect.forkChild(createMany(engine, some(9, "more")))
      yield* counts.reached
      yield* writes.release
      yield* counts.release
      expect(yield* Fiber.join(underWay)).toEqual(["created", "created", "created"])
      expect(count(yield* Fiber.join(more), "created")).toBe(2)
      expect(engine.database.tally.created).toBe(10)
    }),
  )

  engineTest(
    "accepts new timers after others fired, as soon as it counts: at once if the last count is old",
    {},
    (engine) =>
      Effect.gen(function* () {
        yield* put(engine, { maxPending: 2 })
        yield* createMany(engine, [{ timerId: "soon", inMs: 5_000 }, { timerId: "later" }])
        expect(yield* createMany(engine, some(1))).toEqual(["maxPending"])
        yield* engine.advance(5_000)
        expect(yield* createMany(engine, some(2))).toEqual(["created", "maxPending"])
        // The last count was a moment ago. There is no other within the second, even if timers have ended.
        yield* engine.cancel("later")
        const counted = engine.faults.calls("count")
        expect(yield* refusalOf(engine)).toMatchObject({ retryAfterMs: 1_000 })
        expect(engine.faults.calls("count")).toBe(counted)
        yield* engine.advance(1_000)
        expect(yield* createMany(engine, some(1, "v"))).toEqual(["created"])
      }),
  )

  engineTest("counts in at most a twentieth of the time", {}, (engine) =>
    Effect.gen(function* () {
      yield* put(engine, { maxPending: 1 })
      const gate = engine.faults.holdReply("count")
      const first = yield* Effect.forkChild(createMany(engine, some(1)))
      yield* gate.reached
      yield* engine.advance(1_000)
      yield* gate.release
      expect(yield* Fiber.join(first)).toEqual(["created"])
      for (let second = 0; second < 19; second++) {
        yield* engine.advance(1_000)
        expect(yield* createMany(engine, some(1, "u"))).toEqual(["maxPending"])
      }
      expect(engine.faults.calls("count")).toBe(1)
      yield* engine.advance(1_000)
      yield* createMany(engine, some(1, "u"))
      expect(engine.faults.calls("count")).toBe(2)
    }),
  )

  engineTest(
    "does not refuse creates that add no timer: a pending key may be replaced, and repeated",
    {},
    (engine) =>
      Effect.gen(function* () {
        yield* put(engine, { maxPending: 2 })
        yield* createMany(engine, some(2))
        const again = [{ timerId: "t-0" }, { timerId: "t-1", inMs: 2 * hour }, { timerId: "new" }, {}]
        expect(yield* createMany(engine, again)).toEqual([
          "unchanged",
          "replaced",
          "maxPending",
          "maxPending",
        ])
        expect(yield* engine.create({ timerId: "t-0", inMs: 3 * hour })).toMatchObject({ result: "replaced" })
        // Those creates did not count as timers.
        yield* engine.cancel("t-0")
        yield* engine.advance(1_000)
        expect(yield* createMany(engine, some(2, "u"))).toEqual(["created", "maxPending"])
      }),
  )

  engineTest("reserves no room for creates that add nothing", {}, (engine) =>
    Effect.gen(function* () {
      yield* put(engine, { maxPending: 4 })
      yield* createMany(engine, some(1))
      expect(count(yield* createMany(engine, Array(3).fill({ timerId: "t-0" })), "unchanged")).toBe(3)
      expect(count(yield* createMany(engine, some(5, "u")), "created")).toBe(3)
    }),
  )

  engineTest("that is raised above the last count is counted again", {}, (engine) =>
    Effect.gen(function* () {
      yield* createMany(engine, some(5))
      yield* put(engine, { maxPending: 2 })
      expect(yield* createMany(engine, some(1, "u"))).toEqual(["maxPending"])
      yield* put(engine, { maxPending: 6 })
      expect(yield* createMany(engine, some(2, "u"))).toEqual(["created", "maxPending"])
    }),
  )

  engineTest("of zero refuses every new timer, and counts nothing", {}, (engine) =>
    Effect.gen(function* () {
      yield* put(engine, { maxPending: 0 })
      expect(yield* createMany(engine, some(2))).toEqual(["maxPending", "maxPending"])
      expect(engine.faults.calls("count")).toBe(0)
    }),
  )

  engineTest("that is raised or reset is in force at once", {}, (engine) =>
    Effect.gen(function* () {
      yield* put(engine, { maxPending: 2 })
      expect(count(yield* createMany(engine, some(5)), "created")).toBe(2)
      yield* put(engine, { maxPending: 4 })
      expect(count(yield* createMany(engine, some(5, "u")), "created")).toBe(2)
      yield* put(engine, { maxPending: null })
      expect(count(yield* createMany(engine, some(5, "v")), "created")).toBe(5)
      yield* put(engine, { maxPending: 10 })
      expect(count(yield* createMany(engine, some(5, "w")), "created")).toBe(1)
    }),
  )

  engineTest("accepts creates, and says so, while the store cannot count", {}, (engine) =>
    Effect.gen(function* () {
      yield* put(engine, { maxPending: 2 })
      engine.faults.fail("count")
      expect(yield* createMany(engine, some(3))).toEqual(["created", "created", "maxPending"])
      expect(engine.logs.join()).toContain("could not be counted")
    }),
  )

  engineTest(
    "is counted again soon if the first count failed, because the namespace may have been full",
    { isEmpty: true },
    (engine) =>
      Effect.gen(function* () {
        for (let index = 0; index < 5; index++) {
          const timer = sampleTimer({ timerId: `old-${index}` })
          applyTo(engine.database, shardOf(timer.uuid, 1), putOf(timer))
        }
        yield* engine.startNode("node-1")
        yield* put(engine, { maxPending: 6 })
        engine.faults.fail("count")
        expect(yield* createMany(engine, some(1))).toEqual(["created"])
        yield* engine.advance(5_000)
        expect(yield* createMany(engine, some(1, "u"))).toEqual(["maxPending"])
      }),
  )

  engineTest("reserves no room for creates that their caller gave up", {}, (engine) =>
    Effect.gen(function* () {
      yield* put(engine, { maxPending: 5 })
      yield* createMany(engine, some(1))
      const writes = engine.faults.holdCall("write")
      const left = yield* Effect.forkChild(createMany(engine, some(3, "left")))
      yield* writes.reached
      yield* Fiber.interrupt(left)
      yield* writes.release
      yield* engine.advance(5_000)
      expect(engine.database.tally.created).toBe(4)
      expect(yield* createMany(engine, some(2, "u"))).toEqual(["created", "maxPending"])
    }),
  )

  engineTest("reserves no room for creates that were given up during a look-up of others", {}, (engine) =>
    Effect.gen(function* () {
      yield* put(engine, { maxPending: 3 })
      yield* createMany(engine, some(1))
      const lookUps = engine.faults.holdReply("find")
      const left = yield* Effect.forkChild(createMany(engine, some(3, "left")))
      yield* lookUps.reached
      yield* Fiber.interrupt(left)
      yield* lookUps.release
      yield* engine.advance(5_000)
      expect(yield* createMany(engine, some(3, "u"))).toEqual(["created", "created", "maxPending"])
    }),
  )

  engineTest(
    "is enforced by all nodes once they have counted",
    { isEmpty: true, shards: 4, areLinked: true },
    (engine) =>
      Effect.gen(function* () {
        const first = yield* engine.startNode("node-1")
        const second = yield* engine.startNode("node-2")
        yield* engine.advance(10_000)
        yield* put(engine, { maxPending: 100 }, first)
        yield* engine.advance(1_000)
        let created = 0
        for (let round = 0; round < 12; round++) {
          created += count(yield* createMany(engine, some(10, `a-${round}`), first), "created")
          created += count(yield* createMany(engine, some(10, `b-${round}`), second), "created")
          yield* engine.advance(1_000)
        }
        expect(created).toBe(100)
      }),
  )
})

describe("createsPerSecond", () => {
  engineTest("accepts one second's worth at once, and then its rate", {}, (engine) =>
    Effect.gen(function* () {
      yield* put(engine, { createsPerSecond: 10 })
      expect(count(yield* createMany(engine, some(25)), "created")).toBe(10)
      expect(yield* refusalOf(engine)).toMatchObject({
        quota: "createsPerSecond",
        limit: 10,
        retryAfterMs: 100,
      })
      for (let second = 0; second < 5; second++) {
        yield* engine.advance(1_000)
        expect(count(yield* createMany(engine, some(25, `s-${second}`)), "created")).toBe(10)
      }
    }),
  )

  engineTest("counts repeats and replacements, but not changes and cancels", {}, (engine) =>
    Effect.gen(function* () {
      yield* put(engine, { createsPerSecond: 2 })
      yield* createMany(engine, some(1))
      expect(yield* createMany(engine, [...some(1), ...some(1)])).toEqual(["unchanged", "createsPerSecond"])
      const set = { executeAt: engine.now() + 2 * hour }
      expect(yield* engine.node.scheduler.update({ namespace: "shop", timerId: "t-0", set })).toMatchObject({
        result: "changed",
      })
      expect(yield* engine.cancel("t-0")).toMatchObject({ result: "cancelled" })
    }),
  )

  engineTest("counts replacements in a full namespace", {}, (engine) =>
    Effect.gen(function* () {
      yield* put(engine, { createsPerSecond: 4, maxPending: 1 })
      yield* createMany(engine, some(1))
      const moves = [2, 3, 4, 5].map((hours) => ({ timerId: "t-0", inMs: hours * hour }))
      expect(yield* createMany(engine, moves)).toEqual([
        "replaced",
        "replaced",
        "replaced",
        "createsPerSecond",
      ])
    }),
  )

  engineTest("uses nothing for creates that maxPending refuses", {}, (engine) =>
    Effect.gen(function* () {
      yield* put(engine, { createsPerSecond: 4, maxPending: 1 })
      expect(yield* createMany(engine, some(4))).toEqual([
        "created",
        "maxPending",
        "maxPending",
        "maxPending",
      ])
      yield* put(engine, { maxPending: null })
      expect(count(yield* createMany(engine, some(4, "u")), "created")).toBe(3)
    }),
  )

  engineTest("is shared by the living nodes", { isEmpty: true, shards: 4, areLinked: true }, (engine) =>
    Effect.gen(function* () {
      const first = yield* engine.startNode("node-1")
      const second = yield* engine.startNode("node-2")
      yield* engine.advance(10_000)
      yield* put(engine, { createsPerSecond: 10 }, first)
      yield* engine.advance(1_000)
      expect(count(yield* createMany(engine, some(20, "a"), first), "created")).toBe(5)
      expect(count(yield* createMany(engine, some(20, "b"), second), "created")).toBe(5)
      yield* second.kill
      yield* engine.advance(20_000)
      expect(count(yield* createMany(engine, some(20, "c"), first), "created")).toBe(10)
    }),
  )

  engineTest("also limits schedules over the bus", {}, (engine) =>
    Effect.gen(function* () {
      yield* put(engine, { createsPerSecond: 1 })
      const { spec } = engine.command()
      const schedule = (timerId: string) =>
        engine.node.scheduler.schedule({
          namespace: "shop",
          timerId,
          executeAt: engine.now() + hour,
          spec,
          askedAt: engine.now(),
        })
      expect(yield* schedule("a")).toMatchObject({ result: "created" })
      expect(yield* Effect.flip(schedule("b"))).toMatchObject({ _tag: "QuotaUsedUp", retryAfterMs: 1_000 })
    }),
  )
})
