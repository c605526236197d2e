// The laws of the TimerStore port about due times that come over a bus. Such a command may come twice, late, or after a
// command that was sent later. It sets the due time only of a timer that has not begun to fire.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { beginning } from "../src/domain/DueOrder.ts"
import type { Timer } from "../src/domain/Timer.ts"
import type { ScheduleAnswer, WriteItem } from "../src/domain/WriteItem.ts"
import { at, lawsOf, owned, type Store, type StoreFixture, timerIn } from "./StoreFixture.ts"
import { isConserved } from "./TimerStoreModel.suite.ts"
import {
  cancelOf,
  changeOf,
  delivered,
  outcomeOf,
  putOf,
  type SampleTimer,
  sampleId,
  sampleNow,
  sampleSpec,
  sampleTimer,
  scheduleOf,
} from "./timers.ts"

const asked = sampleNow + 100

/** A schedule of the same key each time, with another target than a put has. */
const schedule = (given: SampleTimer = {}, rest: Parameters<typeof scheduleOf>[1] = {}) =>
  scheduleOf(
    sampleTimer({
      timerId: "asked",
      createdAt: sampleNow + 50,
      updatedAt: sampleNow + 50,
      askedAt: asked,
      spec: { ...sampleSpec, target: { type: "event" } },
      ...given,
    }),
    rest,
  )

type Because = Extract<ScheduleAnswer, { result: "ignored" }>["because"]

const due = sampleNow + 60_000

export const timerStoreSchedulesSuite = (fixture: StoreFixture): void => {
  describe("schedules", () => {
    setting(fixture)
    ignoring(fixture)
    orderOfSenders(fixture)
    contents(fixture)
    cancelling(fixture)
    durability(fixture)
  })
}

const setting = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)

  law("a schedule of an unknown key creates a timer, and every way of reading shows it", () =>
    Effect.gen(function* () {
      const { store, write, shardOf } = yield* owned
      const item = schedule({ executeAt: due })
      expect(yield* write([item])).toEqual([{ result: "created", timer: item.timer }])
      expect(yield* store.find(item.timer)).toEqual({ pending: item.timer, last: undefined })
      const page = { exclusiveAfter: beginning, inclusiveUntilMs: due, limit: 10 }
      expect((yield* store.due({ shard: shardOf(item.timer), ...page })).timers).toEqual([item.timer])
      const query = { namespace: "shop", state: "pending", reversed: false, includePayload: true } as const
      expect((yield* store.list({ ...query, limit: 10 })).items).toEqual([
        { state: "pending", timer: item.timer },
      ])
      expect(yield* store.tally).toMatchObject({ created: 1, replaced: 0 })
    }),
  )

  law("a schedule arms a pending timer again and keeps its spec, payload and creation time", () =>
    Effect.gen(function* () {
      const { store, write, shardOf } = yield* owned
      const timer = sampleTimer({ timerId: "asked", payload: new Uint8Array([1, 2]), executeAt: due })
      yield* write([putOf(timer)])
      const item = schedule({ executeAt: due + 5, correlationId: "c-2" })
      const moved = {
        ...timer,
        executeAt: due + 5,
        fireAt: due + 5,
        fireId: item.timer.fireId,
        revision: timer.revision + 1,
        updatedAt: item.timer.createdAt,
        askedAt: asked,
        correlationId: "c-2",
      }
      expect(yield* write([item])).toEqual([{ result: "moved", timer: moved }])
      expect((yield* store.find(timer)).pending).toEqual(moved)
      const page = { exclusiveAfter: beginning, inclusiveUntilMs: due + 9, limit: 10 }
      expect((yield* store.due({ shard: shardOf(timer), ...page })).timers).toEqual([moved])
      const tally = yield* store.tally
      expect(tally).toMatchObject({ created: 2, replaced: 1 })
      expect(isConserved(tally, 1)).toBe(true)
    }),
  )

  law("a repeat of a schedule that moved a timer in the millisecond of its creation gets its answer", () =>
    Effect.gen(function* () {
      const { write } = yield* owned
      const timer = sampleTimer({ timerId: "asked", executeAt: due })
      const item = schedule({ executeAt: due + 5, createdAt: timer.createdAt })
      yield* write([putOf(timer)])
      const answers = yield* write([item])
      expect(answers).toMatchObject([{ result: "moved" }])
      expect(yield* write([item])).toEqual(answers)
    }),
  )

  law("a schedule of the current due time arms nothing and stores when it was asked for", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const timer = sampleTimer({ timerId: "asked", payload: new Uint8Array([1]), executeAt: due })
      yield* write([putOf(timer)])
      const answers = yield* write([schedule({ executeAt: due, correlationId: timer.correlationId })])
      expect(answers).toEqual([{ result: "unchanged", timer: { ...timer, askedAt: asked } }])
      expect((yield* store.find(timer)).pending).toEqual({ ...timer, askedAt: asked })
      const late = schedule({ executeAt: due + 5, askedAt: asked - 1 })
      expect(yield* write([late])).toEqual([{ result: "ignored", because: "outdated" }])
      expect(yield* store.tally).toMatchObject({ created: 1, replaced: 0 })
    }),
  )
}

