// The census of an engine under virtual time: its counts are those of the store after a pass and all that followed, it
// rests as long as it must, and it stays away from small stores.
import { describe, expect, test } from "bun:test"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import { emptyTally } from "../../../src/domain/Decision.ts"
import { Census, defaultCensusLimits } from "../../../src/engine/census/Census.ts"
import { EngineMetrics } from "../../../src/engine/EngineMetrics.ts"
import type { Delivery } from "../../../src/ports/Deliverer.ts"
import {
  type EngineHarness,
  engineTest,
  type HarnessOptions,
  hostFailed,
  refused,
  runVirtually,
} from "../../../testkit/EngineHarness.ts"
import { runsOf, timeLimitMsOf } from "../../../testkit/effort.ts"
import { sampleNow, sampleSpec, sampleTimer } from "../../../testkit/timers.ts"

const hour = 3_600_000
const hours = 24
/** Whole hours, so that each bucket is one cell. */
const from = Math.floor(sampleNow / hour) * hour
const span = { from, until: from + hours * hour, buckets: hours }

const census = { leastPending: 1, page: 3, lookEveryMs: 100, shortestRestMs: 1 }
const options: HarnessOptions = { shards: 3, census }

const storedCounts = (engine: EngineHarness) =>
  Effect.map(
    engine.faults.store.histogram({
      namespace: { asked: ["*"], names: [], shards: 3 },
      state: "pending",
      inclusiveFromMs: span.from,
      exclusiveUntilMs: span.until,
      buckets: span.buckets,
    }),
    ({ counts }) => [...counts],
  )

const countedHere = ({ node }: EngineHarness) =>
  Effect.map(node.scheduler.countsHere(span), (counted) => counted?.counts)

const sumOf = (counts: ReadonlyArray<number> = []) => counts.reduce((sum, count) => sum + count, 0)

interface Command {
  readonly kind: "create" | "update" | "cancel" | "schedule" | "unschedule" | "replay" | "advance"
  readonly namespace: string
  readonly timerId: string
  readonly ms: number
}

const anyCommand: fc.Arbitrary<Command> = fc.record({
  kind: fc.constantFrom(
    "create",
    "create",
    "update",
    "cancel",
    "schedule",
    "unschedule",
    "replay",
    "advance",
  ),
  namespace: fc.constantFrom("a", "b"),
  timerId: fc.nat(9).map((id) => `t${id}`),
  // A virtual hour takes long, so the clock moves by seconds.
  ms: fc.oneof(fc.nat(8_000), fc.nat(4 * hour)),
})

const run = (
  engine: EngineHarness,
  { kind, namespace, timerId, ms }: Command,
): Effect.Effect<unknown, unknown> => {
  const { scheduler } = engine.node
  const ofBus = { namespace, timerId, spec: sampleSpec, askedAt: engine.now() }
  switch (kind) {
    case "advance":
      return engine.advance(Math.min(ms, 2_000))
    case "create":
      return engine.create({ namespace, timerId, inMs: ms })
    case "update":
      return scheduler.update({ namespace, timerId, set: { executeAt: engine.now() + ms } })
    case "cancel":
      return scheduler.cancel(namespace, timerId, undefined)
    case "schedule":
      return scheduler.schedule({ ...ofBus, executeAt: engine.now() + ms })
    case "unschedule":
      return scheduler.unschedule(ofBus)
    case "replay":
      return scheduler.replay({ namespace, timerId, isDryRun: false })
  }
}

const deliveries: ReadonlyArray<Delivery> = [
  { kind: "delivered", status: 200 },
  refused,
  hostFailed,
  { kind: "dead", reason: "refused", error: "answered 410", status: 410 },
  { kind: "rearm", next: { inMs: 3 * hour }, status: 200 },
]

test(
  "the counts are those of the store after a pass and all creates, changes, cancels, attempts and replays since",
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(anyCommand, { minLength: 1, maxLength: 15 }),
        fc.array(anyCommand, { maxLength: 25 }),
        fc.array(fc.nat(4), { minLength: 5, maxLength: 5 }),
        (first, then, outcomes) =>
          runVirtually(options, (engine) =>
            Effect.gen(function* () {
              let fired = 0
              engine.onFire(() =>
                Effect.sync(() => deliveries[outcomes[fired++ % outcomes.length] ?? 0] ?? refused),
              )
              yield* engine.create({ namespace: "a", timerId: "kept", inMs: 13 * hour })
              for (const command of first) yield* Effect.ignore(run(engine, command))
              yield* engine.advance(500)
              expect(yield* engine.metric("timer_census_passes_total")).toBeGreaterThan(0)
              expect(yield* countedHere(engine)).toEqual(yield* storedCounts(engine))
              for (const command of then) yield* Effect.ignore(run(engine, command))
              yield* engine.advance(1)
              expect(yield* countedHere(engine)).toEqual(yield* storedCounts(engine))
            }),
          ),
      ),
      { numRuns: runsOf(40) },
    ),
  timeLimitMsOf(60_000),
)

