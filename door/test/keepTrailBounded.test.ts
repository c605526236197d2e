// The trail stays within its limits: records expire, and the oldest go if there are too many.
import { expect, test } from "bun:test"
import { type Documents, DocumentsError } from "@punctual/documents/Documents"
import { documentsIn, MemoryDocuments } from "@punctual/documents/memory/MemoryDocuments"
import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { AuditIds } from "../src/AuditId.ts"
import { auditKind, keepTrailBounded } from "../src/keepTrailBounded.ts"

const start = Date.parse("2030-01-01T00:00:00Z")
const minuteMs = 60_000

/** Adds records, one for each millisecond up to the time. */
const addTo = (documents: Documents["Service"], lastAt: number, count: number) => {
  const ids = new AuditIds()
  return Effect.forEach(
    Array.from({ length: count }, (_, index) => lastAt - count + 1 + index),
    (at) =>
      documents.put({ kind: auditKind, id: ids.next(at), expectedVersion: 0, value: {}, updatedAt: at }),
    { discard: true },
  )
}

const timesIn = (documents: Documents["Service"]) =>
  Effect.map(documents.list(auditKind, { exclusiveAfterId: "", limit: 1_000 }), (found) =>
    found.map(({ updatedAt }) => updatedAt - start),
  )

const run = (program: Effect.Effect<void, unknown>) =>
  Effect.runPromise(program.pipe(Effect.provide(TestClock.layer()), Effect.provide(Logger.layer([]))))

const bounds = { now: () => start, retentionMs: 1_000, recordsMax: 1_000 }

test("records expire after their retention, and other documents stay", () =>
  run(
    Effect.gen(function* () {
      const documents = documentsIn(new MemoryDocuments())
      yield* addTo(documents, start - 998, 450)
      yield* documents.put({ kind: "settings", id: "a", expectedVersion: 0, value: {}, updatedAt: 0 })
      yield* Effect.forkChild(keepTrailBounded(documents, bounds))
      yield* TestClock.adjust(minuteMs)
      expect(yield* timesIn(documents)).toEqual([-998, -999, -1_000])
      expect(yield* documents.get("settings", "a")).toBeDefined()
    }),
  ))

test("if there are too many, the oldest go, until nine tenths of the limit are left", () =>
  run(
    Effect.gen(function* () {
      const documents = documentsIn(new MemoryDocuments())
      const recordsMax = 500
      yield* addTo(documents, start, recordsMax)
      yield* Effect.forkChild(keepTrailBounded(documents, { ...bounds, recordsMax }))
      yield* TestClock.adjust(minuteMs)
      expect((yield* timesIn(documents)).length).toBe(recordsMax)
      yield* addTo(documents, start + 1, 1)
      yield* TestClock.adjust(2 * minuteMs)
      const left = yield* timesIn(documents)
      expect([left.length, left[0], left.at(-1)]).toEqual([450, 1, 1 - 449])
    }),
  ))

test("several nodes prune at once without harm, and a node that counted removed records removes none too many", () =>
  run(
    Effect.gen(function* () {
      const documents = documentsIn(new MemoryDocuments())
      let nowMs = start
      const shared = { now: () => nowMs, retentionMs: 1_000, recordsMax: 500 }
      for (let node = 0; node < 3; node++) yield* Effect.forkChild(keepTrailBounded(documents, shared))
      for (let round = 0; round < 4; round++) {
        nowMs += 10_000
        yield* addTo(documents, nowMs, 480)
        yield* TestClock.adjust(2 * minuteMs)
        expect((yield* timesIn(documents)).length).toBe(480)
      }
    }),
  ))

test("after a failure of the store, a later round removes what is left", () =>
  run(
    Effect.gen(function* () {
      const real = documentsIn(new MemoryDocuments())
      let isBroken = true
      const failing = new DocumentsError({ message: "broken", isFatal: false })
      const documents: Documents["Service"] = {
        ...real,
        remove: (asked) => (isBroken ? Effect.fail(failing) : real.remove(asked)),
      }
      yield* addTo(documents, start - 5_000, 10)
      yield* Effect.forkChild(keepTrailBounded(documents, bounds))
      yield* TestClock.adjust(minuteMs)
      expect((yield* timesIn(documents)).length).toBe(10)
      isBroken = false
      yield* TestClock.adjust(2 * minuteMs)
      expect(yield* timesIn(documents)).toEqual([])
    }),
  ))
