// The promises of a shard's loops: no timer fires early, whatever the clock does, and the sweep finds what the window
// misses.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import fc from "fast-check"
import { Alarm, type AlarmService } from "../../../src/ports/Alarm.ts"
import { applyTo } from "../../../testkit/applyTo.ts"
import {
  delivered,
  type EngineHarness,
  engineTest,
  refused,
  runVirtually,
} from "../../../testkit/EngineHarness.ts"
import { runsOf, timeLimitMsOf } from "../../../testkit/effort.ts"
import { putOf, sampleSpec, sampleTimer } from "../../../testkit/timers.ts"

describe("a thread that is late", () => {
  const startedOfCrowd = async (lateMs: number): Promise<number> => {
    const alarm: AlarmService = {
      sleepUntil: (instantMs, nowMs) => Effect.sleep(Math.max(1, instantMs - nowMs) + lateMs),
    }
    let started = 0
    await runVirtually({ isEmpty: true }, (engine) =>
      Effect.gen(function* () {
        const { scheduler } = yield* Effect.provideService(engine.startNode("node-1"), Alarm, alarm)
        const at = (offsetMs: number) => engine.now() + offsetMs
        const usual = Array.from({ length: 60 }, (_, index) =>
          engine.command({ namespace: "usual", executeAt: at(1_000 + 5 * index) }),
        )
        const crowd = Array.from({ length: 60 }, (_, index) =>
          engine.command({ namespace: `crowd-${index}`, executeAt: at(1_300) }),
        )
        yield* scheduler.createMany([...usual, ...crowd])
        yield* engine.advance(1_330)
        started = engine.fires.filter(({ namespace }) => namespace.startsWith("crowd")).length
      }),
    )
    return started
  }

  test("starts timers of new namespaces more slowly", async () => {
    expect(await startedOfCrowd(0)).toBe(60)
    expect(await startedOfCrowd(10)).toBeWithin(1, 10)
  })
})

