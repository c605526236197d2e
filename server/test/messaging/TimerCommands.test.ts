import { describe, expect, test } from "bun:test"
import { defaultLimits } from "@punctual/api/Limits"
import { defaultRetryPolicy } from "@punctual/api/RetryPolicy"
import { Bus } from "@punctual/bus/Bus"
import type { Envelope } from "@punctual/bus/Envelope"
import { outgoingEnvelope } from "@punctual/bus/Envelope"
import { LocalBus } from "@punctual/bus/local/LocalBus"
import { UndeliverableMessages } from "@punctual/bus/UndeliverableMessages"
import { Context, Effect, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import {
  NoOwner,
  type RefusedWrite,
  TimerUnstorable,
  TooManyWrites,
} from "../../src/engine/front/RefusedWrite.ts"
import { Scheduler } from "../../src/engine/front/Scheduler.ts"
import type { ScheduleCommand, UnscheduleCommand } from "../../src/engine/front/scheduleItem.ts"
import { NamespaceDirectory } from "../../src/engine/namespaces/NamespaceDirectory.ts"
import { QuotaUsedUp } from "../../src/engine/namespaces/Quotas.ts"
import { TimerCommands } from "../../src/messaging/TimerCommands.ts"
import { timerRouting, timerTopics } from "../../src/messaging/timerRouting.ts"
import { WallClock } from "../../src/ports/WallClock.ts"
import { MemoryStore } from "../../src/stores/memory/MemoryStore.ts"

const topics = timerTopics("shared")
const nowMs = 1_800_000_000_000
const hourMs = 3_600_000
const dueAt = new Date(nowMs + hourMs).toISOString()

let made = 0

const envelope = (overrides: Partial<Record<keyof Envelope, unknown>> = {}) =>
  outgoingEnvelope({
    id: `01890a5d-ac96-774b-bcce-${String(made++).padStart(12, "0")}`,
    type: "ScheduleTimer",
    tenantId: "orders",
    aggregateId: "call-1",
    timestampMs: nowMs - 5,
    correlationId: "flow-1",
    payload: { tenantId: "orders", serviceCallId: "call-1", dueAt },
    ...overrides,
  } as unknown as Envelope)

interface Rig {
  readonly bus: Bus["Service"]
  readonly kept: UndeliverableMessages["Service"]
  readonly commands: TimerCommands["Service"]
  readonly directory: NamespaceDirectory["Service"]
  /** The commands that the scheduler got. */
  readonly asked: Array<ScheduleCommand>
  readonly cancelled: Array<UnscheduleCommand>
  /** The scheduler's answer from now on. Undefined means ignored. */
  answer: Effect.Effect<never, RefusedWrite> | undefined
}

const withCommands = (body: (rig: Rig) => Effect.Effect<void, unknown>): Promise<void> =>
  Effect.gen(function* () {
    yield* TestClock.setTime(nowMs)
    const rig: { -readonly [key in keyof Rig]?: Rig[key] } & Pick<Rig, "asked" | "cancelled"> = {
      asked: [],
      cancelled: [],
    }
    const scheduler = {
      unschedule: (command: UnscheduleCommand) =>
        Effect.suspend(() => {
          rig.cancelled.push(command)
          return rig.answer ?? Effect.succeed({ result: "cancelled" } as const)
        }),
      schedule: (command: ScheduleCommand) =>
        Effect.suspend(() => {
          rig.asked.push(command)
          return rig.answer ?? Effect.succeed({ result: "ignored", because: "finished" } as const)
        }),
    }
    const layer = TimerCommands.layer({
      topic: topics.commands,
      limits: { ...defaultLimits, aheadMs: 10 * hourMs, payloadBytes: 100 },
    }).pipe(
      Layer.provideMerge(LocalBus.layer(timerRouting(topics))),
      Layer.provide(WallClock.fromClock),
      Layer.provideMerge(NamespaceDirectory.layer()),
      Layer.provide(MemoryStore.layer({ shards: 1 })),
      // The test uses only these two methods. The engine behind them has its own tests.
      Layer.provide(Layer.succeed(Scheduler, scheduler as unknown as Scheduler["Service"])),
    )
    const services = yield* Layer.buildWithScope(layer, yield* Scope.Scope)
    yield* body(
      Object.assign(rig, {
        bus: Context.get(services, Bus),
        kept: Context.get(services, UndeliverableMessages),
        commands: Context.get(services, TimerCommands),
        directory: Context.get(services, NamespaceDirectory),
        answer: undefined,
      }),
    )
  }).pipe(Effect.scoped, Effect.provide(TestClock.layer()), Effect.runPromise)

const undeliverable = (kept: UndeliverableMessages["Service"]) =>
  Effect.map(kept.list("orders", { limit: 10 }), ({ messages }) =>
    messages.map(({ record }) => `${record.reason}: ${record.lastFailure.error}`),
  )

describe("a ScheduleTimer", () => {
  test("asks the scheduler in the product's words, with the sender's time and the metadata of the work", () =>
    withCommands(({ bus, asked }) =>
      Effect.gen(function* () {
        yield* bus.publish([envelope()])
        expect(asked).toEqual([
          {
            namespace: "orders",
            timerId: "call-1",
            executeAt: nowMs + hourMs,
            askedAt: nowMs - 5,
            correlationId: "flow-1",
            spec: expect.objectContaining({ target: { type: "event" } }),
          },
        ])
      }),
    ))

  test("without a correlation id gets one, and a due time before the epoch becomes the epoch", () =>
    withCommands(({ bus, asked }) =>
      Effect.gen(function* () {
        const payload = { tenantId: "orders", serviceCallId: "call-1", dueAt: "1960-01-01T00:00:00Z" }
        yield* bus.publish([envelope({ correlationId: undefined, payload })])
        expect(asked[0]).not.toHaveProperty("correlationId")
        expect(asked[0]?.executeAt).toBe(0)
      }),
    ))

  test("makes a timer with its namespace's own retry policy, if there is one", () =>
    withCommands(({ bus, asked, directory }) =>
      Effect.gen(function* () {
        const retryPolicy = { ...defaultRetryPolicy, maxAttempts: 2, maxDurationMs: 7_000 }
        yield* bus.publish([envelope()])
        yield* directory.change("orders", nowMs, (settings) => Effect.succeed({ ...settings, retryPolicy }))
        yield* bus.publish([envelope()])
        expect(asked.map(({ spec }) => spec.retryPolicy)).toEqual([defaultRetryPolicy, retryPolicy])
      }),
    ))

  test("that no retry can fix is undeliverable at once, and reaches no scheduler", () =>
    withCommands(({ bus, kept, asked }) =>
      Effect.gen(function* () {
        const sound = { tenantId: "orders", serviceCallId: "call-1", dueAt }
        const tooFar = new Date(nowMs + 10 * hourMs + 1).toISOString()
        yield* bus.publish([
          envelope({ payload: { ...sound, dueAt: "tomorrow" } }),
          envelope({ payload: { ...sound, tenantId: "billing" } }),
          envelope({ payload: { ...sound, serviceCallId: "call-2" } }),
          envelope({ payload: { ...sound, dueAt: tooFar } }),
        ])
        expect(asked).toEqual([])
        expect(yield* undeliverable(kept)).toEqual([
          expect.stringContaining("refused: /dueAt must be an instant"),
          "refused: /tenantId differs from that of the envelope",
          "refused: /serviceCallId differs from the envelope's aggregateId",
          "refused: dueAt must be at most 10h ahead (the service's setting TIMER_LIMIT_AHEAD)",
        ])
      }),
    ))

  test("that the store can never hold is undeliverable", () =>
    withCommands((rig) =>
      Effect.gen(function* () {
        rig.answer = Effect.fail(new TimerUnstorable({ reason: "too large" }))
        yield* rig.bus.publish([envelope()])
        expect(yield* undeliverable(rig.kept)).toEqual([
          "refused: the store cannot hold this timer: too large",
        ])
      }),
    ))

  test("waits for a full queue, a shard without an owner and a quota, and that uses no delivery", () =>
    withCommands((rig) =>
      Effect.gen(function* () {
        for (const refusal of [
          new TooManyWrites({ retryAfterMs: 1_000 }),
          new NoOwner({ message: "not here", retryAfterMs: 1_000 }),
          new QuotaUsedUp({ quota: "maxPending", limit: 7, retryAfterMs: 1_000 }),
        ]) {
          rig.answer = Effect.fail(refusal)
          const publishing = yield* Effect.forkChild(rig.bus.publish([envelope()]))
          // Much longer than the deliveries of a message last.
          for (let waited = 0; waited < 20; waited++) yield* TestClock.adjust(5_000)
          expect(publishing.pollUnsafe()).toBeUndefined()
          rig.answer = undefined
          yield* TestClock.adjust(1_000)
          yield* Effect.yieldNow
          expect(publishing.pollUnsafe()).toBeDefined()
        }
        expect(yield* undeliverable(rig.kept)).toEqual([])
        expect(yield* rig.commands.metrics).not.toContain("timer_bus_redelivered_total{")
      }),
    ))

  test("of a tenant that has used up a quota waits, and neither other tenants nor cancels of this tenant wait", () =>
    withCommands((rig) =>
      Effect.gen(function* () {
        rig.answer = Effect.fail(new QuotaUsedUp({ quota: "maxPending", limit: 7, retryAfterMs: 1_000 }))
        const waiting = yield* Effect.forkChild(rig.bus.publish([envelope()]))
        yield* TestClock.adjust(500)
        rig.answer = undefined
        const payload = { tenantId: "others", serviceCallId: "call-1", dueAt }
        const cancel = { tenantId: "orders", serviceCallId: "call-1" }
        yield* rig.bus.publish([
          envelope({ tenantId: "others", payload }),
          envelope({ type: "CancelTimer", payload: cancel }),
        ])
        expect(rig.asked.map(({ namespace }) => namespace)).toEqual(["orders", "others"])
        expect(rig.cancelled).toHaveLength(1)
        expect(waiting.pollUnsafe()).toBeUndefined()
      }),
    ))

  test("with an invisible character in an id or its correlation id is undeliverable, and a cancel is not", () =>
    withCommands(({ bus, kept, asked, cancelled }) =>
      Effect.gen(function* () {
        const serviceCallId = "call\u202e1"
        const named = { aggregateId: serviceCallId }
        yield* bus.publish([
          envelope({ ...named, payload: { tenantId: "orders", serviceCallId, dueAt } }),
          envelope({ correlationId: "flow\u200b" }),
          envelope({ ...named, type: "CancelTimer", payload: { tenantId: "orders", serviceCallId } }),
        ])
        expect(asked).toEqual([])
        expect(cancelled).toMatchObject([{ timerId: serviceCallId }])
        expect(yield* undeliverable(kept)).toEqual([
          expect.stringContaining(
            "/serviceCallId must not contain control, invisible or formatting characters: remove U+202E",
          ),
          expect.stringContaining(
            "the envelope's correlationId must not contain control, invisible or formatting characters: remove U+200B",
          ),
        ])
      }),
    ))

  test("is counted by tenant; other types are not, and only unknown types are called unknown", () =>
    withCommands(({ bus, commands }) =>
      Effect.gen(function* () {
        yield* bus.publish([envelope(), envelope(), envelope({ payload: {} })])
        yield* Effect.yieldNow
        const text = yield* commands.metrics
        expect(text).toContain('timer_bus_received_total{tenant="orders"} 3\n')
        expect(text).toContain('timer_bus_processed_total{tenant="orders"} 2\n')
        expect(text).toContain('timer_bus_undeliverable_total{tenant="orders"} 1\n')
        expect(text).toContain("timer_bus_unknown_types_total 0\n")
        expect(text).toContain("timer_bus_connected 1\n")
        yield* TestClock.adjust(90_000)
        expect(yield* commands.metrics).toContain("timer_bus_oldest_undeliverable_age_seconds 90\n")
      }),
    ))

  test("is not accepted once the service stops", () =>
    withCommands(({ bus, commands, asked }) =>
      Effect.gen(function* () {
        yield* commands.stop
        const refused = yield* Effect.flip(bus.publish([envelope()]))
        expect(refused._tag).toBe("PublishError")
        expect(asked).toEqual([])
      }),
    ))
})

describe("a ScheduleTimer with more than a due time", () => {
  const sound = { tenantId: "orders", serviceCallId: "call-1", dueAt }

  test("has its payload unchanged, and its retry policy completed from the namespace's", () =>
    withCommands(({ bus, asked, directory }) =>
      Effect.gen(function* () {
        const retryPolicy = { ...defaultRetryPolicy, jitter: 0.7 }
        yield* directory.change("orders", nowMs, (settings) => Effect.succeed({ ...settings, retryPolicy }))
        const { payload: _, ...head } = envelope() as unknown as Record<string, unknown>
        const payloadJson = `{"tenantId":"orders","serviceCallId":"call-1","dueAt":"${dueAt}","payload":{ "n":12345678901234567890 },"retryPolicy":{"maxAttempts":2,"later":1},"tags":["a"],"later":true}`
        yield* bus.publish([{ ...head, payloadJson } as never])
        expect(new TextDecoder().decode(asked[0]?.payload)).toBe('{ "n":12345678901234567890 }')
        expect(asked[0]).toMatchObject({
          setsRetryPolicy: true,
          tags: ["a"],
          spec: { target: { type: "event" }, retryPolicy: { ...retryPolicy, maxAttempts: 2 } },
        })
      }),
    ))

  test("may list retry waits and name its trace", () =>
    withCommands(({ bus, asked }) =>
      Effect.gen(function* () {
        const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        const payload = { ...sound, traceparent, retryPolicy: { waits: ["1m", "1h"] } }
        yield* bus.publish([envelope({ payload })])
        expect(asked[0]).toMatchObject({
          setsRetryPolicy: true,
          traceparent,
          spec: { retryPolicy: { maxAttempts: 3, waitsMs: [60_000, hourMs] } },
        })
      }),
    ))

  test("is undeliverable if it takes an id that the service makes itself", () =>
    withCommands(({ bus, kept, asked }) =>
      Effect.gen(function* () {
        const serviceCallId = "_dead.0194fdc2-fa2f-7fb1-8a3c-1b2c3d4e5f60"
        yield* bus.publish([envelope({ aggregateId: serviceCallId, payload: { ...sound, serviceCallId } })])
        expect(asked).toEqual([])
        expect(yield* undeliverable(kept)).toEqual([
          expect.stringContaining("/serviceCallId must not begin with _dead."),
        ])
      }),
    ))

  test("is undeliverable if any of it is wrong, with the name of the field", () =>
    withCommands(({ bus, kept, asked }) =>
      Effect.gen(function* () {
        const wrong = [
          { payload: "x".repeat(101) },
          { retryPolicy: { maxAttempts: 0 } },
          { retryPolicy: { waits: ["1m"], maxAttempts: 2 } },
          { traceparent: "00-x" },
          { tags: ["x".repeat(65)] },
          { tags: Array.from({ length: 11 }, () => "a") },
          { tags: ["a\u0007"] },
          { tags: "a" },
        ]
        for (const more of wrong) yield* bus.publish([envelope({ payload: { ...sound, ...more } })])
        expect(asked).toEqual([])
        expect(yield* undeliverable(kept)).toEqual([
          expect.stringContaining("/payload must be at most 100 bytes"),
          expect.stringContaining("/retryPolicy/maxAttempts must"),
          expect.stringContaining("/retryPolicy/maxAttempts cannot"),
          expect.stringContaining("/traceparent must"),
          ...Array.from({ length: 4 }, () => expect.stringContaining("/tags")),
        ])
      }),
    ))
})

describe("a CancelTimer", () => {
  test("asks the scheduler to cancel the timer, with the sender's time", () =>
    withCommands(({ bus, asked, cancelled }) =>
      Effect.gen(function* () {
        const payload = { tenantId: "orders", serviceCallId: "call-1", later: 1 }
        yield* bus.publish([envelope({ type: "CancelTimer", payload })])
        expect(asked).toEqual([])
        expect(cancelled).toMatchObject([
          { namespace: "orders", timerId: "call-1", askedAt: nowMs - 5, correlationId: "flow-1" },
        ])
      }),
    ))

  test("that names another timer than its envelope is undeliverable", () =>
    withCommands(({ bus, kept, cancelled }) =>
      Effect.gen(function* () {
        for (const payload of [{ tenantId: "orders" }, { tenantId: "orders", serviceCallId: "call-2" }]) {
          yield* bus.publish([envelope({ type: "CancelTimer", payload })])
        }
        expect(cancelled).toEqual([])
        expect(yield* undeliverable(kept)).toEqual([
          "refused: /serviceCallId is required",
          "refused: /serviceCallId differs from the envelope's aggregateId",
        ])
      }),
    ))
})
