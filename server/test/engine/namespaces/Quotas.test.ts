import { describe, expect, test } from "bun:test"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { PendingEstimate } from "../../../src/engine/namespaces/PendingEstimate.ts"
import { Quotas } from "../../../src/engine/namespaces/Quotas.ts"
import { sampleTimer } from "../../../testkit/timers.ts"

describe("a full namespace", () => {
  test("keeps the place of a timer that an unanswered create may arm again", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const directory = {
          of: () => ({ settings: { maxPending: 1 }, isPaused: false, pauses: [], secrets: [] }),
          onChange: () => {},
        }
        let pending = 1
        const quotas = new Quotas({
          directory,
          store: {
            count: () => Effect.sync(() => ({ count: pending, capped: false })),
            find: ({ timerId }) =>
              Effect.sync(() => ({
                pending: timerId === "here" ? sampleTimer({ timerId }) : undefined,
                last: undefined,
              })),
          },
          clock: yield* Clock.clockWith(Effect.succeed),
          nodes: () => 1,
        })
        const admit = (timerId: string) =>
          Effect.map(quotas.admit([{ namespace: "shop", timerId }]), ([admission]) => admission)
        const again = yield* admit("here")
        if (!(again instanceof PendingEstimate)) throw new Error("a replacement was refused")
        // The timer is delivered before the create is written, and a count sees that.
        pending = 0
        yield* TestClock.adjust(1_000)
        expect(yield* admit("other")).toMatchObject({ quota: "maxPending" })
        again.noteAnswer(false)
        expect(yield* admit("other")).toBe(again)
      }).pipe(Effect.provide(TestClock.layer())),
    ))
})

describe("the limit of the service for namespaces without one of their own", () => {
  const limit = 10_000_000
  const rigOf = (maxPendingByDefault: number, pending: number) =>
    Effect.gen(function* () {
      const counted: Array<string> = []
      const quotas = new Quotas({
        directory: {
          of: (namespace) => ({
            settings: namespace === "own" ? { maxPending: 5 } : {},
            isPaused: false,
            pauses: [],
            secrets: [],
          }),
          onChange: () => {},
        },
        store: {
          count: ({ namespace }) =>
            Effect.sync(() => {
              counted.push(String(namespace))
              return { count: namespace === "large" ? pending : 0, capped: false }
            }),
          find: () => Effect.succeed({ pending: undefined, last: undefined }),
        },
        clock: yield* Clock.clockWith(Effect.succeed),
        nodes: () => 1,
        maxPendingByDefault,
      })
      return { quotas, counted }
    })
  const run = <A>(effect: Effect.Effect<A>) =>
    Effect.runPromise(effect.pipe(Effect.provide(TestClock.layer())))

  test("costs nothing while the whole store holds less than half of it", () =>
    run(
      Effect.gen(function* () {
        const { quotas, counted } = yield* rigOf(limit, 0)
        quotas.notePendingInStore(limit / 2 - 1)
        expect([quotas.covers("large"), quotas.covers("own")]).toEqual([false, true])
        quotas.notePendingInStore(limit / 2)
        expect(quotas.covers("large")).toBe(true)
        expect(counted).toEqual([])
      }),
    ))

  test("refuses the creates of a full namespace, and no others", () =>
    run(
      Effect.gen(function* () {
        const { quotas, counted } = yield* rigOf(limit, limit)
        quotas.notePendingInStore(limit)
        // Nobody waits for the count, so the first creates pass.
        yield* quotas.admit([{ namespace: "large" }, { namespace: "small" }])
        yield* Effect.repeat(Effect.yieldNow, { times: 20 })
        expect(counted).toEqual(["large", "small"])
        const [large, small] = yield* quotas.admit([{ namespace: "large" }, { namespace: "small" }])
        expect(large).toMatchObject({ quota: "maxPending", limit })
        expect(small).toBeInstanceOf(PendingEstimate)
      }),
    ))

  test("always applies if it is small, and a namespace's own limit comes first", () =>
    run(
      Effect.gen(function* () {
        const { quotas } = yield* rigOf(3, 0)
        expect(quotas.covers("large")).toBe(true)
        const results = yield* quotas.admit(Array.from({ length: 4 }, () => ({ namespace: "small" })))
        expect(results.map((result) => result instanceof PendingEstimate)).toEqual([true, true, true, false])
        const own = yield* quotas.admit(Array.from({ length: 6 }, () => ({ namespace: "own" })))
        expect(own.map((result) => result instanceof PendingEstimate)).toEqual([
          true,
          true,
          true,
          true,
          true,
          false,
        ])
      }),
    ))

  test("that is small refuses no create too early: a count is over before a create that it might see", () =>
    run(
      Effect.gen(function* () {
        let written = 0
        const quotas = new Quotas({
          directory: {
            of: () => ({ settings: {}, isPaused: false, pauses: [], secrets: [] }),
            onChange: () => {},
          },
          store: {
            // The count takes a while, and sees what was written until its end.
            count: () =>
              Effect.map(Effect.repeat(Effect.yieldNow, { times: 20 }), () => ({
                count: written,
                capped: false,
              })),
            find: () => Effect.succeed({ pending: undefined, last: undefined }),
          },
          clock: yield* Clock.clockWith(Effect.succeed),
          nodes: () => 1,
          maxPendingByDefault: 2,
        })
        const turns = (times: number) => Effect.repeat(Effect.yieldNow, { times })
        const create = Effect.gen(function* () {
          const [admission] = yield* quotas.admit([{ namespace: "shop" }])
          if (!(admission instanceof PendingEstimate)) return false
          yield* turns(5)
          written++
          yield* turns(100)
          admission.noteAnswer(true)
          return true
        })
        const results: Array<boolean> = []
        for (let index = 0; index < 3; index++) results.push(yield* create)
        expect(results).toEqual([true, true, false])
      }),
    ))

  test("is decided by the tally of the store", () =>
    run(
      Effect.gen(function* () {
        const { quotas } = yield* rigOf(limit, 0)
        const empty = { rearmed: 0, replayed: 0, cancelled: 0, replaced: 0, dead: 0, discarded: 0 }
        let delivered = 0
        const tally = Effect.sync(() => ({ ...empty, created: limit, delivered }))
        yield* Effect.forkChild(quotas.watchStore({ tally }), { startImmediately: true })
        expect(quotas.covers("any")).toBe(true)
        delivered = limit
        yield* TestClock.adjust(10_000)
        expect(quotas.covers("any")).toBe(false)
      }),
    ))
})
