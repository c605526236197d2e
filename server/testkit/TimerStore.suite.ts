// The laws of the TimerStore port about writing, as one suite that every adapter runs. Repeats, reading and the
// comparison with a model have suites of their own, which run from here.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { beginning } from "../src/domain/DueOrder.ts"
import type { FinishedLife } from "../src/domain/Timer.ts"
import type { WriteItem } from "../src/domain/WriteItem.ts"
import { at, lawsOf, owned, type Store, type StoreFixture, timerIn } from "./StoreFixture.ts"
import { timerStoreDamageSuite } from "./TimerStoreDamage.suite.ts"
import { timerStoreDeadLettersSuite } from "./TimerStoreDeadLetters.suite.ts"
import { timerStoreFieldsSuite } from "./TimerStoreFields.suite.ts"
import { timerStoreFiltersSuite } from "./TimerStoreFilters.suite.ts"
import { timerStoreInsertsSuite } from "./TimerStoreInserts.suite.ts"
import { timerStoreModelSuite } from "./TimerStoreModel.suite.ts"
import { timerStoreReadsSuite } from "./TimerStoreReads.suite.ts"
import { timerStoreRepeatsSuite } from "./TimerStoreRepeats.suite.ts"
import { timerStoreSchedulesSuite } from "./TimerStoreSchedules.suite.ts"
import { timerStoreWordsSuite } from "./TimerStoreWords.suite.ts"
import {
  cancelOf,
  changeOf,
  delivered,
  outcomeOf,
  putOf,
  sampleId,
  sampleNow,
  samplePut,
  sampleTimer,
} from "./timers.ts"

export const timerStoreSuite = (fixture: StoreFixture): void => {
  describe(`TimerStore: ${fixture.name}`, () => {
    describe("fence", () => fenceLaws(fixture))
    timerStoreInsertsSuite(fixture)
    describe("items", () => itemLaws(fixture))
    describe("payloads", () => payloadLaws(fixture))
    describe("durability", () => durabilityLaws(fixture))
    timerStoreFieldsSuite(fixture)
    timerStoreRepeatsSuite(fixture)
    timerStoreSchedulesSuite(fixture)
    timerStoreDeadLettersSuite(fixture)
    timerStoreReadsSuite(fixture)
    timerStoreWordsSuite(fixture)
    timerStoreFiltersSuite(fixture)
    timerStoreDamageSuite(fixture)
    timerStoreModelSuite(fixture)
  })
}

const fenceLaws = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)

  law(
    "a batch under an epoch that is not the shard's changes nothing",
    () =>
      Effect.gen(function* () {
        const { store, leases, epochs, batchOf } = yield* owned
        const before = yield* leases.owners
        yield* leases.claim(at(before, 0), "node-2")
        const put = samplePut()
        const tallyBefore = yield* store.tally
        for (const epoch of [at(epochs, 0), at(epochs, 0) + 2, 0, -1]) {
          const answers = yield* store.write([{ ...batchOf(0, [put]), epoch }])
          expect(answers).toEqual([{ result: "ownershipLost" }])
        }
        expect(yield* store.find(put.timer)).toEqual({ pending: undefined, last: undefined })
        expect(yield* store.tally).toEqual(tallyBefore)
      }),
    1,
  )

  law("each batch of a write succeeds or fails by itself", () =>
    Effect.gen(function* () {
      const { store, epochs, batchOf, putIn } = yield* owned
      const [lost, kept] = [putIn(1), putIn(2)]
      const answers = yield* store.write([
        { ...batchOf(1, [lost]), epoch: at(epochs, 1) - 1 },
        batchOf(2, [kept]),
      ])
      expect(answers.map(({ result }) => result)).toEqual(["ownershipLost", "written"])
      expect((yield* store.find(lost.timer)).pending).toBeUndefined()
      expect((yield* store.find(kept.timer)).pending).toEqual(kept.timer)
    }),
  )

  law("the answer to an empty write is empty, and an empty batch has no answers", () =>
    Effect.gen(function* () {
      const { store, batchOf } = yield* owned
      expect(yield* store.write([])).toEqual([])
      expect(yield* store.write([batchOf(0, [])])).toEqual([{ result: "written", answers: [] }])
    }),
  )
}

