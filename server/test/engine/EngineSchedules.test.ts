// Due times that come over the bus, in the engine. The timer fires once, at the last accepted due time. After its first
// attempt, no command moves it.
import { describe, expect } from "bun:test"
import { Effect, Fiber } from "effect"
import type { ScheduleAnswer } from "../../src/domain/WriteItem.ts"
import type { ScheduleCommand } from "../../src/engine/front/scheduleItem.ts"
import type { ShardBatch } from "../../src/ports/TimerStore.ts"
import { delivered, type EngineHarness, engineTest, refused } from "../../testkit/EngineHarness.ts"

/** A command for the timer "a", due after this time, sent now. */
const commandOf = (engine: EngineHarness, inMs: number, rest: Partial<ScheduleCommand> = {}) => {
  const { namespace, executeAt, spec } = engine.command({ inMs })
  return { namespace, timerId: "a", executeAt, spec, askedAt: engine.now(), ...rest }
}

const schedule = (engine: EngineHarness, inMs: number, rest: Partial<ScheduleCommand> = {}) =>
  Effect.suspend(() => engine.node.scheduler.schedule(commandOf(engine, inMs, rest)))

type Ignored = Extract<ScheduleAnswer, { result: "ignored" }>

const ignored = (because: Ignored["because"]): Ignored => ({ result: "ignored", because })

const isSchedule = (batches: ReadonlyArray<ShardBatch>) =>
  batches.some(({ items }) => items.some(({ kind }) => kind === "schedule"))

/** When each attempt started, counted from the start. */
const firedAfter = (engine: EngineHarness, start: number) => engine.fires.map((fire) => fire.at - start)

describe("a schedule", () => {
  engineTest("creates a timer that fires once, at its millisecond", { shards: 4 }, (engine) =>
    Effect.gen(function* () {
      const start = engine.now()
      const answer = yield* schedule(engine, 1_500, { correlationId: "c", askedAt: start - 7 })
      expect(answer).toMatchObject({ result: "created", timer: { askedAt: start - 7, correlationId: "c" } })
      yield* engine.advance(60_000)
      expect(firedAfter(engine, start)).toEqual([1_500])
      expect(engine.fires[0]).toMatchObject({ correlationId: "c", attempt: 1 })
      expect(engine.stored("a").last).toMatchObject({ state: "delivered", latenessMs: 0 })
      expect(yield* engine.metric("timer_commands_received_total")).toBe(1)
      expect(yield* engine.rescued).toBe(0)
    }),
  )

  for (const [direction, inMs] of [
    ["nearer", 2_000],
    ["farther", 20_000],
  ] as const) {
    engineTest(`moves a timer ${direction}, and it fires once, only at its new time`, {}, (engine) =>
      Effect.gen(function* () {
        const start = engine.now()
        const payload = new TextEncoder().encode("1")
        yield* engine.create({ timerId: "a", inMs: 10_000, payload, correlationId: "first" })
        const answer = yield* schedule(engine, inMs)
        expect(answer).toMatchObject({ result: "moved", timer: { correlationId: "first", createdAt: start } })
        yield* engine.advance(60_000)
        expect(firedAfter(engine, start)).toEqual([inMs])
        expect(engine.fires[0]).toMatchObject({ payload, correlationId: "first" })
        expect(engine.fires[0]?.fireId).toBe("timer" in answer ? answer.timer.fireId : "")
        expect(engine.database.tally).toMatchObject({ created: 2, replaced: 1, delivered: 1 })
        expect(yield* engine.rescued).toBe(0)
      }),
    )
  }

  engineTest("of the same due time changes nothing, however often it comes", {}, (engine) =>
    Effect.gen(function* () {
      const start = engine.now()
      const command = commandOf(engine, 1_000)
      const first = yield* engine.node.scheduler.schedule(command)
      for (let time = 0; time < 3; time++) {
        const again = yield* engine.node.scheduler.schedule({ ...command, askedAt: start + time })
        expect(again.result).toBe("unchanged")
      }
      yield* engine.advance(10_000)
      expect(firedAfter(engine, start)).toEqual([1_000])
      expect(engine.fires[0]?.fireId).toBe("timer" in first ? first.timer.fireId : "")
      expect(engine.database.tally).toMatchObject({ created: 1, delivered: 1 })
    }),
  )

  engineTest("that was sent before the command that set the timer is ignored", {}, (engine) =>
    Effect.gen(function* () {
      const start = engine.now()
      yield* schedule(engine, 5_000, { askedAt: start + 2 })
      expect(yield* schedule(engine, 1_000, { askedAt: start + 1 })).toEqual(ignored("outdated"))
      yield* engine.advance(60_000)
      expect(firedAfter(engine, start)).toEqual([5_000])
    }),
  )

  engineTest("that was sent before a change by other means does not undo it", {}, (engine) =>
    Effect.gen(function* () {
      const start = engine.now()
      const command = commandOf(engine, 20_000)
      yield* engine.node.scheduler.schedule(command)
      yield* engine.advance(1_000)
      const set = { executeAt: start + 5_000 }
      yield* engine.node.scheduler.update({ namespace: "shop", timerId: "a", set })
      expect(yield* engine.node.scheduler.schedule(command)).toEqual(ignored("outdated"))
      yield* engine.advance(60_000)
      expect(firedAfter(engine, start)).toEqual([5_000])
    }),
  )
})