const ignoring = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)
  const timer = sampleTimer({ timerId: "asked", payload: new Uint8Array([1]), executeAt: due })
  const later = schedule({ executeAt: due + 5 })
  const cases: ReadonlyArray<readonly [string, Because, ReadonlyArray<WriteItem>, WriteItem]> = [
    ["whose attempt runs", "inFlight", [], schedule({ executeAt: due + 5 }, { inFlight: timer.fireId })],
    ["between attempts", "retrying", [outcomeOf(timer, { to: "retry", fireAt: due + 99 })], later],
    ["that was delivered", "finished", [outcomeOf(timer, delivered)], later],
    ["that was cancelled", "finished", [cancelOf(timer)], later],
    ["that is dead", "finished", [outcomeOf(timer, { to: "dead", reason: "refused" })], later],
    ["set after the command", "outdated", [], schedule({ executeAt: due + 5, askedAt: sampleNow - 1 })],
  ]
  for (const [title, because, before, item] of cases) {
    law(`a schedule of a timer ${title} is ignored and changes nothing`, () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        yield* write([putOf(timer)])
        yield* write(before)
        const state = { found: yield* store.find(timer), tally: yield* store.tally }
        expect(yield* write([item, item])).toEqual([
          { result: "ignored", because },
          { result: "ignored", because },
        ])
        expect({ found: yield* store.find(timer), tally: yield* store.tally }).toEqual(state)
      }),
    )
  }

  law("a schedule that created a life that has ended creates no new one when it is repeated", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const item = schedule({ executeAt: due })
      yield* write([item, outcomeOf(item.timer, delivered)])
      expect(yield* write([item])).toEqual([{ result: "ignored", because: "finished" }])
      expect((yield* store.find(item.timer)).pending).toBeUndefined()
      expect((yield* store.find(item.timer)).last).not.toHaveProperty("askedAt")
      expect(yield* store.tally).toMatchObject({ created: 1, delivered: 1 })
    }),
  )

  law("a schedule whose arming has ended never reuses its fireId, even if its sender's clock is ahead", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const item = schedule({ executeAt: due, askedAt: due + 1_000_000 })
      const next = putOf(sampleTimer({ timerId: "asked", executeAt: due + 9 }))
      yield* write([item, outcomeOf(item.timer, delivered), next])
      expect(yield* write([item])).toEqual([{ result: "ignored", because: "finished" }])
      expect((yield* store.find(item.timer)).pending?.fireId).toBe(next.timer.fireId)
    }),
  )
}

