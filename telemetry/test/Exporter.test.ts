// The exporter under virtual time, with a collector that the test controls.
import { expect, test } from "bun:test"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { type DropReason, Exporter, type ExporterOptions, type SendResult } from "../src/Exporter.ts"

const taken: SendResult = { kind: "taken", rejected: 0 }
const unreachable: SendResult = { kind: "retry", why: "ECONNREFUSED" }

class Rig {
  readonly sent: Array<number> = []
  readonly dropped: Partial<Record<DropReason, number>> = {}
  exported = 0
  inFlight = 0
  mostInFlight = 0
  /** What the collector answers. */
  answer: Effect.Effect<SendResult> = Effect.succeed(taken)
  readonly exporter: Exporter

  constructor(options: Partial<ExporterOptions> = {}) {
    this.exporter = new Exporter({
      signal: "traces",
      records: 20,
      bytes: 1_000,
      batchRecords: 5,
      batchBytes: 500,
      delayMs: 1_000,
      exportTimeoutMs: 10_000,
      send: (records) =>
        Effect.suspend(() => {
          this.sent.push(records.length)
          this.mostInFlight = Math.max(this.mostInFlight, ++this.inFlight)
          return Effect.ensuring(
            this.answer,
            Effect.sync(() => this.inFlight--),
          )
        }),
      metrics: {
        exported: (count) => {
          this.exported += count
        },
        dropped: (reason, count) => {
          this.dropped[reason] = (this.dropped[reason] ?? 0) + count
        },
      },
      ...options,
    })
  }

  add(count: number, bytes = 10): void {
    for (let at = 0; at < count; at++) this.exporter.add(() => new Uint8Array(bytes))
  }

  get droppedCount(): number {
    return Object.values(this.dropped).reduce((sum, count) => sum + count, 0)
  }
}

const law = (
  name: string,
  rig: () => Rig,
  body: (rig: Rig, running: Fiber.Fiber<void>) => Effect.Effect<void>,
): void => {
  test(name, () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const made = rig()
        const running = yield* Effect.forkChild(made.exporter.run)
        yield* Effect.yieldNow
        yield* body(made, running)
      }).pipe(Effect.provide(TestClock.layer())),
    ),
  )
}

const rig =
  (options: Partial<ExporterOptions> = {}) =>
  () =>
    new Rig(options)

law("records wait for others until the delay is over, and a full batch goes at once", rig(), (rig) =>
  Effect.gen(function* () {
    rig.add(2)
    yield* TestClock.adjust(999)
    expect(rig.sent).toEqual([])
    yield* TestClock.adjust(1)
    expect(rig.sent).toEqual([2])
    rig.add(5)
    yield* TestClock.adjust(0)
    expect(rig.sent).toEqual([2, 5])
    expect(rig.exported).toBe(7)
  }),
)

law("a batch has at most its bytes", rig(), (rig) =>
  Effect.gen(function* () {
    rig.add(4, 200)
    yield* TestClock.adjust(3_000)
    expect(rig.sent).toEqual([2, 2])
  }),
)

law(
  "while a collector hangs, one request is in flight, and the queue stays within its limits",
  rig(),
  (rig) =>
    Effect.gen(function* () {
      rig.answer = Effect.never
      for (let turn = 0; turn < 50; turn++) {
        rig.add(100)
        yield* TestClock.adjust(1_000)
      }
      expect(rig.mostInFlight).toBe(1)
      expect(rig.sent).toHaveLength(1)
      expect(rig.exporter.queue.size).toBe(20)
      expect(rig.exporter.queue.bytes).toBe(200)
      // Each record is exported, dropped, waiting or in flight.
      expect(rig.droppedCount).toBe(5_000 - 20 - 5)
    }),
)

law("large records are dropped by their bytes, and are not encoded if there is no room", rig(), (rig) =>
  Effect.sync(() => {
    rig.add(2, 600)
    expect(rig.exporter.queue.bytes).toBe(600)
    expect(rig.dropped).toEqual({ queueFull: 1 })
    rig.add(1, 400)
    rig.exporter.add(() => {
      throw new Error("encoded without room")
    })
    expect(rig.dropped).toEqual({ queueFull: 2 })
  }),
)