describe("a schedule of a timer that has begun to fire", () => {
  engineTest("is ignored while its attempt runs", {}, (engine) =>
    Effect.gen(function* () {
      const hanging = engine.hang()
      yield* schedule(engine, 0)
      yield* engine.still
      expect(engine.fires.length).toBe(1)
      expect(yield* schedule(engine, 5_000)).toEqual(ignored("inFlight"))
      yield* hanging.endAll()
      yield* engine.advance(60_000)
      expect(engine.fires.length).toBe(1)
      expect(engine.stored("a").last?.state).toBe("delivered")
    }),
  )

  engineTest("is ignored between attempts, which continue as planned", {}, (engine) =>
    Effect.gen(function* () {
      const start = engine.now()
      engine.onFire(({ attempt }) => Effect.succeed(attempt === 1 ? refused : delivered))
      const { retryPolicy } = engine.command().spec
      const spec = { ...engine.command().spec, retryPolicy: { ...retryPolicy, jitter: 0 } }
      yield* schedule(engine, 0, { spec })
      yield* engine.advance(100)
      expect(yield* schedule(engine, 60_000)).toEqual(ignored("retrying"))
      yield* engine.advance(120_000)
      expect(firedAfter(engine, start)).toEqual([0, 5_000])
    }),
  )

  engineTest("is ignored after its delivery, and nothing fires again", {}, (engine) =>
    Effect.gen(function* () {
      const command = commandOf(engine, 1_000)
      yield* engine.node.scheduler.schedule(command)
      yield* engine.advance(1_000)
      expect(yield* engine.node.scheduler.schedule(command)).toEqual(ignored("finished"))
      expect(yield* schedule(engine, 1_000)).toEqual(ignored("finished"))
      yield* engine.advance(60_000)
      expect(engine.fires.length).toBe(1)
    }),
  )

  engineTest("does not move it, although it was queued before the attempt began", {}, (engine) =>
    Effect.gen(function* () {
      const start = engine.now()
      yield* engine.create({ timerId: "a", inMs: 10_000 })
      const commit = engine.faults.holdCall("write")
      // The first write makes the timer due at once. The second one, queued behind it, still names the earlier known
      // time.
      const nearer = yield* Effect.forkChild(engine.create({ timerId: "a", inMs: 0 }))
      const farther = yield* Effect.forkChild(schedule(engine, 10_000))
      yield* commit.reached
      const second = engine.faults.holdCall("write", { when: isSchedule })
      yield* commit.release
      expect((yield* Fiber.join(nearer)).result).toBe("replaced")
      yield* second.reached
      yield* engine.advance(1_000)
      expect(engine.fires).toEqual([])
      yield* second.release
      expect((yield* Fiber.join(farther)).result).toBe("moved")
      yield* engine.advance(60_000)
      expect(firedAfter(engine, start)).toEqual([10_000])
    }),
  )
})

describe("a schedule queued while its timer comes due", () => {
  engineTest("holds it back, and moves it", {}, (engine) =>
    Effect.gen(function* () {
      const start = engine.now()
      yield* schedule(engine, 1_000)
      const commit = engine.faults.holdCall("write", { when: isSchedule })
      const moving = yield* Effect.forkChild(schedule(engine, 30_000))
      yield* engine.advance(2_000)
      expect(engine.fires).toEqual([])
      yield* commit.release
      expect((yield* Fiber.join(moving)).result).toBe("moved")
      yield* engine.advance(60_000)
      expect(firedAfter(engine, start)).toEqual([30_000])
    }),
  )

  engineTest("moves a due timer that waits for its turn", { dispatch: { inFlight: 2 } }, (engine) =>
    Effect.gen(function* () {
      const start = engine.now()
      const hanging = engine.hang(({ timerId }) => timerId === "first")
      yield* engine.create({ timerId: "first" })
      yield* schedule(engine, 1)
      yield* engine.advance(10)
      expect(engine.fires.map(({ timerId }) => timerId)).toEqual(["first"])
      expect((yield* schedule(engine, 5_000)).result).toBe("moved")
      yield* hanging.endAll()
      yield* engine.advance(60_000)
      expect(engine.firesOf("a").map((fire) => fire.at - start)).toEqual([5_010])
    }),
  )

  engineTest("lets it fire once the schedule is answered as ignored", {}, (engine) =>
    Effect.gen(function* () {
      yield* schedule(engine, 1_000)
      const commit = engine.faults.holdCall("write", { when: isSchedule })
      const late = yield* Effect.forkChild(schedule(engine, 30_000, { askedAt: engine.now() - 1 }))
      yield* engine.advance(1_500)
      expect(engine.fires).toEqual([])
      const answeredAt = engine.now()
      yield* commit.release
      expect(yield* Fiber.join(late)).toEqual(ignored("outdated"))
      yield* engine.still
      expect(engine.fires.map((fire) => fire.at)).toEqual([answeredAt])
    }),
  )
})

