// The laws of the TimerStore port about reading: due order, pages, lists, counts and pruning.
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import { compareDue } from "../src/domain/DueOrder.ts"
import type { Timer } from "../src/domain/Timer.ts"
import type { ListQuery } from "../src/ports/TimerStore.ts"
import { at, idsOf, lawsOf, owned, type StoreFixture, walkList } from "./StoreFixture.ts"
import { tied, timerStoreDueSuite } from "./TimerStoreDue.suite.ts"
import {
  cancelOf,
  delivered,
  outcomeOf,
  putOf,
  sampleId,
  sampleNow,
  samplePut,
  sampleTimer,
} from "./timers.ts"

export const timerStoreReadsSuite = (fixture: StoreFixture): void => {
  timerStoreDueSuite(fixture)
  describe("find", () => findLaws(fixture))
  describe("list", () => listLaws(fixture))
  describe("count", () => countLaws(fixture))
  describe("namespaces", () => namespaceLaws(fixture))
  describe("prune", () => pruneLaws(fixture))
}

const pendingList: ListQuery = {
  namespace: "shop",
  state: "pending",
  reversed: false,
  includePayload: false,
  limit: 10,
}

const findLaws = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)

  law("find reads a life by its fireId, also if it is not the last", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const first = sampleTimer({ payload: new Uint8Array([1]) })
      const { timerId } = first
      const second = sampleTimer({ timerId, createdAt: sampleNow + 9, fireAt: sampleNow + 9 })
      yield* write([
        putOf(first),
        outcomeOf(first, { to: "dead", reason: "refused" }),
        putOf(second),
        cancelOf(second),
      ])
      const named = ({ fireId, revision }: Timer) => store.find(first, { fireId, minRevision: revision })
      expect(yield* named(first)).toMatchObject({
        pending: undefined,
        last: { fireId: second.fireId },
        named: { fireId: first.fireId, state: "dead", payload: first.payload },
      })
      // The cancel has raised the revision.
      expect((yield* named(second)).named).toMatchObject({ fireId: second.fireId, state: "cancelled" })
      expect((yield* named(sampleTimer({ timerId }))).named).toBeUndefined()
      expect((yield* store.find(first)).named).toBeUndefined()
    }),
  )
}