const itemLaws = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)

  law("a batch applies two items of the same key in order", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const first = samplePut({ timerId: "twice" })
      const second = samplePut({ timerId: "twice", fireAt: sampleNow + 7 })
      const cancel = cancelOf(first.timer)
      const third = samplePut({ timerId: "twice", fireAt: sampleNow + 8 })
      const answers = yield* write([first, second, cancel, third])
      expect(answers.map(({ result }) => result)).toEqual(["created", "replaced", "cancelled", "created"])
      const { pending, last } = yield* store.find(first.timer)
      expect(pending).toEqual(timerIn(answers[3]))
      expect(last?.fireId).toBe(second.timer.fireId)
      expect(timerIn(answers[3]).revision).toBeGreaterThan(last?.revision ?? Number.NaN)
    }),
  )

  law("an item that is too large to store does not fail the other items", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const items = [samplePut(), samplePut({ payload: new Uint8Array(store.limits.itemBytes) }), samplePut()]
      const answers = yield* write(items)
      expect(answers.map(({ result }) => result)).toEqual(["created", "unstorable", "created"])
      const found = yield* Effect.forEach(items, ({ timer }) => store.find(timer))
      expect(found.map(({ pending }) => pending?.fireId)).toEqual([
        at(items, 0).timer.fireId,
        undefined,
        at(items, 2).timer.fireId,
      ])
    }),
  )

  law(
    "delivered and cancelled lives go to the history, and a dead one goes to the dead letters with its payload",
    () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const payload = new TextEncoder().encode('{"n":1}')
        const [a, b, c] = [samplePut({ payload }), samplePut({ payload }), samplePut({ payload })]
        yield* write([a, b, c])
        yield* write([
          outcomeOf(a.timer, delivered),
          cancelOf(b.timer),
          outcomeOf(c.timer, { to: "dead", reason: "refused" }),
        ])
        const [ended, cancelled, dead] = yield* Effect.forEach([a, b, c], ({ timer }) => store.find(timer))
        expect([ended, cancelled, dead].map((found) => found?.pending)).toEqual([
          undefined,
          undefined,
          undefined,
        ])
        const { fireAt: _, updatedAt: __, payload: ___, ...same } = a.timer
        expect(ended?.last).toEqual({
          ...same,
          state: "delivered",
          attempts: 1,
          finishedAt: a.timer.fireAt + 30,
          latenessMs: 5,
          attemptLog: [{ at: a.timer.fireAt + 5, durationMs: 25, status: 200 }],
        } as FinishedLife)
        expect(cancelled?.last?.state).toBe("cancelled")
        expect(cancelled?.last?.payload).toBeUndefined()
        expect(dead?.last).toMatchObject({ state: "dead", reason: "refused", attempts: 1 })
        expect(dead?.last?.payload).toEqual(payload)
      }),
  )

  law("an outcome applies only to the arming and attempt that it names; otherwise it is stale", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const { timer } = samplePut()
      yield* write([putOf(timer)])
      const answers = yield* write([
        outcomeOf({ ...timer, fireId: sampleId() }, delivered),
        outcomeOf(timer, delivered, { attempt: 2 }),
        outcomeOf(sampleTimer(), delivered),
      ])
      expect(answers.map(({ result }) => result)).toEqual(["stale", "stale", "stale"])
      expect(yield* store.find(timer)).toEqual({ pending: timer, last: undefined })
    }),
  )

  law("a retry and a re-arming answer the new pending timer, and the store finds that timer", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const payload = new Uint8Array([1, 2, 3])
      const { timer } = samplePut({ payload })
      yield* write([putOf(timer)])
      const retried = timerIn(
        at(yield* write([outcomeOf(timer, { to: "retry", fireAt: timer.fireAt + 99 })]), 0),
      )
      expect(retried).toMatchObject({ fireAt: timer.fireAt + 99, attempts: 1, fireId: timer.fireId, payload })
      expect((yield* store.find(timer)).pending).toEqual(retried)
      const then = {
        to: "rearmed",
        executeAt: timer.fireAt + 500,
        fireId: sampleId(),
        latenessMs: 1,
      } as const
      const rearmed = timerIn(at(yield* write([outcomeOf(retried, then)]), 0))
      expect(rearmed).toMatchObject({ fireAt: timer.fireAt + 500, attempts: 0, fireId: then.fireId, payload })
      expect(yield* store.find(timer)).toMatchObject({
        pending: rearmed,
        last: { attempts: 2, state: "delivered" },
      })
    }),
  )

  law("a change arms the timer again and keeps fields that it does not name; null clears a field", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const { timer } = samplePut({ payload: new Uint8Array([7]) })
      yield* write([putOf(timer)])
      const moved = timerIn(at(yield* write([changeOf(timer, { executeAt: sampleNow + 5 })]), 0))
      expect(moved).toMatchObject({
        fireAt: sampleNow + 5,
        revision: timer.revision + 1,
        payload: timer.payload,
      })
      const cleared = timerIn(at(yield* write([changeOf(timer, { payload: null, correlationId: "c-2" })]), 0))
      expect(cleared).toMatchObject({ fireAt: sampleNow + 5, correlationId: "c-2" })
      expect(cleared.payload).toBeUndefined()
      expect((yield* store.find(timer)).pending).toEqual(cleared)
      const refused = yield* write([changeOf(timer, { executeAt: 1 }, { ifRevision: 3 })])
      expect(refused).toEqual([{ result: "revisionMismatch", revision: cleared.revision }])
    }),
  )

  law("a record corrects the history entry of its arming, or adds one", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const first = sampleTimer({ timerId: "recorded" })
      const second = sampleTimer({ timerId: "recorded", fireAt: sampleNow + 70 })
      yield* write([putOf(first), putOf(second), cancelOf(first)])
      const lifeOf = (fireId: string, revision: number): FinishedLife => {
        const { fireAt: _, updatedAt: __, ...same } = first
        return { ...same, fireId, revision, state: "delivered", attempts: 1, finishedAt: sampleNow + 80 }
      }
      const records: ReadonlyArray<WriteItem> = [
        { kind: "record", life: lifeOf(second.fireId, first.revision + 1) },
        { kind: "record", life: lifeOf(first.fireId, first.revision) },
      ]
      yield* write(records)
      const tally = yield* store.tally
      expect(tally).toMatchObject({ created: 2, delivered: 2, cancelled: 0, replaced: 0 })
      const { last } = yield* store.find(first)
      expect(last).toMatchObject({ fireId: second.fireId, state: "delivered", revision: first.revision + 2 })
      yield* write(records)
      expect(yield* store.tally).toEqual(tally)
      const again = yield* store.count({ namespace: "shop", state: "delivered", limit: 10 })
      expect(again).toEqual({ count: 2, capped: false })
    }),
  )

  law("revisions of a key only grow, across all its lives", () =>
    Effect.gen(function* () {
      const { write } = yield* owned
      let revision = 0
      for (let life = 0; life < 4; life++) {
        // Each create comes from a clock that runs backwards.
        const put = samplePut({ timerId: "again", createdAt: sampleNow - life * 1_000 })
        const created = timerIn(at(yield* write([put]), 0))
        expect(created.revision).toBeGreaterThan(revision)
        revision = created.revision
        yield* write([life % 2 === 0 ? cancelOf(put.timer) : outcomeOf(created, delivered)])
      }
    }),
  )
}