const orderOfSenders = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)

  law("the command that was sent last wins, whatever the order of arrival", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const sent = [3, 1, 4, 2, 4].map((order) =>
        schedule({ executeAt: due + order, askedAt: asked + order, correlationId: "c-1" }),
      )
      const answers = yield* write(sent)
      expect(answers.map((answer) => ("because" in answer ? answer.because : answer.result))).toEqual([
        "created",
        "outdated",
        "moved",
        "outdated",
        "unchanged",
      ])
      const { pending } = yield* store.find(at(sent, 0).timer)
      expect(pending).toMatchObject({ executeAt: due + 4, askedAt: asked + 4 })
    }),
  )

  law("a replacement, a change and a re-arming clear the asked time of a schedule; a retry keeps it", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const rearmed = { to: "rearmed", executeAt: due + 9, fireId: sampleId(), latenessMs: 0 } as const
      const nexts: ReadonlyArray<readonly [(timer: Timer) => WriteItem, number | undefined]> = [
        [({ timerId }) => putOf(sampleTimer({ timerId, executeAt: due + 5 })), undefined],
        [(timer) => changeOf(timer, { executeAt: due + 5 }), undefined],
        [(timer) => outcomeOf(timer, rearmed), undefined],
        [(timer) => outcomeOf(timer, { to: "retry", fireAt: due + 9 }), asked],
      ]
      for (const [index, [next, askedAt]] of nexts.entries()) {
        const first = schedule({ timerId: `next-${index}`, executeAt: due })
        const answers = yield* write([first, next(first.timer)])
        expect(timerIn(answers[1]).askedAt).toBe(askedAt)
        expect((yield* store.find(first.timer)).pending).toEqual(timerIn(answers[1]))
      }
    }),
  )
}

const contents = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)
  const retryPolicy = { ...sampleSpec.retryPolicy, maxAttempts: 3 }

  law("a schedule sets a payload and a retry policy if it has them; otherwise the timer keeps its own", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const payload = new Uint8Array([1, 2])
      const first = schedule({ executeAt: due, payload })
      yield* write([first])
      yield* write([schedule({ executeAt: due + 1, askedAt: asked + 1 })])
      const kept = (yield* store.find(first.timer)).pending
      expect(kept).toMatchObject({ executeAt: due + 1, payload, spec: first.timer.spec })
      const spec = { ...first.timer.spec, retryPolicy }
      const next = new Uint8Array([3])
      const sets = { setsRetryPolicy: true } as const
      const both = schedule({ executeAt: due + 1, askedAt: asked + 2, payload: next, spec }, sets)
      expect(yield* write([both])).toMatchObject([{ result: "moved" }])
      expect((yield* store.find(first.timer)).pending).toMatchObject({ payload: next, spec })
      const again = schedule({ executeAt: due + 1, askedAt: asked + 3, payload: next, spec }, sets)
      expect(yield* write([again])).toMatchObject([{ result: "unchanged" }])
    }),
  )
}

