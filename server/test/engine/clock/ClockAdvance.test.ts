// The promises of a manual clock. Everything on the way fires at its own instant and in order. The work of an instant
// is stored before the next instant begins. A timer that is held back or far away never makes the clock wait forever or
// miss anything.
import { describe, expect } from "bun:test"
import { Effect, Fiber } from "effect"
import type { Delivery } from "../../../src/domain/Delivery.ts"
import {
  type AdvanceCommand,
  type Advanced,
  longestAdvanceMs,
} from "../../../src/engine/clock/ClockAdvance.ts"
import { serviceRecord } from "../../../src/engine/namespaces/SettingsRecords.ts"
import { applyTo } from "../../../testkit/applyTo.ts"
import {
  delivered,
  type EngineHarness,
  engineTest,
  hostFailed,
  refused,
} from "../../../testkit/EngineHarness.ts"
import type { Gate } from "../../../testkit/StoreFaults.ts"
import { putOf, sampleNow, sampleSpec, sampleTimer } from "../../../testkit/timers.ts"

const hourMs = 3_600_000
const dayMs = 24 * hourMs

const clockOf = (engine: EngineHarness) => {
  const { clock } = engine.node.engine
  if (clock === undefined) throw new Error("the clock is not manual")
  return clock
}

const advance = (engine: EngineHarness, to: AdvanceCommand["to"], maxFirings = 100_000) =>
  clockOf(engine).advance({ to, maxFirings })

/** Each attempt: the timer, and the hours between the start and the attempt. */
const timesOf = (engine: EngineHarness) =>
  engine.fires.map(({ timerId, at, firedAt }) => {
    expect(at).toBe(firedAt)
    return [timerId, (at - sampleNow) / hourMs]
  })

const done = (nowMs: number, fired: number): Advanced => ({ nowMs, fired, isUnfinished: false })