const payloadLaws = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)
  const everyByte = Uint8Array.from({ length: 256 }, (_, byte) => byte)
  const samples: ReadonlyArray<readonly [string, Uint8Array | undefined]> = [
    ["none", undefined],
    ["no bytes", new Uint8Array(0)],
    ["every byte", everyByte],
    ["text with astral characters", new TextEncoder().encode('"\u{1F600} \\u0000 é"')],
    ["a view into a larger buffer", everyByte.subarray(100, 120)],
    ["64 KiB", Uint8Array.from({ length: 65_536 }, (_, index) => (index * 31) % 251)],
  ]

  law(
    "every way of reading returns a payload unchanged",
    () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const puts = samples.map(([timerId, payload]) =>
          samplePut({ timerId, fireAt: sampleNow, ...(payload === undefined ? {} : { payload }) }),
        )
        yield* write(puts)
        const query = { exclusiveAfter: beginning, inclusiveUntilMs: sampleNow, limit: 10 }
        const due = (yield* store.due({ shard: 0, ...query })).timers
        const list = { namespace: "shop", state: "pending", reversed: false, limit: 10 } as const
        const listed = (yield* store.list({ ...list, includePayload: true })).items
        for (const [timerId, payload] of samples) {
          const put = puts.find(({ timer }) => timer.timerId === timerId)
          if (put === undefined) throw new Error("unreachable")
          const found = (yield* store.find(put.timer)).pending
          const read = due.find((timer) => timer.timerId === timerId)
          const shown = listed.find((item) => item.state === "pending" && item.timer.timerId === timerId)
          for (const timer of [found, read, shown?.state === "pending" ? shown.timer : undefined]) {
            expect(
              timer?.payload === undefined ? undefined : Buffer.from(timer.payload).toString("hex"),
            ).toBe(payload === undefined ? undefined : Buffer.from(payload).toString("hex"))
          }
        }
        const bare = (yield* store.list({ ...list, includePayload: false })).items
        expect(bare.every((item) => item.state === "pending" && item.timer.payload === undefined)).toBe(true)
      }),
    1,
  )

  law("specs come back unchanged, with all their parts", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const spec = {
        target: {
          type: "webhook",
          url: "https://example.test/é?x=1",
          method: "PUT",
          headers: { "x-a": "1", "x-b": "\u{1F600}" },
          timeoutMs: 1_000,
          body: "payload",
        },
        retryPolicy: {
          maxAttempts: 1,
          initialIntervalMs: 1,
          backoffMultiplier: 1.5,
          maxIntervalMs: 2,
          jitter: 0,
          maxDurationMs: 9,
        },
        expireAfterMs: 60_000,
      } as const
      const telling = {
        ...spec,
        retryPolicy: { ...spec.retryPolicy, waitsMs: [60_000, 5] },
        onExpire: "drop",
        onDead: spec.target,
      } as const
      const death = {
        timerId: "é",
        fireId: sampleId(),
        revision: 5,
        executeAt: 6,
        reason: "refused",
        attempts: 2,
      }
      const lastAttempt = { at: 7, durationMs: 8, status: 410, error: "gone" }
      const puts = [
        samplePut({ spec }),
        samplePut({ spec: { ...spec, target: { type: "event" } } }),
        samplePut({ spec: telling }),
        samplePut({ spec: { ...spec, death } }),
        samplePut({ spec: { ...spec, onDead: { type: "event" }, death: { ...death, lastAttempt } } }),
      ]
      yield* write(puts)
      for (const { timer } of puts) expect((yield* store.find(timer)).pending).toEqual(timer)
    }),
  )
}