describe("the sweep", () => {
  engineTest(
    "a timer inserted without the owner fires at its time, because of the foreign counter",
    {},
    (engine) =>
      Effect.gen(function* () {
        const timer = sampleTimer({ timerId: "a", executeAt: engine.now() + 3_000 })
        yield* engine.faults.store.insertIfAbsent(0, [putOf(timer)])
        yield* engine.advance(3_000)
        expect(engine.fires.map(({ at }) => at)).toEqual([timer.executeAt])
        expect(yield* engine.rescued).toBe(1)
      }),
  )

  engineTest(
    "a timer inserted during a sweep that has not seen it also fires exactly at its time",
    {},
    (engine) =>
      Effect.gen(function* () {
        const sweep = engine.faults.holdReply("dueHeads")
        yield* engine.advance(5_000)
        yield* sweep.reached
        const timer = sampleTimer({ timerId: "a", executeAt: engine.now() + 3_000 })
        yield* engine.faults.store.insertIfAbsent(0, [putOf(timer)])
        yield* engine.advance(1_500)
        yield* sweep.release
        yield* engine.advance(1_500)
        expect(engine.fires.map(({ at }) => at)).toEqual([timer.executeAt])
      }),
  )

  engineTest(
    "a timer inserted while the sweep reads a congested namespace also does, in any namespace",
    { window: { timers: 400, page: 10 } },
    (engine) =>
      Effect.gen(function* () {
        engine.hang(({ namespace }) => namespace === "large")
        const large = Array.from({ length: 160 }, () => engine.command({ namespace: "large" }))
        yield* engine.node.scheduler.createMany(large)
        const sweep = engine.faults.holdReply("dueHeads", { when: ({ only }) => only === "large" })
        yield* engine.advance(5_000)
        yield* sweep.reached
        const timer = sampleTimer({ namespace: "small", timerId: "a", executeAt: engine.now() + 3_000 })
        yield* engine.faults.store.insertIfAbsent(0, [putOf(timer)])
        yield* engine.advance(1_500)
        yield* sweep.release
        yield* engine.advance(1_500)
        expect(engine.firesOf("a").map(({ at }) => at)).toEqual([timer.executeAt])
      }),
  )

  engineTest(
    "a due timer that no window holds fires within the polling interval, and is counted",
    {},
    (engine) =>
      Effect.gen(function* () {
        const timer = sampleTimer({ timerId: "a", executeAt: engine.now() + 100 })
        // Not even the foreign counter shows this timer.
        applyTo(engine.database, 0, putOf(timer))
        yield* engine.advance(5_100)
        expect(engine.fires.length).toBe(1)
        expect(yield* engine.rescued).toBe(1)
        yield* engine.advance(20_000)
        expect(engine.fires.length).toBe(1)
      }),
  )

  /** Notes when the sweep reads its pages. */
  const notePages = (engine: EngineHarness): Array<number> => {
    const pages: Array<number> = []
    engine.faults.fail("dueHeads", {
      times: Number.POSITIVE_INFINITY,
      when: () => {
        pages.push(engine.now())
        return false
      },
    })
    return pages
  }
  const durationMs = (pages: ReadonlyArray<number>): number => Math.max(...pages) - Math.min(...pages)

  engineTest(
    "all lost timers are found without a pause, even many pages",
    { window: { page: 10 } },
    (engine) =>
      Effect.gen(function* () {
        for (let index = 0; index < 500; index++) {
          applyTo(
            engine.database,
            0,
            putOf(sampleTimer({ timerId: `t${index}`, executeAt: engine.now() + 1 })),
          )
        }
        const pages = notePages(engine)
        yield* engine.advance(6_000)
        expect(new Set(engine.fires.map(({ timerId }) => timerId)).size).toBe(500)
        expect(engine.fires.length).toBe(500)
        expect(yield* engine.rescued).toBe(500)
        expect([pages.length, durationMs(pages)]).toEqual([51, 0])
      }),
  )

  engineTest(
    "the sweep of a large backlog reads 12,500 timers in a second, in all shards together",
    { shards: 4, window: { page: 50 } },
    (engine) =>
      Effect.gen(function* () {
        engine.hang(() => true)
        const backlog = Array.from({ length: 4_000 }, () => engine.command({ namespace: "large" }))
        yield* engine.node.scheduler.createMany(backlog)
        yield* engine.advance(4_000)
        const pages = notePages(engine)
        yield* engine.advance(3_000)
        // All but the first and the last page of each shard take 4 ms each.
        expect(pages.length).toBeWithin(80, 93)
        expect(durationMs(pages)).toBeWithin(250, 400)
        expect(yield* engine.rescued).toBe(0)
      }),
  )

  engineTest(
    "a timer inserted by another node does not wait for the pages of a large backlog",
    { window: { page: 10 } },
    (engine) =>
      Effect.gen(function* () {
        engine.hang(() => true)
        // None of the namespaces is congested, so the sweep reads all of them together.
        const backlog = Array.from({ length: 2_000 }, (_, index) =>
          engine.command({ namespace: `one-of-many-${index % 400}` }),
        )
        yield* engine.node.scheduler.createMany(backlog)
        yield* engine.advance(2_000)
        const timer = sampleTimer({ namespace: "small", timerId: "a", executeAt: engine.now() + 3_000 })
        yield* engine.faults.store.insertIfAbsent(0, [putOf(timer)])
        const pages = notePages(engine)
        yield* engine.advance(2_000)
        expect(yield* engine.rescued).toBe(1)
        expect(pages.length).toBeGreaterThan(150)
        expect(durationMs(pages)).toBe(0)
      }),
  )

  engineTest("a store whose read fails is read again", {}, (engine) =>
    Effect.gen(function* () {
      engine.faults.fail("due", { times: 3 })
      yield* engine.create({ timerId: "a", inMs: 90_000 })
      yield* engine.advance(90_000)
      expect(engine.fires.map(({ at, executeAt }) => at - executeAt)).toEqual([0])
      expect(yield* engine.rescued).toBe(0)
    }),
  )
})

interface Step {
  readonly op: "create" | "move" | "cancel" | "wait"
  readonly key: number
  readonly ms: number
}