describe("advancing", () => {
  engineTest("fires nothing until it is asked to, whatever the real time", { isManual: true }, (engine) =>
    Effect.gen(function* () {
      yield* engine.create({ timerId: "a", inMs: 1_000 })
      yield* engine.advance(60_000)
      expect(engine.fires).toEqual([])
      expect(engine.now()).toBe(sampleNow)
    }),
  )

  engineTest("overdue timers fire without an advance", { isManual: true }, (engine) =>
    Effect.gen(function* () {
      yield* engine.create({ timerId: "a", executeAt: sampleNow - dayMs })
      yield* engine.still
      expect(timesOf(engine)).toEqual([["a", 0]])
    }),
  )

  engineTest(
    "everything on the way fires at its own instant, in order over all shards, and is stored",
    { isManual: true, shards: 8 },
    (engine) =>
      Effect.gen(function* () {
        for (const days of [30, 3, 31, 7]) yield* engine.create({ timerId: `t${days}`, inMs: days * dayMs })
        expect(yield* advance(engine, { byMs: 30 * dayMs })).toEqual(done(sampleNow + 30 * dayMs, 3))
        expect(timesOf(engine)).toEqual([
          ["t3", 72],
          ["t7", 168],
          ["t30", 720],
        ])
        expect(engine.stored("t30").last).toMatchObject({
          state: "delivered",
          latenessMs: 0,
          finishedAt: sampleNow + 30 * dayMs,
        })
        expect(engine.stored("t31").pending).toBeDefined()
        expect(yield* advance(engine, { untilMs: sampleNow + 31 * dayMs })).toEqual(
          done(sampleNow + 31 * dayMs, 1),
        )
      }),
  )

  engineTest("retries and re-armed timers fire at their own instants", { isManual: true }, (engine) =>
    Effect.gen(function* () {
      const retryPolicy = { ...sampleSpec.retryPolicy, initialIntervalMs: hourMs, jitter: 0 }
      engine.onFire(({ timerId, attempt, executeAt }) =>
        Effect.succeed<Delivery>(
          timerId === "retried"
            ? attempt < 3
              ? refused
              : delivered
            : executeAt < sampleNow + 6 * hourMs
              ? { kind: "rearm", next: { inMs: 2 * hourMs } }
              : delivered,
        ),
      )
      yield* engine.create({ timerId: "retried", inMs: hourMs, spec: { retryPolicy } })
      yield* engine.create({ timerId: "rearmed", inMs: 3 * hourMs })
      expect(yield* advance(engine, { byMs: dayMs })).toEqual(done(sampleNow + dayMs, 6))
      expect(timesOf(engine)).toEqual([
        ["retried", 1],
        ["retried", 2],
        ["rearmed", 3],
        ["rearmed", 5],
        ["retried", 6],
        ["rearmed", 7],
      ])
    }),
  )

  engineTest("the work of an instant is stored before a later instant begins", { isManual: true }, (engine) =>
    Effect.gen(function* () {
      const hanging = engine.hang(({ timerId }) => timerId === "slow")
      yield* engine.create({ timerId: "slow", inMs: hourMs })
      yield* engine.create({ timerId: "later", inMs: hourMs + 1 })
      const advancing = yield* Effect.forkChild(advance(engine, { byMs: dayMs }))
      yield* engine.advance(5_000)
      expect(timesOf(engine)).toEqual([["slow", 1]])
      expect(engine.now()).toBe(sampleNow + hourMs)
      const settle = engine.faults.holdReply("write")
      yield* hanging.end("slow")
      yield* settle.reached
      yield* engine.advance(1_000)
      expect(engine.firesOf("later")).toEqual([])
      yield* settle.release
      expect(yield* Fiber.join(advancing)).toEqual(done(sampleNow + dayMs, 2))
    }),
  )

  engineTest(
    "a thousand timers of a month fire in due order, though the window holds few of them",
    { isManual: true, shards: 4, window: { timers: 120, page: 10 } },
    (engine) =>
      Effect.gen(function* () {
        const count = 1_000
        const shuffled = Array.from({ length: count }, (_, index) => (index * 389) % count)
        const commands = shuffled.map((index) =>
          engine.command({ timerId: `t${index}`, inMs: Math.floor((index / count) * 30 * dayMs) + 1 }),
        )
        yield* engine.node.scheduler.createMany(commands)
        expect(yield* advance(engine, { byMs: 31 * dayMs })).toEqual(done(sampleNow + 31 * dayMs, count))
        expect(engine.fires.map(({ timerId }) => timerId)).toEqual(
          Array.from({ length: count }, (_, index) => `t${index}`),
        )
        expect(yield* engine.rescued).toBe(0)
      }),
  )

  engineTest(
    "timers from before the start fire, however far ahead they are",
    { isManual: true, isEmpty: true },
    (engine) =>
      Effect.gen(function* () {
        const years = [0.1, 5, 9].map((year) => sampleNow + Math.floor(year * 365 * dayMs))
        for (const executeAt of years) applyTo(engine.database, 0, putOf(sampleTimer({ executeAt })))
        yield* engine.startNode("node-1")
        yield* advance(engine, { byMs: 10 * 365 * dayMs })
        expect(engine.fires.map(({ at }) => at)).toEqual(years)
      }),
  )

  engineTest("the clock asks the store beyond what the window has read", { isManual: true }, (engine) =>
    Effect.gen(function* () {
      const decade = 3_650 * dayMs
      engine.onFire(() => Effect.succeed<Delivery>({ kind: "rearm", next: { inMs: decade } }))
      yield* engine.create({ timerId: "a", inMs: decade - 1 })
      const read = engine.faults.holdReply("due")
      const advancing = yield* Effect.forkChild(advance(engine, { byMs: 5 * decade }))
      yield* engine.advance(2_000)
      expect(read.standing()).toBe(1)
      expect((engine.now() + 1 - sampleNow) / decade).toBe(3)
      yield* read.release
      yield* Fiber.join(advancing)
      expect(engine.fires.map(({ at }) => (at + 1 - sampleNow) / decade)).toEqual([1, 2, 3, 4, 5])
    }),
  )

  // Farther than a window reads, so that the clock asks the store.
  const farMs = 24 * 365 * dayMs

  for (const [when, inMs] of [
    ["in the window", hourMs],
    ["beyond the window", farMs - hourMs],
  ] as const) {
    engineTest(
      `a timer that others create ${when} during a read of the store fires at its own instant`,
      { isManual: true },
      (engine) =>
        Effect.gen(function* () {
          yield* engine.create({ timerId: "far", inMs: farMs })
          const asked = engine.faults.holdReply("dueHeads", { when: ({ limit }) => limit === 1 })
          const advancing = yield* Effect.forkChild(advance(engine, { byMs: farMs }))
          yield* asked.reached
          yield* engine.create({ timerId: "near", inMs })
          yield* asked.release
          expect(yield* Fiber.join(advancing)).toEqual(done(sampleNow + farMs, 2))
          expect(timesOf(engine)).toEqual([
            ["near", inMs / hourMs],
            ["far", farMs / hourMs],
          ])
        }),
    )
  }

  engineTest("an attempt that others start during a read holds the clock", { isManual: true }, (engine) =>
    Effect.gen(function* () {
      const hanging = engine.hang(({ timerId }) => timerId === "now")
      yield* engine.create({ timerId: "far", inMs: farMs })
      const asked = engine.faults.holdReply("dueHeads", { when: ({ limit }) => limit === 1 })
      const advancing = yield* Effect.forkChild(advance(engine, { byMs: farMs }))
      yield* asked.reached
      yield* engine.create({ timerId: "now", executeAt: sampleNow - 1 })
      yield* engine.still
      yield* asked.release
      yield* engine.advance(1_000)
      expect([engine.now(), timesOf(engine)]).toEqual([sampleNow, [["now", 0]]])
      yield* hanging.end("now")
      expect(yield* Fiber.join(advancing)).toEqual(done(sampleNow + farMs, 2))
    }),
  )

  engineTest("the clock waits for a due timer that is being changed", { isManual: true }, (engine) =>
    Effect.gen(function* () {
      yield* engine.create({ timerId: "a", inMs: hourMs })
      yield* engine.create({ timerId: "b", inMs: 2 * hourMs })
      const write = engine.faults.holdReply("write")
      const set = { executeAt: sampleNow + 3 * hourMs }
      const { scheduler } = engine.node
      const changing = yield* Effect.forkChild(scheduler.update({ namespace: "shop", timerId: "a", set }))
      yield* write.reached
      const advancing = yield* Effect.forkChild(advance(engine, { byMs: dayMs }))
      yield* engine.advance(1_000)
      expect(engine.now()).toBe(sampleNow + hourMs)
      yield* write.release
      yield* Fiber.join(changing)
      expect(yield* Fiber.join(advancing)).toEqual(done(sampleNow + dayMs, 2))
      expect(timesOf(engine)).toEqual([
        ["b", 2],
        ["a", 3],
      ])
    }),
  )

  engineTest(
    "the clock waits for a slow read",
    { isManual: true, isEmpty: true, window: { page: 10 } },
    (engine) =>
      Effect.gen(function* () {
        const times = Array.from({ length: 30 }, (_, index) => sampleNow + index * hourMs + 1)
        for (const executeAt of times) applyTo(engine.database, 0, putOf(sampleTimer({ executeAt })))
        let read: Gate | undefined
        yield* engine.startNode("node-1", (faults) => {
          read = faults.holdReply("due", { when: ({ exclusiveAfter }) => exclusiveAfter.fireAt === times[9] })
        })
        const advancing = yield* Effect.forkChild(advance(engine, { byMs: 2 * dayMs }))
        yield* engine.advance(2_000)
        expect(engine.fires.map(({ at }) => at)).toEqual(times.slice(0, 10))
        yield* read?.release ?? Effect.void
        expect(yield* Fiber.join(advancing)).toEqual(done(sampleNow + 2 * dayMs, 30))
        expect(engine.fires.map(({ at }) => at)).toEqual(times)
      }),
  )
})

