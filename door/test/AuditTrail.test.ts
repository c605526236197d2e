// The audit trail over documents in memory: order, pages, filters, limits, and what happens if the store fails.
import { describe, expect, test } from "bun:test"
import { pageBytesMax } from "@punctual/api/Limits"
import { Documents, DocumentsError } from "@punctual/documents/Documents"
import { documentsIn, MemoryDocuments } from "@punctual/documents/memory/MemoryDocuments"
import { Effect, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { type AuditEntry, type AuditQuery, AuditTrail, type AuditTrailOptions } from "../src/AuditTrail.ts"

const start = Date.parse("2030-01-01T00:00:00Z")
const dayMs = 86_400_000
const newest = { exclusiveAfterId: "", limit: 100 }

const entry = (at: number, more: Partial<AuditEntry> = {}): AuditEntry => ({
  at,
  action: "service.pause",
  outcome: "done",
  caller: "ops",
  ...more,
})

interface Rig {
  readonly memory?: MemoryDocuments
  readonly documents?: Documents["Service"]
  readonly options?: Partial<AuditTrailOptions>
}

const withTrail = (
  use: (trail: AuditTrail["Service"]) => Effect.Effect<void, unknown>,
  { memory = new MemoryDocuments(), documents = documentsIn(memory), options }: Rig = {},
): Promise<void> =>
  Effect.flatMap(AuditTrail, use).pipe(
    Effect.provide(AuditTrail.layer({ now: () => start, retentionMs: 90 * dayMs, ...options })),
    Effect.provide(Layer.succeed(Documents, documents)),
    Effect.provide(TestClock.layer()),
    Effect.scoped,
    Effect.runPromise,
  )

const timesOf = (trail: AuditTrail["Service"], query: Partial<AuditQuery> = {}) =>
  Effect.map(trail.list({ ...newest, ...query }), ({ records }) => records.map(({ at }) => at - start))

test("a page ends when it has enough bytes, and the next one continues", () =>
  withTrail((trail) =>
    Effect.gen(function* () {
      const about = { note: "x".repeat(4_000) }
      for (let at = 0; at < 600; at++) yield* trail.record(entry(start + at, { about }))
      const first = yield* trail.list({ ...newest, limit: 1_000 })
      const bytes = JSON.stringify(first.records).length
      expect(bytes).toBeGreaterThan(pageBytesMax)
      expect(bytes).toBeLessThan(pageBytesMax + 5_000)
      const exclusiveAfterId = first.nextAfterId ?? "none"
      const second = yield* trail.list({ ...newest, exclusiveAfterId, limit: 300 })
      expect(second.records[0]?.at).toBe((first.records.at(-1)?.at ?? 0) - 1)
    }),
  ))

test("records are read back as they were written, newest first, also within a millisecond", () =>
  withTrail((trail) =>
    Effect.gen(function* () {
      const whole = {
        keyId: "k",
        address: "10.0.0.1",
        requestId: "r-1",
        about: { namespace: "billing" },
        before: { maxPending: 1 },
        after: { maxPending: 2, odd: [null, "\u00e9"] },
        count: 3,
      }
      yield* trail.record(entry(start, whole))
      for (const caller of ["b", "c"]) yield* trail.record(entry(start, { caller }))
      yield* trail.record(entry(start - 1, { caller: "older" }))
      const { records } = yield* trail.list(newest)
      expect(records.map(({ caller }) => caller)).toEqual(["c", "b", "ops", "older"])
      expect(records[2]).toEqual({ id: expect.any(String), ...entry(start, whole) })
    }),
  ))

test("a list has the records from since on, and before until", () =>
  withTrail((trail) =>
    Effect.gen(function* () {
      for (const at of [0, 1, 2, 3, 4]) yield* trail.record(entry(start + at))
      expect(yield* timesOf(trail, { since: start + 1, until: start + 4 })).toEqual([3, 2, 1])
      expect(yield* timesOf(trail, { since: start + 4 })).toEqual([4])
      expect(yield* timesOf(trail, { until: start + 1 })).toEqual([0])
      expect(yield* timesOf(trail, { since: start + 2, until: start + 2 })).toEqual([])
    }),
  ))

test("a list has the records of a call, of a group of calls, of a key id or of a label", () =>
  withTrail((trail) =>
    Effect.gen(function* () {
      yield* trail.record(entry(start, { action: "service.pause" }))
      yield* trail.record(entry(start + 1, { action: "service.pauseAll", keyId: "k1" }))
      yield* trail.record(entry(start + 2, { action: "serviceless.pause", caller: "k1" }))
      expect(yield* timesOf(trail, { action: "service.pause" })).toEqual([0])
      expect(yield* timesOf(trail, { action: "service" })).toEqual([1, 0])
      expect(yield* timesOf(trail, { key: "k1" })).toEqual([2, 1])
    }),
  ))

test("pages follow each other without gaps and repeats, and a filter examines a limited number of records", () =>
  withTrail((trail) =>
    Effect.gen(function* () {
      const total = 2_450
      for (let at = 0; at < total; at++)
        yield* trail.record(entry(start + at, { caller: at === 7 ? "rare" : "ops" }))
      const walk = (query: Partial<AuditQuery>) =>
        Effect.gen(function* () {
          const sizes: Array<number> = []
          const seen: Array<number> = []
          let exclusiveAfterId: string | undefined = ""
          while (exclusiveAfterId !== undefined) {
            const page: Effect.Success<ReturnType<typeof trail.list>> = yield* trail.list({
              ...newest,
              ...query,
              exclusiveAfterId,
            })
            sizes.push(page.records.length)
            seen.push(...page.records.map(({ at }) => at - start))
            exclusiveAfterId = page.nextAfterId
          }
          return { sizes, seen }
        })
      const all = yield* walk({ limit: 1_000 })
      expect(all.sizes).toEqual([1_000, 1_000, 450])
      expect(all.seen).toEqual(Array.from({ length: total }, (_, index) => total - 1 - index))
      expect(yield* walk({ key: "rare" })).toEqual({ sizes: [0, 1], seen: [7] })
    }),
  ))

test("a record stays small: long details are cut", () =>
  withTrail((trail) =>
    Effect.gen(function* () {
      const long = "x".repeat(10_000)
      const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`${index}${long}`, long]))
      yield* trail.record(
        entry(start, { caller: long, about: { long }, before: many, after: { few: "whole", list: [long] } }),
      )
      const { records } = yield* trail.list(newest)
      expect(JSON.stringify(records).length).toBeLessThan(16_384)
      expect(records[0]?.about).toEqual({ long: expect.stringMatching(/^"x{499}…$/) })
      expect(records[0]?.after).toMatchObject({ few: "whole" })
    }),
  ))

test("a damaged record hides no other, and is counted", async () => {
  const memory = new MemoryDocuments()
  await withTrail(
    (trail) =>
      Effect.gen(function* () {
        for (const at of [0, 1, 2]) yield* trail.record(entry(start + at))
        const [, middle] = (yield* trail.list(newest)).records
        memory.damage("audit", middle?.id ?? "", "{")
        expect(yield* trail.list(newest)).toMatchObject({ records: [{}, {}], unreadable: 1 })
      }),
    { memory },
  )
})

describe("if the store fails", () => {
  const logged = (use: Effect.Effect<void, unknown>) => {
    const lines: Array<string> = []
    const logger = Logger.map(Logger.formatJson, (line) => void lines.push(line))
    return Effect.as(Effect.provide(use, Logger.layer([logger])), lines)
  }

  test("for a moment, the record is written once, by a later try", async () => {
    const memory = new MemoryDocuments()
    const real = documentsIn(memory)
    let tries = 0
    const failing = new DocumentsError({ message: "busy", isFatal: false })
    // The second try is stored, but its answer is lost.
    const documents: Documents["Service"] = {
      ...real,
      put: (asked) =>
        Effect.suspend(() => {
          tries++
          if (tries === 1) return Effect.fail(failing)
          return tries === 2 ? Effect.andThen(real.put(asked), Effect.fail(failing)) : real.put(asked)
        }),
    }
    await withTrail(
      (trail) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.forkChild(trail.record(entry(start)))
          yield* TestClock.adjust(1_000)
          yield* Fiber.join(fiber)
          expect([tries, yield* timesOf(trail)]).toEqual([3, [0]])
        }),
      { documents },
    )
  })

  test("for good, the whole record is logged as an error, and the caller is answered within seconds", async () => {
    for (const [put, isTimed] of [
      [() => Effect.fail(new DocumentsError({ message: "broken", isFatal: true })), false],
      [() => Effect.never, true],
    ] as const) {
      const documents = { ...documentsIn(new MemoryDocuments()), put }
      await withTrail(
        (trail) =>
          Effect.gen(function* () {
            const told = logged(trail.record(entry(start, { about: { namespace: "billing" } })))
            const fiber = yield* Effect.forkChild(told)
            if (isTimed) yield* TestClock.adjust(5_000)
            const [line = "", ...others] = yield* Fiber.join(fiber)
            expect(others).toEqual([])
            const { level, message, annotations } = JSON.parse(line)
            expect([level, message]).toEqual(["ERROR", expect.stringContaining("could not be stored")])
            expect(JSON.parse(annotations.record)).toMatchObject({
              at: "2030-01-01T00:00:00.000Z",
              action: "service.pause",
              caller: "ops",
              about: { namespace: "billing" },
            })
          }),
        { documents },
      )
    }
  })
})

test("a list that examines many records lets other work run in between", () =>
  withTrail((trail) =>
    Effect.gen(function* () {
      for (let at = 0; at < 1_000; at++) yield* trail.record(entry(start + at))
      let turns = 0
      const other = yield* Effect.forkChild(
        Effect.gen(function* () {
          for (; ; turns++) yield* Effect.yieldNow
        }),
      )
      yield* Effect.yieldNow
      const before = turns
      expect((yield* trail.list({ ...newest, action: "keys" })).records).toEqual([])
      expect(turns - before).toBeGreaterThanOrEqual(9)
      yield* Fiber.interrupt(other)
    }),
  ))
