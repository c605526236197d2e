// The runner of jobs under virtual time, with documents in memory and steps that the test scripts: its pace, what it
// repeats, when it stops, and what another node takes over.
import { describe, expect, test } from "bun:test"
import { DocumentsError } from "@punctual/documents/Documents"
import { documentsIn, MemoryDocuments } from "@punctual/documents/memory/MemoryDocuments"
import type { AuditEntry } from "@punctual/door/AuditTrail"
import { Clock, Effect, Fiber, Logger, Metric } from "effect"
import { TestClock } from "effect/testing"
import { BulkMetrics } from "../../src/bulk/BulkMetrics.ts"
import type { BulkRecord } from "../../src/bulk/BulkRecord.ts"
import { BulkRecords } from "../../src/bulk/BulkRecords.ts"
import { BulkRunner } from "../../src/bulk/BulkRunner.ts"
import type { BulkStep, BulkStepDone, BulkStepError } from "../../src/engine/front/BulkSteps.ts"
import { TooManyNamespaces } from "../../src/engine/front/matchNamespaces.ts"
import { NoOwner } from "../../src/engine/front/RefusedWrite.ts"
import { Ids } from "../../src/ports/Ids.ts"
import { InvalidCursor } from "../../src/ports/TimerStore.ts"
import { sampleNow } from "../../testkit/timers.ts"
import { sampleJob } from "./sampleJob.ts"

type Stepped = (step: BulkStep, index: number) => Effect.Effect<BulkStepDone, BulkStepError>

interface Node {
  /** The steps that the node has made. */
  readonly steps: ReadonlyArray<BulkStep>
  isOwner: boolean
  whyNot: string | undefined
  readonly runner: BulkRunner
  /** Ends the node as a kill would: it stores nothing more. */
  kill: Effect.Effect<void>
}

interface Rig {
  readonly records: BulkRecords
  readonly audited: ReadonlyArray<AuditEntry>
  readonly node: (stepped: Stepped, isOwner?: boolean) => Effect.Effect<Node>
  readonly job: Effect.Effect<BulkRecord | undefined>
  /** Lets time pass, until all fibers wait again. */
  readonly pass: (ms: number) => Effect.Effect<void>
}

/** As many timers as asked for, from a population that the cursor counts. */
const population =
  (size: number): Stepped =>
  ({ limit, cursor = "0" }) => {
    const from = Number(cursor)
    const done = Math.min(limit, size - from)
    const next = from + done
    return Effect.succeed({
      done,
      skipped: 0,
      inFlight: 0,
      examined: done,
      ...(next < size ? { next: String(next) } : {}),
    })
  }

const withRig = (use: (rig: Rig) => Effect.Effect<void, unknown, never>) => () =>
  Effect.gen(function* () {
    const memory = new MemoryDocuments()
    /** Once it is dead, nothing reaches the store. */
    const recordsOf = (isDead: () => boolean) => {
      const documents = documentsIn(memory)
      const gone = Effect.fail(new DocumentsError({ message: "dead", isFatal: false }))
      const put: typeof documents.put = (asked) => (isDead() ? gone : documents.put(asked))
      return new BulkRecords({ documents: { ...documents, put }, now: () => sampleNow, runningMax: 10 })
    }
    const records = recordsOf(() => false)
    const audited: Array<AuditEntry> = []
    const ids = yield* Ids
    const clock = yield* Clock.clockWith(Effect.succeed)
    const scope = yield* Effect.scope
    const node: Rig["node"] = (stepped, isOwner = true) =>
      Effect.gen(function* () {
        const steps: Array<BulkStep> = []
        let isDead = false
        const made: Node = {
          steps,
          isOwner,
          whyNot: undefined,
          kill: Effect.void,
          runner: new BulkRunner({
            records: recordsOf(() => isDead),
            scheduler: {
              bulkStep: (step) => {
                steps.push(step)
                return stepped(step, steps.length - 1)
              },
            },
            starters: { whyNot: () => made.whyNot },
            wall: { now: () => sampleNow + clock.currentTimeMillisUnsafe() },
            ids,
            metrics: yield* BulkMetrics.make,
            trail: { record: (entry) => Effect.sync(() => void audited.push(entry)) },
            isOwner: () => made.isOwner,
          }),
        }
        const fiber = yield* Effect.forkIn(made.runner.keepForever, scope)
        made.kill = Effect.suspend(() => {
          isDead = true
          return Effect.asVoid(Fiber.interrupt(fiber))
        })
        return made
      })
    const pass: Rig["pass"] = (ms) => TestClock.adjust(ms)
    yield* use({ records, audited, node, job: Effect.orDie(records.find(sampleJob.jobId)), pass })
  }).pipe(
    Effect.scoped,
    Effect.provide(Ids.fromRandom),
    Effect.provide(TestClock.layer()),
    Effect.provide(Logger.layer([])),
    Effect.provideService(Metric.MetricRegistry, new Map()),
    Effect.runPromise,
  )

