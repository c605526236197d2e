// The activity over documents in memory: what is stored when, what a crash loses, and what is read.
import { describe, expect, test } from "bun:test"
import { type Documents, DocumentsError } from "@punctual/documents/Documents"
import { documentsIn, MemoryDocuments } from "@punctual/documents/memory/MemoryDocuments"
import { Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { ActivityRecord } from "../../../src/domain/ActivityRecord.ts"
import { ActivityCounter } from "../../../src/engine/activity/ActivityCounter.ts"
import { ActivityLog, type ActivityUnit, hourMs } from "../../../src/engine/activity/ActivityLog.ts"
import type { UnstoredActivity } from "../../../src/ports/PeerActivity.ts"
import { layerLogs } from "../../../src/program/Logs.ts"
import { samplePut } from "../../../testkit/timers.ts"

const startMs = Date.parse("2030-01-01T00:00:00Z")
const minuteMs = 60_000
const retentionMs = 24 * hourMs

/** A process that counts and stores. Its clock is that of the test. */
class Process {
  readonly counter: ActivityCounter
  readonly #scope = Scope.makeUnsafe()
  log: ActivityLog["Service"] | undefined

  constructor(now: () => number) {
    this.counter = new ActivityCounter({ now })
  }

  static start(documents: Documents["Service"]): Effect.Effect<Process> {
    return Effect.gen(function* () {
      const now = yield* nowOf
      const process = new Process(now)
      process.log = yield* Effect.provideService(
        ActivityLog.over(documents, process.counter, { now, retentionMs }),
        Scope.Scope,
        process.#scope,
      )
      return process
    })
  }

  get unstored(): UnstoredActivity {
    return { process: this.counter.process, records: this.counter.unstored() }
  }

  create(times = 1, namespace = "shop"): void {
    const put = samplePut({ namespace })
    for (let time = 0; time < times; time++) {
      this.counter.answered(put, { result: "created", timer: put.timer })
    }
  }

  stop(): Effect.Effect<void> {
    return Scope.close(this.#scope, Exit.void)
  }
}

const nowOf = Effect.clockWith((clock) => Effect.succeed(() => startMs + clock.currentTimeMillisUnsafe()))

const createdIn = (
  { log }: Process,
  unit: ActivityUnit,
  unstored: ReadonlyArray<UnstoredActivity> = [],
  fromMs = startMs,
  untilMs = startMs + 48 * hourMs,
) =>
  Effect.gen(function* () {
    const counted: Record<number, number> = {}
    const visit = ({ atMs, namespaces }: ActivityRecord) => {
      const minute = (atMs - startMs) / minuteMs
      counted[minute] = (counted[minute] ?? 0) + (namespaces.counts[0]?.[0] ?? 0)
    }
    yield* log?.read({ unit, fromMs, untilMs }, unstored, visit) ?? Effect.void
    return counted
  })

const run = (body: Effect.Effect<void, unknown>): Promise<void> =>
  Effect.runPromise(
    Effect.scoped(body).pipe(Effect.provide(TestClock.layer()), Effect.provide(layerLogs("none", false))),
  )

describe("activity", () => {
  test("is stored every minute, so a crash loses the current minute only", () =>
    run(
      Effect.gen(function* () {
        const documents = documentsIn(new MemoryDocuments())
        let isKilled = false
        const ofFirst: Documents["Service"] = {
          ...documents,
          put: (asked) => (isKilled ? Effect.never : documents.put(asked)),
        }
        const first = yield* Process.start(ofFirst)
        first.create(3)
        yield* TestClock.adjust(minuteMs)
        first.create(2)
        yield* TestClock.adjust(minuteMs - 1)
        isKilled = true
        const second = yield* Process.start(documents)
        second.create(4)
        yield* TestClock.adjust(1)
        for (const unit of ["minute", "hour"] as const) {
          const inHour = { 0: 7 }
          expect(yield* createdIn(second, unit)).toEqual(unit === "hour" ? inHour : { 0: 3, 1: 4 })
        }
        yield* second.stop()
      }),
    ))

  test("of a process that stops in good order is complete, and so is what is read from its memory", () =>
    run(
      Effect.gen(function* () {
        const documents = documentsIn(new MemoryDocuments())
        const [one, other] = [yield* Process.start(documents), yield* Process.start(documents)]
        one.create(1)
        yield* TestClock.adjust(minuteMs + 1_000)
        one.create(2)
        other.create(3)
        const before = [one.unstored, other.unstored]
        for (const unit of ["minute", "hour"] as const) {
          expect(yield* createdIn(one, unit, before)).toEqual(
            unit === "hour" ? { 0: 1, 1: 5 } : { 0: 1, 1: 5 },
          )
        }
        yield* one.stop()
        // What was read from memory before is stored by now, and does not count twice.
        expect(yield* createdIn(other, "minute", before)).toEqual({ 0: 1, 1: 5 })
        expect(yield* createdIn(other, "hour", before)).toEqual({ 0: 3, 1: 3 })
        yield* other.stop()
      }),
    ))

  test("is read for the asked time only, page by page", () =>
    run(
      Effect.gen(function* () {
        const documents = documentsIn(new MemoryDocuments())
        const process = yield* Process.start(documents)
        for (let minute = 0; minute < 100; minute++) {
          process.create(1)
          yield* TestClock.adjust(minuteMs)
        }
        const [fromMs, untilMs] = [startMs + 10 * minuteMs, startMs + 60 * minuteMs]
        const counted = yield* createdIn(process, "minute", [], fromMs, untilMs)
        expect(Object.keys(counted).map(Number)).toEqual(Array.from({ length: 50 }, (_, place) => place + 10))
        expect(yield* createdIn(process, "hour")).toEqual({ 0: 60, 60: 40 })
        yield* process.stop()
      }),
    ))

  test("is removed after the retention", () =>
    run(
      Effect.gen(function* () {
        const documents = documentsIn(new MemoryDocuments())
        const process = yield* Process.start(documents)
        process.create(1)
        yield* TestClock.adjust(retentionMs)
        process.create(1)
        yield* TestClock.adjust(2 * minuteMs)
        process.create(1)
        yield* TestClock.adjust(2 * hourMs)
        const left = yield* documents.list("activity", { exclusiveAfterId: "", limit: 100 })
        expect(left.filter(({ id }) => id.startsWith("m"))).toHaveLength(2)
        expect(yield* createdIn(process, "minute")).toEqual({ 1440: 1, 1442: 1 })
        yield* process.stop()
      }),
    ))

  test("waits while the store fails, and nothing is counted twice", () =>
    run(
      Effect.gen(function* () {
        const real = documentsIn(new MemoryDocuments())
        let writes = 0
        const documents: Documents["Service"] = {
          ...real,
          // Writes of the minute and of the hour happen, but their results are unknown.
          put: (asked) =>
            Effect.flatMap(real.put(asked), (stored) =>
              [0, 2, 4].includes(writes++)
                ? Effect.fail(new DocumentsError({ message: "no answer", isFatal: false }))
                : Effect.succeed(stored),
            ),
        }
        const process = yield* Process.start(documents)
        process.create(5)
        yield* TestClock.adjust(5 * minuteMs)
        expect(process.counter.unstored()).toEqual([])
        expect(yield* createdIn(process, "minute")).toEqual({ 0: 5 })
        expect(yield* createdIn(process, "hour")).toEqual({ 0: 5 })
        yield* process.stop()
      }),
    ))
})