const listLaws = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)

  law("pending timers are listed in due order over all shards, and in reverse", () =>
    Effect.gen(function* () {
      const { write } = yield* owned
      const timers = tied(35)
      yield* write([...timers, sampleTimer({ namespace: "other" })].map((timer) => putOf(timer)))
      const expected = [...timers].sort(compareDue).map(({ timerId }) => timerId)
      expect(idsOf(yield* walkList(pendingList))).toEqual(expected)
      expect(idsOf(yield* walkList({ ...pendingList, reversed: true }))).toEqual([...expected].reverse())
    }),
  )

  law("a timer that does not change during a walk appears exactly once, whatever else changes", () =>
    Effect.gen(function* () {
      const { write } = yield* owned
      const timers = tied(40)
      yield* write(timers.map((timer) => putOf(timer)))
      const pages = yield* walkList({ ...pendingList, limit: 7 }, (page) => {
        const gone = at(timers, page * 2)
        return write([
          samplePut({ fireAt: sampleNow + (page % 7) }),
          samplePut({ fireAt: 5 }),
          cancelOf(gone),
        ])
      })
      const seen = idsOf(pages)
      expect(new Set(seen).size).toBe(seen.length)
      const touched = pages.map((_, index) => at(timers, (index + 1) * 2).timerId)
      const steady = timers.map(({ timerId }) => timerId).filter((timerId) => !touched.includes(timerId))
      expect(steady.filter((timerId) => !seen.includes(timerId))).toEqual([])
    }),
  )

  law("a list by id prefix contains only ids with that prefix, in bytewise order", () =>
    Effect.gen(function* () {
      const { write } = yield* owned
      const inOrder = ["x", "x!", "x%", "xA", "x_", "xa", "xé", "x\uffee", "x\u{10ffff}", "x\u{10ffff}z"]
      const others = ["w", "y", "X", "w\u{10ffff}"]
      yield* write([...others, ...inOrder].reverse().map((timerId) => samplePut({ timerId })))
      const byId = { ...pendingList, idPrefix: "x", limit: 3 }
      expect(idsOf(yield* walkList(byId))).toEqual(inOrder)
      expect(idsOf(yield* walkList({ ...byId, reversed: true }))).toEqual([...inOrder].reverse())
      expect(idsOf(yield* walkList({ ...byId, idPrefix: "x\u{10ffff}" }))).toEqual(inOrder.slice(-2))
      yield* write(inOrder.map((timerId) => cancelOf(sampleTimer({ timerId }))))
      expect(idsOf(yield* walkList({ ...byId, state: "cancelled" }))).toEqual(inOrder)
    }),
  )

  law("finished lives are listed by state, latest first, and in reverse", () =>
    Effect.gen(function* () {
      const { write } = yield* owned
      const timers = tied(30)
      yield* write(timers.map((timer) => putOf(timer)))
      const ends = timers.map((timer, index) =>
        index % 3 === 0
          ? cancelOf(timer, { at: sampleNow + (index % 5) })
          : outcomeOf(timer, index % 3 === 1 ? delivered : { to: "dead", reason: "refused" }, {
              at: sampleNow + (index % 5),
            }),
      )
      yield* write(ends)
      for (const [state, remainder] of [
        ["cancelled", 0],
        ["delivered", 1],
        ["dead", 2],
      ] as const) {
        const query = { ...pendingList, state, limit: 4 }
        const pages = yield* walkList(query)
        const lives = pages
          .flatMap(({ items }) => items)
          .flatMap((item) => (item.state === "pending" ? [] : [item.life]))
        expect(lives.every((life) => life.state === state)).toBe(true)
        const times = lives.map(({ finishedAt }) => finishedAt)
        expect(times).toEqual([...times].sort((a, b) => b - a))
        const expected = timers.filter((_, index) => index % 3 === remainder).map(({ timerId }) => timerId)
        expect([...idsOf(pages)].sort()).toEqual([...expected].sort())
        expect(idsOf(yield* walkList({ ...query, reversed: true }))).toEqual([...idsOf(pages)].reverse())
      }
    }),
  )

  law("time bounds are inclusive below and exclusive above, and a correlation id filters", () =>
    Effect.gen(function* () {
      const { write } = yield* owned
      const timers = Array.from({ length: 20 }, (_, index) =>
        sampleTimer({ timerId: `t${index + 10}`, fireAt: sampleNow + index, correlationId: `c${index % 2}` }),
      )
      yield* write(timers.map((timer) => putOf(timer)))
      const bounds = { inclusiveFromMs: sampleNow + 3, exclusiveUntilMs: sampleNow + 9 }
      const expected = ["t13", "t14", "t15", "t16", "t17", "t18"]
      for (const reversed of [false, true]) {
        const ids = idsOf(yield* walkList({ ...pendingList, ...bounds, reversed, limit: 2 }))
        expect(reversed ? [...ids].reverse() : ids).toEqual(expected)
      }
      expect(idsOf(yield* walkList({ ...pendingList, ...bounds, idPrefix: "t1", limit: 2 }))).toEqual(
        expected,
      )
      expect(idsOf(yield* walkList({ ...pendingList, ...bounds, correlationId: "c1" }))).toEqual([
        "t13",
        "t15",
        "t17",
      ])
      yield* write(timers.map((timer) => cancelOf(timer, { at: timer.fireAt })))
      const ended = { ...pendingList, ...bounds, state: "cancelled", limit: 2 } as const
      expect(idsOf(yield* walkList(ended))).toEqual([...expected].reverse())
      expect(idsOf(yield* walkList({ ...ended, reversed: true, correlationId: "c0" }))).toEqual([
        "t14",
        "t16",
        "t18",
      ])
    }),
  )

  law("a cursor that is malformed or belongs to another query is refused", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      yield* write(tied(5).map((timer) => putOf(timer)))
      const { next } = yield* store.list({ ...pendingList, limit: 2 })
      if (next === undefined) throw new Error("expected a cursor")
      const refused: ReadonlyArray<ListQuery> = [
        { ...pendingList, cursor: "" },
        { ...pendingList, cursor: "!" },
        { ...pendingList, cursor: next.slice(0, -4) },
        { ...pendingList, cursor: Buffer.from("[1]").toString("base64url") },
        ...[
          [1, "zzz"],
          [1e300, sampleId()],
          [1.5, sampleId()],
        ].map((place) => ({
          ...pendingList,
          cursor: forged(next, place),
        })),
        { ...pendingList, cursor: next, namespace: "other" },
        { ...pendingList, cursor: next, reversed: true },
        { ...pendingList, cursor: next, state: "dead" },
        { ...pendingList, cursor: next, idPrefix: "a" },
        { ...pendingList, cursor: next, tag: "a" },
      ]
      for (const query of refused) {
        expect((yield* Effect.flip(store.list(query)))._tag).toBe("InvalidCursor")
      }
      // The page size and the choice of payloads may change during a walk.
      expect(
        (yield* store.list({ ...pendingList, cursor: next, limit: 9, includePayload: true })).items,
      ).toHaveLength(3)
    }),
  )
}

/** A cursor of the same query that names another position. */
const forged = (cursor: string, place: ReadonlyArray<unknown>): string => {
  const [fingerprint] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as ReadonlyArray<unknown>
  return Buffer.from(JSON.stringify([fingerprint, ...place])).toString("base64url")
}