describe("a schedule and the store", () => {
  engineTest("a schedule that was done and reported as failed moves and fires the timer once", {}, (engine) =>
    Effect.gen(function* () {
      const start = engine.now()
      yield* schedule(engine, 10_000)
      engine.faults.failReply("write", { when: isSchedule, times: 3 })
      const moving = yield* Effect.forkChild(schedule(engine, 1_000))
      yield* engine.advance(500)
      expect((yield* Fiber.join(moving)).result).toBe("moved")
      yield* engine.advance(60_000)
      expect(firedAfter(engine, start)).toEqual([1_000])
      expect(engine.database.tally).toMatchObject({ created: 2, replaced: 1, delivered: 1 })
    }),
  )

  for (const [title, refusedWrite] of [
    [
      "an ignored schedule",
      (engine: EngineHarness) => schedule(engine, 1, { askedAt: engine.now() - 50_000 }),
    ],
    [
      "a cancel under another revision",
      (engine: EngineHarness) => engine.node.scheduler.cancel("shop", "a", 1),
    ],
  ] as const) {
    engineTest(`${title} does not remove the timer from a load that is reading it`, {}, (engine) =>
      Effect.gen(function* () {
        const start = engine.now()
        yield* schedule(engine, 70_000)
        const load = engine.faults.holdReply("due")
        yield* engine.advance(31_000)
        yield* load.reached
        expect(["ignored", "revisionMismatch"]).toContain((yield* refusedWrite(engine)).result)
        yield* load.release
        yield* engine.advance(60_000)
        expect(firedAfter(engine, start)).toEqual([70_000])
        expect(yield* engine.rescued).toBe(0)
      }),
    )
  }
})

describe("a cancel over the bus", () => {
  const unschedule = (engine: EngineHarness, askedAt: number) =>
    Effect.suspend(() => {
      const { namespace, timerId, spec } = commandOf(engine, 0)
      return engine.node.scheduler.unschedule({ namespace, timerId, spec, askedAt })
    })

  engineTest("stops the timer, and a late older command does not bring it back", {}, (engine) =>
    Effect.gen(function* () {
      const start = engine.now()
      yield* schedule(engine, 5_000)
      expect(yield* unschedule(engine, start + 1)).toEqual({ result: "cancelled" })
      expect(yield* schedule(engine, 6_000, { askedAt: start })).toEqual(ignored("finished"))
      yield* engine.advance(60_000)
      expect(engine.fires).toEqual([])
      expect(engine.database.tally).toMatchObject({ created: 1, cancelled: 1 })
    }),
  )

  engineTest("that arrives first holds back the older command, and not a later one", {}, (engine) =>
    Effect.gen(function* () {
      const start = engine.now()
      expect(yield* unschedule(engine, start + 10)).toEqual({ result: "cancelled" })
      expect(yield* schedule(engine, 5_000, { askedAt: start + 9 })).toEqual(ignored("outdated"))
      yield* engine.advance(10_000)
      expect(engine.fires).toEqual([])
      const answer = yield* schedule(engine, 5_000, { askedAt: start + 11 })
      expect(answer).toMatchObject({ result: "created" })
      yield* engine.advance(10_000)
      expect(firedAfter(engine, start)).toEqual([15_000])
    }),
  )

  engineTest("does not end a running attempt or its retries", {}, (engine) =>
    Effect.gen(function* () {
      const hanging = engine.hang()
      yield* schedule(engine, 0)
      yield* engine.still
      expect(yield* unschedule(engine, engine.now() + 1)).toEqual(ignored("inFlight"))
      yield* hanging.endAll(refused)
      expect(engine.stored("a").pending).toMatchObject({ attempts: 1 })
    }),
  )

  engineTest("ends a timer between two attempts", {}, (engine) =>
    Effect.gen(function* () {
      engine.onFire(() => Effect.succeed(refused))
      yield* schedule(engine, 0)
      yield* engine.still
      expect(engine.fires.length).toBe(1)
      expect(yield* unschedule(engine, engine.now() + 1)).toEqual({ result: "cancelled" })
      yield* engine.advance(600_000)
      expect(engine.fires.length).toBe(1)
      expect(engine.stored("a").last).toMatchObject({ state: "cancelled", attempts: 1 })
    }),
  )

  engineTest("that is older than the command that set the timer does not end it", {}, (engine) =>
    Effect.gen(function* () {
      const start = engine.now()
      yield* schedule(engine, 5_000)
      expect(yield* unschedule(engine, start - 1)).toEqual(ignored("outdated"))
      yield* engine.advance(60_000)
      expect(firedAfter(engine, start)).toEqual([5_000])
    }),
  )
})