describe("an advance is bounded", () => {
  engineTest(
    "by maxFirings, between two instants: the clock then stops there",
    { isManual: true },
    (engine) =>
      Effect.gen(function* () {
        engine.onFire(() => Effect.succeed<Delivery>({ kind: "rearm", next: { inMs: hourMs } }))
        for (const timerId of ["a", "b"]) yield* engine.create({ timerId, inMs: hourMs })
        const stopped = yield* advance(engine, { byMs: 365 * dayMs }, 5)
        expect(stopped).toEqual({ nowMs: sampleNow + 3 * hourMs, fired: 6, isUnfinished: true })
        expect(engine.now()).toBe(stopped.nowMs)
        // The rest fires in the next advance.
        expect(yield* advance(engine, { byMs: hourMs }, 5)).toEqual(done(sampleNow + 4 * hourMs, 2))
      }),
  )

  engineTest("and reports more work only if there is more", { isManual: true }, (engine) =>
    Effect.gen(function* () {
      for (const timerId of ["a", "b"]) yield* engine.create({ timerId, inMs: hourMs })
      expect(yield* advance(engine, { byMs: dayMs }, 2)).toEqual(done(sampleNow + dayMs, 2))
    }),
  )

  engineTest("by real time: a hanging attempt ends it at the current instant", { isManual: true }, (engine) =>
    Effect.gen(function* () {
      const hanging = engine.hang()
      yield* engine.create({ timerId: "a", inMs: hourMs })
      const advancing = yield* Effect.forkChild(advance(engine, { byMs: dayMs }))
      yield* engine.advance(longestAdvanceMs + 1_000)
      expect(yield* Fiber.join(advancing)).toEqual({
        nowMs: sampleNow + hourMs,
        fired: 0,
        isUnfinished: true,
      })
      yield* hanging.endAll()
    }),
  )

  engineTest("by the end of the service", { isManual: true }, (engine) =>
    Effect.gen(function* () {
      engine.onFire(() => Effect.succeed<Delivery>({ kind: "rearm", next: { inMs: hourMs } }))
      yield* engine.create({ timerId: "a", inMs: hourMs })
      const settle = engine.faults.holdReply("write")
      const advancing = yield* Effect.forkChild(advance(engine, { byMs: 365 * dayMs }))
      yield* settle.reached
      const draining = yield* Effect.forkChild(engine.node.engine.drain(5_000))
      yield* engine.still
      yield* settle.release
      yield* engine.advance(10_000)
      yield* Fiber.join(draining)
      expect(yield* Fiber.join(advancing)).toMatchObject({ isUnfinished: true })
      expect(engine.fires.length).toBe(1)
    }),
  )
})