const countLaws = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)

  law("a count is the number of rows that a list would show, up to the limit", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const timers = Array.from({ length: 12 }, (_, index) =>
        sampleTimer({ timerId: `n${index}`, fireAt: sampleNow + index, correlationId: `c${index % 3}` }),
      )
      yield* write(timers.map((timer) => putOf(timer)))
      yield* write([
        cancelOf(at(timers, 0)),
        cancelOf(at(timers, 1)),
        outcomeOf(at(timers, 2), { to: "dead", reason: "refused" }),
      ])
      const count = (filter: Partial<Parameters<typeof store.count>[0]>) =>
        store.count({ namespace: "shop", state: "pending", limit: 100, ...filter })
      expect(yield* count({})).toEqual({ count: 9, capped: false })
      expect(yield* count({ limit: 9 })).toEqual({ count: 9, capped: false })
      expect(yield* count({ limit: 8 })).toEqual({ count: 8, capped: true })
      expect(yield* count({ inclusiveFromMs: sampleNow + 4, exclusiveUntilMs: sampleNow + 6 })).toEqual({
        count: 2,
        capped: false,
      })
      expect(yield* count({ correlationId: "c0", limit: 2 })).toEqual({ count: 2, capped: true })
      expect(yield* count({ idPrefix: "n1" })).toEqual({ count: 2, capped: false })
      expect(yield* count({ state: "cancelled" })).toEqual({ count: 2, capped: false })
      expect(yield* count({ state: "dead", idPrefix: "n" })).toEqual({ count: 1, capped: false })
      expect(yield* count({ state: "delivered" })).toEqual({ count: 0, capped: false })
      expect(yield* count({ namespace: "nobody" })).toEqual({ count: 0, capped: false })
    }),
  )
}

const namespaceLaws = (fixture: StoreFixture): void => {
  lawsOf(fixture)(
    "the list has each namespace with pending timers, history or dead letters, bytewise, and no reserved one",
    () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        expect(yield* store.namespaces("", 10)).toEqual([])
        const given = ["pending", "Ended", "dead", "_another", "0", "Z", "a-", "_service", "gone"]
        const puts = given.map((namespace) => samplePut({ namespace }))
        yield* write(puts)
        const gone = at(puts, 8)
        yield* write([
          cancelOf(at(puts, 1).timer),
          outcomeOf(at(puts, 2).timer, { to: "dead", reason: "refused" }),
          cancelOf(gone.timer),
          samplePut({ namespace: "pending" }),
          samplePut({ namespace: "_reserved" }),
        ])
        const names = ["0", "Ended", "Z", "a-", "dead", "gone", "pending"]
        expect(yield* store.namespaces("", 100)).toEqual(names)
        expect(yield* store.namespaces("", names.length)).toEqual(names)
        const walked: Array<string> = []
        for (;;) {
          const page = yield* store.namespaces(walked.at(-1) ?? "", 3)
          walked.push(...page)
          if (page.length < 3) break
        }
        expect(walked).toEqual(names)
        expect(yield* store.namespaces("Z", 1)).toEqual(["a-"])
        expect(yield* store.namespaces("_", 1)).toEqual(["a-"])
        expect(yield* store.namespaces("pending", 1)).toEqual([])
        yield* store.prune(Number.MAX_SAFE_INTEGER, 100)
        expect(yield* store.namespaces("", 100)).toEqual(["0", "Z", "a-", "dead", "pending"])
      }),
  )
}

const pruneLaws = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)

  law(
    "a prune removes at most `limit` entries older than the bound, and keeps younger ones and dead letters",
    () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const timers = tied(20)
        yield* write(timers.map((timer) => putOf(timer)))
        yield* write(
          timers.map((timer, index) =>
            index < 4
              ? outcomeOf(timer, { to: "dead", reason: "refused" }, { at: sampleNow })
              : cancelOf(timer, { at: index < 14 ? sampleNow : sampleNow + 100 }),
          ),
        )
        const removed: Array<number> = []
        do removed.push(yield* store.prune(sampleNow + 100, 4))
        while ((removed.at(-1) ?? 0) > 0 && removed.length < 50)
        expect(removed.every((count) => count <= 4)).toBe(true)
        expect(removed.reduce((sum, count) => sum + count, 0)).toBe(10)
        const counted = (state: "dead" | "cancelled") => store.count({ namespace: "shop", state, limit: 100 })
        expect(yield* counted("dead")).toEqual({ count: 4, capped: false })
        expect(yield* counted("cancelled")).toEqual({ count: 6, capped: false })
        expect((yield* store.find(at(timers, 5))).last).toBeUndefined()
        expect((yield* store.tally).cancelled).toBe(16)
      }),
  )

  law(
    "entries from a clock that was ahead do not stop the pruning of older entries",
    () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const timers = tied(40)
        yield* write(timers.map((timer) => putOf(timer)))
        // The first twenty entries ended while the clock was a year ahead.
        yield* write(
          timers.map((timer, index) => cancelOf(timer, { at: index < 20 ? sampleNow + 3e10 : sampleNow })),
        )
        let removed = 0
        for (let call = 0; call < 40; call++) removed += yield* store.prune(sampleNow + 1, 3)
        expect(removed).toBe(20)
      }),
    1,
  )
}