const steps = fc.array(
  fc.record<Step>({
    op: fc.constantFrom<Step["op"]>("create", "create", "move", "cancel", "wait"),
    key: fc.nat(9),
    ms: fc.nat(4_000),
  }),
  { minLength: 5, maxLength: 40 },
)

/** Retries come soon, so that everything has ended when the test does. */
const spec = { retryPolicy: { ...sampleSpec.retryPolicy, maxIntervalMs: 5_000 } }

const busy = (sequence: ReadonlyArray<Step>) => (engine: EngineHarness) =>
  Effect.gen(function* () {
    let fires = 0
    engine.onFire(() => Effect.as(Effect.sleep(fires++ % 7), fires % 3 === 0 ? refused : delivered))
    for (const { op, key, ms } of sequence) {
      if (op === "wait") yield* engine.advance(ms)
      else if (op === "cancel") yield* engine.cancel(`t${key}`)
      else yield* engine.create({ timerId: `t${key}`, inMs: op === "move" ? ms * 20 : ms, spec })
    }
    yield* engine.advance(200_000)
    expect(yield* engine.rescued).toBe(0)
    const first = engine.fires.filter(({ attempt }) => attempt === 1)
    for (const fire of first) expect(fire.at - fire.executeAt).toBe(0)
    const attempts = engine.fires.map(({ fireId, attempt }) => `${fireId}/${attempt}`)
    expect(new Set(attempts).size).toBe(attempts.length)
    const { created, delivered: done, cancelled, replaced, dead } = engine.database.tally
    expect(created).toBe(done + cancelled + replaced + dead)
  })

test(
  "on a healthy, busy engine the sweep rescues nothing, and every first attempt is on its millisecond",
  () =>
    fc.assert(
      fc.asyncProperty(steps, (sequence) => runVirtually({ window: { timers: 8, page: 4 } }, busy(sequence))),
      { numRuns: runsOf(12) },
    ),
  timeLimitMsOf(20_000),
)

describe("a wall clock that jumps", () => {
  engineTest("back: nothing starts before its time by that clock", {}, (engine) =>
    Effect.gen(function* () {
      for (const inMs of [1_000, 5_000, 20_000, 70_000]) yield* engine.create({ inMs })
      yield* engine.advance(4_000)
      engine.jumpWallClock(-30_000)
      yield* engine.advance(120_000)
      expect(engine.fires.length).toBe(4)
      for (const fire of engine.fires) {
        expect(fire.at).toBeGreaterThanOrEqual(fire.executeAt)
        expect(fire.at - fire.executeAt).toBeLessThanOrEqual(1_000)
      }
    }),
  )

  engineTest(
    "back: a due timer that waits for its turn waits for its time again",
    { dispatch: { inFlight: 2, inFlightPerHost: 1 } },
    (engine) =>
      Effect.gen(function* () {
        const hanging = engine.hang()
        // One attempt runs, one timer is parked at its host, and those of another namespace have no room.
        for (const namespace of ["a", "a", "b", "b", "c"]) yield* engine.create({ namespace, inMs: 1_000 })
        yield* engine.advance(1_000)
        const started = engine.fires.length
        expect(started).toBeLessThan(5)
        engine.jumpWallClock(-30_000)
        yield* hanging.endAll()
        yield* engine.advance(29_000)
        expect(engine.fires.length).toBe(started)
        yield* engine.advance(1_000)
        expect(engine.fires.length).toBe(5)
        for (const fire of engine.fires) expect(fire.at - fire.executeAt).toBe(0)
      }),
  )

  engineTest("ahead: timers that became due fire within a second", {}, (engine) =>
    Effect.gen(function* () {
      // One timer in memory, for which the firing loop sleeps, and others that are only in the store.
      for (const inMs of [50_000, 1_800_000, 3_600_000]) yield* engine.create({ inMs })
      yield* engine.advance(2_500)
      engine.jumpWallClock(3_600_000)
      yield* engine.advance(1_000)
      expect(engine.fires.length).toBe(3)
      for (const fire of engine.fires) expect(fire.at).toBeGreaterThanOrEqual(fire.executeAt)
    }),
  )
})