describe("the clock", () => {
  engineTest("never goes back", { isManual: true }, (engine) =>
    Effect.gen(function* () {
      const refusal = yield* Effect.flip(advance(engine, { untilMs: sampleNow - 1 }))
      expect(refusal).toMatchObject({
        _tag: "InvalidAdvance",
        message: expect.stringContaining("2025-06-15"),
      })
      expect(yield* advance(engine, { untilMs: sampleNow })).toEqual(done(sampleNow, 0))
      expect(yield* Effect.flip(advance(engine, { untilMs: Date.UTC(9001, 0, 1) }))).toMatchObject({
        _tag: "InvalidAdvance",
      })
    }),
  )

  engineTest("is moved by one caller at a time, in turn", { isManual: true }, (engine) =>
    Effect.gen(function* () {
      yield* engine.create({ timerId: "a", inMs: 90 * 60_000 })
      const both = [advance(engine, { byMs: hourMs }), advance(engine, { byMs: hourMs })]
      expect(yield* Effect.all(both, { concurrency: "unbounded" })).toEqual([
        done(sampleNow + hourMs, 0),
        done(sampleNow + 2 * hourMs, 1),
      ])
    }),
  )

  engineTest("is the system's clock unless a manual one is given", {}, (engine) =>
    Effect.sync(() => expect(engine.node.engine.clock).toBeUndefined()),
  )

  engineTest("history past its retention is gone when an advance answers", { isManual: true }, (engine) =>
    Effect.gen(function* () {
      yield* engine.create({ timerId: "early", inMs: dayMs })
      yield* engine.create({ timerId: "late", inMs: 9 * dayMs })
      yield* advance(engine, { byMs: 10 * dayMs })
      expect(engine.stored("early").last).toBeUndefined()
      expect(engine.stored("late").last).toMatchObject({ state: "delivered" })
    }),
  )
})

