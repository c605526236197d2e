// The law about damage of the TimerStore port: a row whose texts cannot be decoded stays in its place, and all other
// rows work as before.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { beginning } from "../src/domain/DueOrder.ts"
import { type FinishedLife, isReadable, type Timer } from "../src/domain/Timer.ts"
import type { WriteItem } from "../src/domain/WriteItem.ts"
import { type ListQuery, TimerStore } from "../src/ports/TimerStore.ts"
import { type DamagedTexts, RowDamage } from "./RowDamage.ts"
import { at, idsOf, owned, type Store, type StoreFixture, walkList } from "./StoreFixture.ts"
import {
  cancelOf,
  changeOf,
  delivered,
  discardOf,
  outcomeOf,
  putOf,
  replayOf,
  sampleNow,
  samplePut,
  sampleTimer,
  scheduleOf,
} from "./timers.ts"

type Law = (title: string, body: () => Effect.Effect<void, unknown, Store | RowDamage>) => void

export const timerStoreDamageSuite = (fixture: StoreFixture): void => {
  const law: Law = (title, body) =>
    test(title, () =>
      Effect.runPromise(body().pipe(Effect.provide(fixture.damageable({ shards: 1 })), Effect.scoped)),
    )
  describe("damaged rows", () => {
    textLaws(law)
    readLaws(law)
    writeLaws(law, fixture)
    lifeLaws(law)
  })
}

const everything = { shard: 0, exclusiveAfter: beginning, inclusiveUntilMs: Number.MAX_SAFE_INTEGER }
const pendingList: ListQuery = {
  namespace: "shop",
  state: "pending",
  reversed: false,
  includePayload: false,
  limit: 1_000,
}
const unreadable = {
  result: "unstorable" as const,
  reason: expect.stringContaining("punctual doctor"),
  isUnreadable: true as const,
}

/** Timers of one shard, one for each millisecond. */
const inOrder = (count: number): ReadonlyArray<Timer> =>
  Array.from({ length: count }, (_, index) =>
    sampleTimer({ timerId: `t-${String(index).padStart(3, "0")}`, fireAt: sampleNow + index }),
  )

const damages: ReadonlyArray<readonly [title: string, texts: DamagedTexts]> = [
  ["a spec that is cut", { spec: '{"target":{"type":"ev' }],
  ["an empty spec", { spec: "" }],
  ["tags that are cut", { tags: '["a' }],
  ["tags that are not a list", { tags: '{"a":1}' }],
  ["tags that are not texts", { tags: "[1]" }],
  ["a spec that is null", { spec: "null" }],
  ["a spec that is a list", { spec: "[]" }],
  ["a spec without a retry policy", { spec: '{"target":{"type":"event"}}' }],
  [
    "a spec with an unknown target",
    {
      spec: JSON.stringify({ ...sampleTimer().spec, target: { type: "fax", url: "https://example.test" } }),
    },
  ],
  [
    "a spec with a text for a number",
    { spec: JSON.stringify({ ...sampleTimer().spec, expireAfterMs: "soon" }) },
  ],
  ["a log that is cut", { last_attempt: '[{"at":1' }],
  ["a log of another shape", { last_attempt: '[{"at":"soon","durationMs":1}]' }],
  ["a log that is null", { last_attempt: "null" }],
]

const textLaws = (law: Law): void => {
  for (const [title, texts] of damages) {
    law(`${title} makes its timer and its life unreadable, and no other row`, () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const { damage } = yield* RowDamage
        const [bad, good, ended] = [sampleTimer(), sampleTimer(), sampleTimer()]
        yield* write([...[bad, good, ended].map((timer) => putOf(timer)), outcomeOf(ended, delivered)])
        yield* damage(bad, texts)
        yield* damage(yield* lastOf(ended), texts)
        expect(isReadable((yield* store.find(bad)).pending ?? good)).toBe(false)
        expect(isReadable((yield* store.find(ended)).last ?? good)).toBe(false)
        expect((yield* store.find(good)).pending).toEqual(good)
      }),
    )
  }
}