describe("the census", () => {
  const withTimers = (engine: EngineHarness, timers: number) =>
    Effect.forEach(Array.from({ length: timers }), (_, index) =>
      engine.create({ timerId: `t${index}`, inMs: hour + index }),
    )

  engineTest(
    "leaves a small store alone, and begins when it has grown",
    { census: { leastPending: 10 } },
    (engine) =>
      Effect.gen(function* () {
        yield* withTimers(engine, 9)
        yield* engine.advance(30_000)
        expect([yield* countedHere(engine), yield* engine.metric("timer_census_passes_total")]).toEqual([
          undefined,
          0,
        ])
        yield* withTimers(engine, 10)
        yield* engine.advance(30_000)
        expect(sumOf(yield* countedHere(engine))).toBe(10)
        expect(yield* engine.metric("timer_census_cells")).toBeGreaterThan(0)
        yield* engine.cancel("t0")
        yield* engine.advance(30_000)
        expect([yield* countedHere(engine), yield* engine.metric("timer_census_cells")]).toEqual([
          undefined,
          0,
        ])
      }),
  )

  engineTest("counts nothing if it is off", {}, (engine) =>
    Effect.gen(function* () {
      yield* withTimers(engine, 5)
      yield* engine.advance(60_000)
      expect(yield* countedHere(engine)).toBeUndefined()
    }),
  )

  test("rests 49 times as long as a page took, so it uses two percent of the time", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.clockWith(Effect.succeed)
      const reads: Array<number> = []
      const tally = { ...emptyTally, created: 35 }
      const counted = new Census({
        limits: { ...defaultCensusLimits, leastPending: 1, page: 10 },
        store: {
          tally: Effect.succeed(tally),
          dueHeads: ({ exclusiveAfter }) =>
            Effect.suspend(() => {
              reads.push(clock.currentTimeMillisUnsafe())
              const begin = exclusiveAfter.fireAt + 1
              const heads = Array.from({ length: Math.min(10, 35 - begin) }, (_, index) =>
                sampleTimer({ fireAt: begin + index }),
              )
              return Effect.as(Effect.sleep(100), heads)
            }),
        },
        held: () => [{ shard: 0, epoch: 1 }],
        wall: { now: () => clock.currentTimeMillisUnsafe() },
        clock,
        metrics: yield* EngineMetrics.make,
      })
      yield* Effect.forkScoped(counted.keepForever)
      yield* TestClock.adjust(60_000)
      expect(reads).toEqual([0, 5_000, 10_000, 15_000])
      const span = { from: 0, until: hour, buckets: 1 }
      expect(yield* counted.countsHere(span)).toEqual({ counts: [35], asOfMs: 0, lacksSome: false })
      // The next pass begins an hour after the first.
      yield* TestClock.adjust(hour)
      expect(reads).toHaveLength(8)
    }).pipe(Effect.scoped, Effect.provide(TestClock.layer()), Effect.runPromise))

  engineTest(
    "counts up to an instant while its first pass runs",
    { census: { leastPending: 1, page: 10 } },
    (engine) =>
      Effect.gen(function* () {
        yield* withTimers(engine, 35)
        const gate = engine.faults.holdCall("dueHeads", {
          when: ({ inclusiveUntilMs, exclusiveAfter }) =>
            inclusiveUntilMs === Number.MAX_SAFE_INTEGER && exclusiveAfter.fireAt > 0,
        })
        yield* engine.advance(15_000)
        expect(gate.standing()).toBe(1)
        const counted = yield* engine.node.scheduler.countsHere(span)
        expect(sumOf(counted?.counts)).toBe(10)
        expect(counted?.countedUntilMs).toBe(sampleNow + hour + 9)
        // A page is on its way, so the writes wait for it.
        yield* engine.cancel("t30")
        yield* engine.cancel("t3")
        expect(sumOf(yield* countedHere(engine))).toBe(10)
        yield* gate.release
        yield* engine.advance(15_000)
        expect(sumOf(yield* countedHere(engine))).toBe(33)
        expect(yield* engine.node.scheduler.countsHere(span)).not.toHaveProperty("countedUntilMs")
      }),
  )

  engineTest(
    "goes on after a failed read, and begins again when shards come or go",
    { ...options, isEmpty: true },
    (engine) =>
      Effect.gen(function* () {
        yield* engine.startNode("node-1")
        yield* withTimers(engine, 40)
        engine.faults.fail("dueHeads", { times: 2 })
        yield* engine.advance(12_000)
        expect(sumOf(yield* countedHere(engine))).toBe(40)
        const second = yield* engine.startNode("node-2")
        yield* engine.advance(12_000)
        const parts = [
          sumOf(yield* countedHere(engine)),
          sumOf((yield* second.scheduler.countsHere(span))?.counts),
        ]
        expect(Math.min(...parts)).toBeGreaterThan(0)
        expect(sumOf(parts)).toBe(40)
      }),
  )
})