const durabilityLaws = (fixture: StoreFixture): void => {
  const { reopened } = fixture
  if (typeof reopened !== "function") {
    test.skip(`written rows are still there after the store is opened again (skipped: ${reopened.skipped})`, () => {})
    return
  }
  test("written rows are still there after the store is opened again", async () => {
    const { first, second, dispose } = reopened({ shards: 4 })
    try {
      const puts = Array.from({ length: 20 }, () => samplePut({ payload: new Uint8Array([1, 2, 3]) }))
      const run = <A>(layer: typeof first, body: Effect.Effect<A, unknown, Store>) =>
        Effect.runPromise(body.pipe(Effect.provide(layer), Effect.scoped))
      const tally = await run(
        first,
        Effect.gen(function* () {
          const { store, write } = yield* owned
          yield* write(puts)
          yield* write([outcomeOf(at(puts, 0).timer, delivered)])
          return yield* store.tally
        }),
      )
      await run(
        second,
        Effect.gen(function* () {
          const { store, epochs } = yield* owned
          expect(epochs.every((epoch) => epoch === 2)).toBe(true)
          expect(yield* store.tally).toEqual(tally)
          for (const { timer } of puts.slice(1)) expect((yield* store.find(timer)).pending).toEqual(timer)
          expect((yield* store.find(at(puts, 0).timer)).last?.state).toBe("delivered")
        }),
      )
    } finally {
      dispose()
    }
  })
}