describe("an undeliverable timer does not stop the clock", () => {
  engineTest("a host that is down: its breaker stays closed", { isManual: true }, (engine) =>
    Effect.gen(function* () {
      engine.onFire(() => Effect.succeed(hostFailed))
      for (let index = 0; index < 15; index++) yield* engine.create({ timerId: `t${index}`, inMs: index })
      // Ten attempts each take about a day.
      expect(yield* advance(engine, { byMs: 3 * dayMs })).toEqual(done(sampleNow + 3 * dayMs, 150))
      expect(engine.stored("t0").last).toMatchObject({ state: "dead", reason: "attemptsExhausted" })
    }),
  )

  engineTest(
    "a missing handler: its timers wait, use no attempt, and start when it comes",
    { isManual: true, shards: 4, window: { timers: 400, page: 20 } },
    (engine) =>
      Effect.gen(function* () {
        engine.absent.add("lonely")
        const target = { type: "handler" as const }
        const lonely = Array.from({ length: 300 }, (_, index) =>
          engine.command({ namespace: "lonely", timerId: `l${index}`, inMs: index * 1_000, target }),
        )
        yield* engine.node.scheduler.createMany(lonely)
        yield* engine.create({ timerId: "a", inMs: hourMs })
        expect(yield* advance(engine, { byMs: dayMs })).toEqual(done(sampleNow + dayMs, 1))
        expect(timesOf(engine)).toEqual([["a", 1]])
        engine.arrive("lonely")
        expect(yield* advance(engine, { byMs: 0 })).toEqual(done(sampleNow + dayMs, 300))
        expect(engine.fires.slice(1).every(({ attempt }) => attempt === 1)).toBe(true)
      }),
  )

  for (const who of ["paused", serviceRecord]) {
    engineTest(
      `a pause of ${who === "paused" ? "a namespace" : "all firing"}: due timers wait, and start when it ends`,
      { isManual: true, shards: 4, window: { timers: 400, page: 20 } },
      (engine) =>
        Effect.gen(function* () {
          const { directory, scheduler } = engine.node
          const pause = { sinceMs: sampleNow, kind: "asked" as const }
          yield* directory.change(who, sampleNow, () =>
            Effect.succeed(who === "paused" ? { pausedSinceMs: sampleNow } : { pause }),
          )
          const waiting = Array.from({ length: 600 }, (_, index) =>
            engine.command({ namespace: "paused", timerId: `p${index}`, inMs: index * 1_000 }),
          )
          yield* scheduler.createMany(waiting)
          yield* engine.create({ timerId: "a", inMs: hourMs })
          const free = who === "paused" ? 1 : 0
          expect(yield* advance(engine, { byMs: dayMs })).toEqual(done(sampleNow + dayMs, free))
          yield* directory.change(who, engine.now(), () => Effect.succeed({}))
          expect(yield* advance(engine, { byMs: 0 })).toEqual(done(sampleNow + dayMs, 601 - free))
        }),
    )
  }
})