law("a batch is tried again after growing waits, and arrives when the collector is back", rig(), (rig) =>
  Effect.gen(function* () {
    rig.answer = Effect.succeed(unreachable)
    rig.add(5)
    yield* TestClock.adjust(0)
    expect(rig.sent).toHaveLength(1)
    yield* TestClock.adjust(1_000)
    expect(rig.sent).toHaveLength(2)
    rig.answer = Effect.succeed(taken)
    yield* TestClock.adjust(2_000)
    expect(rig.sent).toHaveLength(3)
    expect(rig.exported).toBe(5)
    expect(rig.droppedCount).toBe(0)
  }),
)

law("a batch that cannot be sent in time is dropped, and requests stay few", rig(), (rig) =>
  Effect.gen(function* () {
    rig.answer = Effect.succeed(unreachable)
    rig.add(5)
    yield* TestClock.adjust(60_000)
    expect(rig.dropped).toEqual({ unreachable: 5 })
    const before = rig.sent.length
    for (let minute = 0; minute < 60; minute++) {
      rig.add(5)
      yield* TestClock.adjust(60_000)
    }
    // At most one request in fifteen seconds: half of the longest wait.
    expect(rig.sent.length - before).toBeLessThanOrEqual(240)
  }),
)

law("the collector's own wait goes before ours", rig(), (rig) =>
  Effect.gen(function* () {
    rig.answer = Effect.succeed({ kind: "retry", why: "it answered 429", afterMs: 7_000 })
    rig.add(5)
    yield* TestClock.adjust(6_999)
    expect(rig.sent).toHaveLength(1)
    yield* TestClock.adjust(1)
    expect(rig.sent).toHaveLength(2)
  }),
)

law("a refused batch is dropped at once, and the next one is sent", rig(), (rig) =>
  Effect.gen(function* () {
    rig.answer = Effect.succeed({ kind: "refused", why: "it answered 400" })
    rig.add(5)
    yield* TestClock.adjust(0)
    expect(rig.dropped).toEqual({ refused: 5 })
    rig.answer = Effect.succeed({ kind: "taken", rejected: 2, why: "too old" })
    rig.add(5)
    yield* TestClock.adjust(0)
    expect(rig.sent).toEqual([5, 5])
    expect(rig.exported).toBe(3)
    expect(rig.dropped).toEqual({ refused: 7 })
  }),
)

law("closing sends everything that waits", rig(), (rig, running) =>
  Effect.gen(function* () {
    rig.add(12)
    const dropped = yield* rig.exporter.close(running, 5_000)
    expect(rig.sent).toEqual([5, 5, 2])
    expect([dropped, rig.exported]).toEqual([0, 12])
  }),
)

law("closing ends in time although the collector hangs, and counts what is lost", rig(), (rig, running) =>
  Effect.gen(function* () {
    rig.answer = Effect.never
    rig.add(12)
    const closing = yield* Effect.forkChild(rig.exporter.close(running, 5_000))
    yield* TestClock.adjust(4_999)
    expect(closing.pollUnsafe()).toBeUndefined()
    yield* TestClock.adjust(1)
    expect(yield* Fiber.join(closing)).toBe(12)
    expect(rig.inFlight).toBe(0)
    expect(rig.dropped).toEqual({ unreachable: 12 })
  }),
)

law("closing does not wait for a collector that is down", rig(), (rig, running) =>
  Effect.gen(function* () {
    rig.answer = Effect.succeed(unreachable)
    rig.add(12)
    expect(yield* rig.exporter.close(running, 5_000)).toBe(12)
    // One try before the end, and one more because the end cuts its wait short.
    expect(rig.sent.length).toBeLessThanOrEqual(2)
  }),
)

law("closing cuts a wait between two tries short", rig(), (rig, running) =>
  Effect.gen(function* () {
    rig.answer = Effect.succeed(unreachable)
    rig.add(5)
    yield* TestClock.adjust(0)
    rig.answer = Effect.succeed(taken)
    expect(yield* rig.exporter.close(running, 5_000)).toBe(0)
    expect(rig.exported).toBe(5)
  }),
)