const handled = ({ done: { replayed = 0 } }: BulkRecord): number => replayed

describe("the pace", () => {
  for (const [perSecond, perStep] of [
    [1, 1],
    [100, 20],
    [500, 100],
    [5_000, 200],
  ] as const) {
    test(
      `of ${perSecond} in a second is kept, in steps of ${perStep}`,
      withRig(({ records, node, pass }) =>
        Effect.gen(function* () {
          yield* records.begin({ ...sampleJob, perSecond })
          const { steps } = yield* node(population(1_000_000))
          for (let second = 1; second <= 5; second++) {
            yield* pass(1_000)
            expect(new Set(steps.map(({ limit }) => limit))).toEqual(new Set([perStep]))
            // One step is made at the beginning.
            const expected = second * perSecond
            expect(steps.length * perStep).toBeGreaterThanOrEqual(expected)
            expect(steps.length * perStep).toBeLessThanOrEqual(expected + 2 * perStep)
          }
        }),
      ),
    )
  }

  test(
    "pauses also after steps that found nothing to do",
    withRig(({ records, node, pass }) =>
      Effect.gen(function* () {
        yield* records.begin(sampleJob)
        const nothing = { done: 0, skipped: 0, inFlight: 0, examined: 10_000, next: "1" }
        const { steps } = yield* node(() => Effect.succeed(nothing))
        yield* pass(1_000)
        expect(steps.length).toBeLessThanOrEqual(51)
        expect(steps.length).toBeGreaterThan(10)
      }),
    ),
  )
})

