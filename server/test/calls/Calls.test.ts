// Calls as data, without HTTP. A call takes a body as the contract's schemas decode it. It returns timers as the store
// keeps them, numbers for instants, and problems as typed failures.
import { describe, expect, test } from "bun:test"
import { contractEndpoints } from "@punctual/api/contractEndpoints"
import { defaultLimits } from "@punctual/api/Limits"
import { Namespace } from "@punctual/api/Namespace"
import { TimerId } from "@punctual/api/TimerId"
import { anonymous } from "@punctual/door/Caller"
import { Effect } from "effect"
import type { Asked, Call } from "../../src/calls/Call.ts"
import { type Calls, callOf, makeCalls } from "../../src/calls/Calls.ts"
import type { Delivery } from "../../src/ports/Deliverer.ts"
import { layerLogs } from "../../src/program/Logs.ts"
import { layerOf, ownsEverything, type ServiceOptions } from "../http/ServiceFixture.ts"

const now = Date.parse("2030-01-01T00:00:00Z")
const hour = 3_600_000
const namespace = Namespace.make("billing")
const key = { namespace, timerId: TimerId.make("a") }
const pending = { ...key, executeAt: now + hour, callbackUrl: "https://example.com/hook" }
const bytes = (text: string) => new TextEncoder().encode(text)

const manual = { clockStartMs: now }

const withCalls = (options: ServiceOptions, use: (calls: Calls) => Effect.Effect<void, unknown>) =>
  Effect.gen(function* () {
    const calls = yield* makeCalls({ limits: defaultLimits })
    yield* ownsEverything
    yield* use(calls)
  }).pipe(
    Effect.scoped,
    Effect.provide(layerOf(options)),
    Effect.provide(layerLogs("none", false)),
    Effect.runPromise,
  )

const ask = <Body, Answer>(call: Call<Body, Answer>, body: Body) => {
  const asked: Asked<Body> = { body, caller: anonymous, receivedAt: now }
  return call(asked)
}

test("every endpoint of the contract has exactly one call, and there are no other calls", () =>
  withCalls(manual, (calls) =>
    Effect.sync(() => {
      const endpoints = contractEndpoints(defaultLimits)
      for (const endpoint of endpoints) expect(callOf(calls, endpoint)).toBeFunction()
      expect(Object.values(calls).flatMap((group) => Object.keys(group)).length).toBe(endpoints.length)
      expect(() => callOf(calls, { group: "timers", name: "constructor" })).toThrow("has no call")
      expect(() => callOf(calls, { group: "nobody", name: "get" })).toThrow("has no call")
    }),
  ))

describe("timer calls", () => {
  test("answer with timers as they are stored, with the bytes of the payload", () =>
    withCalls(manual, ({ timers }) =>
      Effect.gen(function* () {
        const payload = bytes('{ "n":  1.0 }')
        const created = yield* ask(timers.create, { ...pending, payload })
        expect(created).toMatchObject({
          result: "created",
          timer: { state: "pending", timer: { ...key, executeAt: now + hour, createdAt: now, payload } },
        })
        expect(yield* ask(timers.create, { ...pending, payload })).toMatchObject({ result: "unchanged" })
        expect(yield* ask(timers.get, key)).toMatchObject({ timer: { timer: { payload } } })
        const moved = yield* ask(timers.update, { ...key, delay: 2 * hour, payload: null })
        expect(moved).toMatchObject({ timer: { timer: { executeAt: now + 2 * hour } } })
        expect("timer" in moved.timer && moved.timer.timer.payload).toBeUndefined()
        const page = yield* ask(timers.list, { namespace })
        expect(page.timers.map(({ state }) => state)).toEqual(["pending"])
        expect(page).toMatchObject({ includesPayload: false })
        expect(yield* ask(timers.count, { namespace })).toEqual({ count: 1, capped: false })
        const filter = { namespace, from: now + hour, until: now + 5 * hour }
        expect(yield* ask(timers.histogram, { filter, buckets: 2 })).toEqual({
          from: now + hour,
          until: now + 5 * hour,
          counts: [1, 0],
          total: 1,
          estimated: false,
          asOf: now,
        })
        expect(yield* ask(timers.delete, key)).toEqual({ result: "cancelled" })
        expect(yield* ask(timers.lives, key)).toMatchObject({ lives: [{ state: "cancelled", life: key }] })
        expect(yield* ask(timers.get, key)).toMatchObject({ timer: { state: "cancelled", life: key } })
      }),
    ))

  test("fail with the contract's problems", () =>
    withCalls(manual, ({ timers }) =>
      Effect.gen(function* () {
        expect(yield* Effect.flip(ask(timers.get, key))).toMatchObject({ code: "timerNotFound" })
        yield* ask(timers.create, pending)
        const exists = ask(timers.create, { ...pending, executeAt: now, onExisting: "fail" })
        expect(yield* Effect.flip(exists)).toMatchObject({ code: "timerExists" })
        const changed = ask(timers.update, { ...key, delay: 1, ifRevision: 1 })
        expect(yield* Effect.flip(changed)).toMatchObject({ code: "revisionMismatch", currentRevision: now })
        const payload = new Uint8Array(defaultLimits.payloadBytes + 1).fill(0x31)
        expect(yield* Effect.flip(ask(timers.create, { ...pending, payload }))).toMatchObject({
          code: "invalidRequest",
          errors: [{ pointer: "/payload" }],
        })
      }),
    ))

  test("createMany answers an invalid item with its problem and creates the others", () =>
    withCalls(manual, ({ timers }) =>
      Effect.gen(function* () {
        const items = [
          { ...pending, executeAt: "2030-01-01T01:00:00Z", payload: bytes("1.0") },
          { ...pending, timerId: "b", executeAt: "tomorrow" },
          "no timer",
          { ...pending, timerId: "c", executeAt: "2030-01-01T01:00:00Z" },
        ]
        const { results } = yield* ask(timers.createMany, { timers: items })
        expect(results).toMatchObject([
          { result: "created", timerId: "a" },
          { problem: { code: "invalidRequest", errors: [{ pointer: "/timers/1/executeAt" }] } },
          { problem: { code: "invalidRequest", errors: [{ pointer: "/timers/2" }] } },
          { result: "created", timerId: "c" },
        ])
        expect(yield* ask(timers.get, key)).toMatchObject({ timer: { timer: { payload: bytes("1.0") } } })
        expect(yield* ask(timers.deleteMany, { namespace, all: true })).toEqual({
          cancelled: 2,
          inFlight: 0,
        })
      }),
    ))

  test("replay and discard dead letters, and say how many", () =>
    withCalls(
      {
        ...manual,
        deliver: () => Effect.succeed<Delivery>({ kind: "dead", reason: "refused", error: "no" }),
      },
      (calls) =>
        Effect.gen(function* () {
          const { timers, clock } = calls
          yield* ask(timers.create, pending)
          expect(yield* ask(clock.advance, { by: 2 * hour })).toEqual({ now: now + 2 * hour, fired: 1 })
          const dead = { namespace, all: true } as const
          expect(yield* ask(timers.replay, { ...dead, dryRun: true })).toEqual({ replayed: 1, skipped: 0 })
          expect(yield* ask(timers.discard, dead)).toEqual({ discarded: 1 })
          expect(yield* Effect.flip(ask(timers.replay, key))).toMatchObject({ code: "timerNotFound" })
        }),
    ))
})