const readLaws = (law: Law): void => {
  law("a damaged timer keeps its place and its head in due pages, and only the last page is short", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const { damage } = yield* RowDamage
      const timers = inOrder(23)
      yield* write(timers.map((timer) => putOf(timer)))
      // The damaged timers are the first, the last, and a whole page of four.
      const isBad = (index: number) => index === 0 || (index >= 8 && index < 13) || index === 22
      for (const [index, timer] of timers.entries()) if (isBad(index)) yield* damage(timer, { spec: "{" })
      for (const limit of [1, 4, 23, 1_000]) {
        const found: Array<Timer> = []
        let isLast: boolean
        do {
          const last = found.at(-1)
          const exclusiveAfter = last === undefined ? beginning : { fireAt: last.fireAt, fireId: last.fireId }
          const page = yield* store.due({ ...everything, exclusiveAfter, limit })
          found.push(...page.timers)
          isLast = page.isLast
        } while (!isLast)
        expect(found.map(({ fireId }) => fireId)).toEqual(timers.map(({ fireId }) => fireId))
        for (const [index, timer] of found.entries()) {
          expect(isReadable(timer)).toBe(!isBad(index))
          if (!isBad(index)) expect(timer).toEqual(at(timers, index))
        }
      }
      expect(yield* store.dueHeads({ ...everything, limit: 1_000 })).toHaveLength(23)
    }),
  )

  law("lists continue after damaged rows and name them separately, and counts include them", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const { damage } = yield* RowDamage
      const timers = inOrder(9)
      yield* write(timers.map((timer) => putOf(timer)))
      const bad = [2, 3, 8].map((index) => at(timers, index))
      for (const timer of bad) yield* damage(timer, { last_attempt: "[" })
      const ids = (some: ReadonlyArray<Timer>) => some.map(({ timerId }) => timerId)
      for (const limit of [1, 2, 100]) {
        for (const order of [{}, { idPrefix: "t-" }]) {
          const pages = yield* walkList({ ...pendingList, ...order, limit })
          expect(idsOf(pages)).toEqual(ids(timers.filter((timer) => !bad.includes(timer))))
          const apart = pages.map(({ unreadable: items = [] }) => ({ items }))
          expect(idsOf(apart)).toEqual(ids(bad))
        }
      }
      expect(yield* store.count(pendingList)).toEqual({ count: 9, capped: false })
    }),
  )

  law("a repaired row reads as it was before the damage", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const { damage, repair } = yield* RowDamage
      const timer = sampleTimer({ payload: new Uint8Array([1, 2]) })
      yield* write([putOf(timer)])
      yield* damage(timer, { spec: "{" })
      yield* repair(timer)
      expect((yield* store.find(timer)).pending).toEqual(timer)
      expect(yield* write([cancelOf(timer)])).toEqual([{ result: "cancelled" }])
    }),
  )
}