describe("a job", () => {
  test(
    "is done after its last step, is audited with its count, and is not run again",
    withRig(({ records, node, pass, job, audited }) =>
      Effect.gen(function* () {
        yield* records.begin(sampleJob)
        const { steps } = yield* node(population(250))
        yield* pass(3_000)
        expect(yield* job).toMatchObject({
          state: "done",
          done: { replayed: 250, skipped: 0 },
          examined: 250,
        })
        expect(yield* job).not.toHaveProperty("cursor")
        expect(steps.length).toBe(3)
        expect(audited).toMatchObject([
          { action: "bulk.end", caller: "anonymous", about: { state: "done" }, count: 250 },
        ])
      }),
    ),
  )

  test(
    "repeats a step that was refused, counts only what was done, and says why it waits",
    withRig(({ records, node, pass, job }) =>
      Effect.gen(function* () {
        yield* records.begin(sampleJob)
        const refusal = new NoOwner({ message: "nobody owns the shard", retryAfterMs: 3_000 })
        const { steps } = yield* node((step, index) =>
          index === 1
            ? Effect.succeed({ done: 40, skipped: 5, inFlight: 0, examined: 100, next: "200", refusal })
            : population(250)(step, index),
        )
        yield* pass(2_000)
        expect((yield* job)?.problem).toBe(
          "Some timers could not be changed: nobody owns the shard. The job tries again.",
        )
        expect(steps.length).toBe(2)
        yield* pass(5_000)
        expect(steps.map(({ cursor }) => cursor)).toEqual([undefined, "100", "100", "200"])
        expect(yield* job).toMatchObject({
          state: "done",
          done: { replayed: 290, skipped: 0 },
          examined: 250,
        })
        expect(yield* job).not.toHaveProperty("problem")
      }),
    ),
  )

  test(
    "starts over if its cursor is not valid any more",
    withRig(({ records, node, pass, job }) =>
      Effect.gen(function* () {
        yield* records.begin({ ...sampleJob, cursor: "of another version" })
        const { steps } = yield* node((step, index) =>
          index === 0
            ? Effect.fail(new InvalidCursor({ message: "it is malformed" }))
            : population(10)(step, index),
        )
        yield* pass(2_000)
        expect(steps.map(({ cursor }) => cursor)).toEqual(["of another version", undefined])
        expect((yield* job)?.state).toBe("done")
      }),
    ),
  )

  test(
    "fails if its filter matches too many namespaces, and after an unexpected error",
    withRig(({ records, node, pass, job }) =>
      Effect.gen(function* () {
        yield* records.begin(sampleJob)
        const other = { ...sampleJob, jobId: sampleJob.jobId.replace("01", "02") }
        yield* records.begin(other)
        yield* node(({ beginning }, index) =>
          index === 0
            ? Effect.fail(new TooManyNamespaces({ most: 1_000 }))
            : Effect.die(new Error(beginning.id)),
        )
        yield* pass(2_000)
        const ended = [yield* job, yield* records.find(other.jobId)]
        expect(ended.map((found) => found?.state)).toEqual(["failed", "failed"])
        expect(ended.map((found) => found?.problem)).toEqual([
          expect.stringContaining("more than 1000 namespaces"),
          expect.stringContaining("An unexpected error"),
        ])
      }),
    ),
  )

  test(
    "stops before the next step if its starter may not go on, or if it was aborted",
    withRig(({ records, node, pass, job }) =>
      Effect.gen(function* () {
        yield* records.begin(sampleJob)
        const other = { ...sampleJob, jobId: sampleJob.jobId.replace("01", "02") }
        yield* records.begin(other)
        const first = yield* node(population(100_000))
        yield* pass(100)
        expect(first.steps.length).toBe(2)
        yield* records.end({ ...other, state: "aborted", finishedAt: sampleNow })
        first.runner.noteAborted(other.jobId)
        first.whyNot = "The key that started the job has been revoked."
        yield* pass(2_000)
        expect(first.steps.length).toBe(2)
        expect(yield* job).toMatchObject({ state: "failed", problem: first.whyNot, done: { replayed: 100 } })
        expect(yield* records.find(other.jobId)).toMatchObject({ state: "aborted", done: { replayed: 100 } })
      }),
    ),
  )
})

describe("another node", () => {
  test(
    "runs no job while it does not own shard 0, and then goes on where the first one was",
    withRig(({ records, node, pass, job }) =>
      Effect.gen(function* () {
        yield* records.begin(sampleJob)
        const first = yield* node(population(2_000))
        const second = yield* node(population(2_000), false)
        yield* pass(1_500)
        expect(second.steps).toEqual([])
        const { cursor, beginning } = (yield* job) ?? {}
        expect(Number(cursor)).toBeGreaterThanOrEqual(500)
        const before = first.steps.length
        first.isOwner = false
        second.isOwner = true
        yield* pass(10_000)
        expect(first.steps.length).toBe(before)
        expect(Number(second.steps[0]?.cursor)).toBeGreaterThanOrEqual(Number(cursor))
        expect(second.steps.every((step) => step.beginning.id === beginning?.id)).toBe(true)
        const ended = yield* job
        expect(ended).toMatchObject({ state: "done" })
        expect(handled(ended ?? sampleJob)).toBe(2_000)
      }),
    ),
  )

  test(
    "goes on at the last place that a killed node stored, within a second of its last step",
    withRig(({ records, node, pass, job }) =>
      Effect.gen(function* () {
        yield* records.begin(sampleJob)
        const first = yield* node(population(2_000))
        yield* pass(1_900)
        yield* first.kill
        const { cursor = "0" } = (yield* job) ?? {}
        const second = yield* node(population(2_000))
        yield* pass(10_000)
        expect(second.steps[0]).toMatchObject({ cursor, beginning: first.steps[0]?.beginning })
        const last = Number(first.steps.at(-1)?.cursor)
        expect(last - Number(cursor)).toBeLessThanOrEqual(500)
        expect((yield* job)?.state).toBe("done")
      }),
    ),
  )
})