describe("operator calls", () => {
  test("answer with numbers for instants and durations", () =>
    withCalls(manual, ({ namespaces, service, breakers, cluster }) =>
      Effect.gen(function* () {
        const put = yield* ask(namespaces.put, {
          namespace,
          paused: true,
          retryPolicy: { initialInterval: 7_000 },
        })
        expect(put.settings).toMatchObject({
          paused: true,
          pausedSince: now,
          updatedAt: now,
          retryPolicy: { initialIntervalMs: 7_000 },
        })
        const got = yield* ask(namespaces.get, { namespace })
        expect(got.settings.pending).toEqual({ count: 0, capped: false })
        const { namespaces: listed } = yield* ask(namespaces.list, {})
        expect(listed.map(({ namespace: name }) => name)).toEqual(["billing"])
        expect(yield* ask(service.pause, { reason: "a move" })).toEqual({
          now,
          pause: { since: now, kind: "asked", reason: "a move" },
        })
        expect(yield* ask(service.resume, {})).toEqual({ now })
        expect(yield* ask(service.get, {})).toEqual({ now })
        const { node, ...open } = yield* ask(breakers.list, {})
        expect(open).toEqual({ breakers: [] })
        expect(yield* ask(breakers.reset, { host: "h" })).toEqual({ node, reset: 0 })
        expect((yield* ask(cluster.cluster, {})).shards.map(({ owner }) => owner)).toEqual(
          Array.from({ length: 4 }, () => node),
        )
      }),
    ))

  test("of operators are audited, with numbers for instants", () =>
    withCalls(manual, ({ breakers, audit }) =>
      Effect.gen(function* () {
        const caller = { ...anonymous, name: "ops", keyId: "0123456789", address: "10.0.0.1" }
        yield* breakers.reset({ body: { host: "h" }, caller, receivedAt: now, requestId: "r" })
        const { records } = yield* ask(audit.list, { key: "0123456789" })
        expect(records).toMatchObject([
          {
            at: now,
            action: "breakers.reset",
            outcome: "done",
            caller: "ops",
            keyId: "0123456789",
            address: "10.0.0.1",
            requestId: "r",
            about: { host: "h" },
            count: 0,
          },
        ])
        expect(yield* Effect.flip(ask(audit.list, { cursor: "x" }))).toMatchObject({ code: "invalidRequest" })
      }),
    ))

  test("refuse to move a clock that is not manual", () =>
    withCalls({}, ({ clock }) =>
      Effect.gen(function* () {
        expect(yield* Effect.flip(ask(clock.advance, { by: 1 }))).toMatchObject({ code: "clockNotManual" })
      }),
    ))
})