const writeLaws = (law: Law, fixture: StoreFixture): void => {
  const onDamaged = (timer: Timer): ReadonlyArray<readonly [title: string, item: WriteItem]> => {
    const again = sampleTimer({ timerId: timer.timerId, fireAt: sampleNow + 5 })
    return [
      ["a create that replaces", putOf(again)],
      ["a create that keeps", putOf(again, "keep")],
      ["a create that fails", putOf(again, "fail")],
      ["the same create, repeated", putOf(timer)],
      ["a schedule", scheduleOf(again)],
      ["a change", changeOf(timer, { executeAt: 1 })],
      ["a change of all damaged fields", changeOf(timer, again.spec)],
      ["a cancel", cancelOf(timer)],
    ]
  }
  for (const [index, [title]] of onDamaged(sampleTimer()).entries()) {
    law(`${title} on a damaged timer is refused with the reason, and the other items are written`, () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const { damage } = yield* RowDamage
        const [bad, pending] = [sampleTimer({ timerId: "bad" }), sampleTimer()]
        yield* write([putOf(bad), putOf(pending)])
        yield* damage(bad, { spec: "{" })
        const before = yield* store.find(bad)
        const [, item] = at(onDamaged(bad), index)
        const answers = yield* write([samplePut(), item, cancelOf(pending), item])
        expect(answers).toEqual([
          expect.objectContaining({ result: "created" }),
          unreadable,
          { result: "cancelled" },
          unreadable,
        ])
        expect(yield* store.find(bad)).toEqual(before)
        expect(yield* store.tally).toMatchObject({ created: 3, replaced: 0, cancelled: 1 })
      }),
    )
  }

  law("the store never writes back what it read from a damaged row", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const { damage } = yield* RowDamage
      const timer = sampleTimer()
      yield* write([putOf(timer)])
      yield* damage(timer, { spec: "{" })
      const [read] = (yield* store.due({ ...everything, limit: 1 })).timers
      if (read === undefined) return yield* Effect.die("the timer is missing")
      const state = { found: yield* store.find(timer), tally: yield* store.tally }
      for (const item of [
        outcomeOf(read, delivered),
        putOf({ ...read, ...sampleTimer(), spec: read.spec }),
      ]) {
        expect(yield* write([item])).toMatchObject([{ result: "unstorable", isUnreadable: true }])
      }
      expect({ found: yield* store.find(timer), tally: yield* store.tally }).toEqual(state)
    }),
  )

  if (fixture.insertsSkipped !== undefined) return
  law("an insert without an owner on a damaged timer is refused with the reason", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const { damage } = yield* RowDamage
      const timer = sampleTimer({ timerId: "bad" })
      yield* write([putOf(timer)])
      yield* damage(timer, { spec: "{" })
      const answers = yield* store.insertIfAbsent(0, [samplePut({ timerId: "bad" }), samplePut()])
      expect(answers).toEqual([unreadable, expect.objectContaining({ result: "created" })])
    }),
  )
}

const lastOf = (timer: Timer): Effect.Effect<FinishedLife, unknown, TimerStore> =>
  Effect.gen(function* () {
    const { last } = yield* (yield* TimerStore).find(timer)
    return last ?? (yield* Effect.die("no life has ended"))
  })

const lifeLaws = (law: Law): void => {
  law("after a damaged life its key works again, lists continue after it, and a prune removes it", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const { damage } = yield* RowDamage
      const [bad, good] = [sampleTimer({ timerId: "bad" }), sampleTimer()]
      yield* write([putOf(bad), putOf(good), outcomeOf(bad, delivered), outcomeOf(good, delivered)])
      const life = yield* lastOf(bad)
      yield* damage(life, { spec: "{" })
      // The answer would have to contain the damaged life.
      expect(yield* write([putOf(bad)])).toEqual([unreadable])
      const [page] = yield* walkList({ ...pendingList, state: "delivered" })
      expect(idsOf(page === undefined ? [] : [page])).toEqual([good.timerId])
      expect(page?.unreadable).toMatchObject([{ life: { timerId: "bad", fireId: bad.fireId } }])
      const next = sampleTimer({ timerId: "bad" })
      expect(yield* write([putOf(next)])).toMatchObject([
        { result: "created", timer: { revision: life.revision + 1 } },
      ])
      const { pending } = yield* store.find(bad)
      expect(yield* write([cancelOf(pending ?? next)])).toEqual([{ result: "cancelled" }])
      expect(yield* store.prune(Number.MAX_SAFE_INTEGER, 1_000)).toBe(3)
    }),
  )

  law("a damaged dead letter cannot be replayed, but can be discarded", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const { damage } = yield* RowDamage
      const [bad, good] = [sampleTimer(), sampleTimer()]
      const dies = { to: "dead", reason: "refused" } as const
      yield* write([putOf(bad), putOf(good), outcomeOf(bad, dies), outcomeOf(good, dies)])
      const dead = yield* lastOf(bad)
      yield* damage(dead, { spec: "{" })
      const answers = yield* write([replayOf(dead), replayOf(yield* lastOf(good))])
      expect(answers).toEqual([unreadable, expect.objectContaining({ result: "replayed" })])
      expect((yield* store.find(bad)).pending).toBeUndefined()
      expect(yield* write([discardOf(dead)])).toEqual([{ result: "discarded" }])
      expect(yield* store.find(bad)).toEqual({ pending: undefined, last: undefined })
    }),
  )
}