const cancelling = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)
  /** A cancel that was sent this much later than the other commands. */
  const cancel = (later: number, rest: Parameters<typeof scheduleOf>[1] = {}) =>
    schedule({ askedAt: asked + later, executeAt: asked + later }, { cancels: true, ...rest })
  const ignored = (because: Because): ScheduleAnswer => ({ result: "ignored", because })

  law("a cancel ends a pending timer, and a repeated cancel gets the same answer", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const set = schedule({ executeAt: due, payload: new Uint8Array([1]) })
      const item = cancel(1)
      yield* write([set])
      expect(yield* write([item])).toEqual([{ result: "cancelled" }])
      expect(yield* write([item])).toEqual([{ result: "cancelled" }])
      const { pending, last } = yield* store.find(set.timer)
      expect(pending).toBeUndefined()
      expect(last).toMatchObject({ state: "cancelled", executeAt: due, fireId: set.timer.fireId })
      expect(last).not.toHaveProperty("payload")
      const tally = yield* store.tally
      expect(tally).toMatchObject({ created: 1, cancelled: 1 })
      expect(isConserved(tally, 0)).toBe(true)
      // A command over the bus never arms a finished timer again, even if it was sent much later.
      const later = schedule({ executeAt: due + 9, askedAt: asked + 9 })
      expect(yield* write([later])).toEqual([ignored("finished")])
    }),
  )

  law(
    "a cancel that was sent before the timer was set changes nothing; in the same millisecond it cancels",
    () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const set = schedule({ executeAt: due })
        yield* write([set])
        expect(yield* write([cancel(-1)])).toEqual([ignored("outdated")])
        expect((yield* store.find(set.timer)).pending).toEqual(set.timer)
        expect(yield* write([cancel(0)])).toEqual([{ result: "cancelled" }])
      }),
  )

  law("a cancel does not end a running attempt or a finished life; between attempts it cancels", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const set = schedule({ executeAt: due })
      yield* write([set])
      const running = cancel(1, { inFlight: set.timer.fireId })
      expect(yield* write([running])).toEqual([ignored("inFlight")])
      expect((yield* store.find(set.timer)).pending).toEqual(set.timer)
      const retried = yield* write([outcomeOf(set.timer, { to: "retry", fireAt: due + 9 })])
      expect(retried).toMatchObject([{ result: "settled" }])
      expect(yield* write([cancel(2)])).toEqual([{ result: "cancelled" }])
      const { last } = yield* store.find(set.timer)
      expect(last).toMatchObject({ state: "cancelled", attempts: 1 })
      expect(yield* write([cancel(3)])).toEqual([ignored("finished")])
      expect((yield* store.find(set.timer)).last).toEqual(last)
    }),
  )

  law("a cancel that arrives first holds back the older command that it was sent for, and no later one", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const first = cancel(5)
      expect(yield* write([first])).toEqual([{ result: "cancelled" }])
      expect(yield* write([first])).toEqual([{ result: "cancelled" }])
      expect((yield* store.find(first.timer)).last).toMatchObject({ state: "cancelled", attempts: 0 })
      for (const late of [0, 5]) {
        const older = schedule({ executeAt: due, askedAt: asked + late })
        expect(yield* write([older])).toEqual([ignored("outdated")])
      }
      expect(yield* write([cancel(4)])).toEqual([ignored("finished")])
      // A later cancel holds back more commands.
      expect(yield* write([cancel(7)])).toEqual([{ result: "cancelled" }])
      expect(yield* write([schedule({ executeAt: due, askedAt: asked + 6 })])).toEqual([ignored("outdated")])
      const newer = schedule({ executeAt: due, askedAt: asked + 8 })
      expect(yield* write([newer])).toMatchObject([{ result: "created" }])
      expect((yield* store.find(newer.timer)).pending).toMatchObject({ executeAt: due })
      expect(isConserved(yield* store.tally, 1)).toBe(true)
    }),
  )

  law("a timer does not fire if its cancel was sent last, whatever the order of arrival", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      for (const [index, order] of [
        [0, 1],
        [1, 0],
      ].entries()) {
        const timerId = `order-${index}`
        const items = [
          schedule({ timerId, executeAt: due, askedAt: asked }),
          schedule({ timerId, executeAt: asked + 1, askedAt: asked + 1 }, { cancels: true }),
        ]
        for (const place of order) yield* write([at(items, place)])
        expect((yield* store.find(at(items, 0).timer)).pending).toBeUndefined()
      }
    }),
  )
}

const durability = (fixture: StoreFixture): void => {
  const { reopened } = fixture
  const title =
    "a due time and the time at which it was asked for are still there after the store is opened again"
  if (typeof reopened !== "function") {
    test.skip(`${title} (skipped: ${reopened.skipped})`, () => {})
    return
  }
  test(title, async () => {
    const { first, second, dispose } = reopened({ shards: 4 })
    try {
      const run = <A>(layer: typeof first, body: Effect.Effect<A, unknown, Store>) =>
        Effect.runPromise(body.pipe(Effect.provide(layer), Effect.scoped))
      const item = schedule({ executeAt: due })
      await run(
        first,
        Effect.flatMap(owned, ({ write }) => write([item])),
      )
      await run(
        second,
        Effect.gen(function* () {
          const { store, write } = yield* owned
          expect((yield* store.find(item.timer)).pending).toEqual(item.timer)
          const late = schedule({ executeAt: due + 5, askedAt: asked - 1 })
          expect(yield* write([late])).toEqual([{ result: "ignored", because: "outdated" }])
        }),
      )
    } finally {
      dispose()
    }
  })
}
