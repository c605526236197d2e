// The laws of the TimerStore port about words. Words are tags and correlation ids, and timers and lives are found by
// them. A list by a word behaves like any other list in order, bounds, pages and counts.
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import { compareDue } from "../src/domain/DueOrder.ts"
import type { Timer } from "../src/domain/Timer.ts"
import { shardOf } from "../src/domain/TimerKey.ts"
import { madeCorrelationId } from "../src/domain/words.ts"
import type { ListQuery } from "../src/ports/TimerStore.ts"
import { at, idsOf, insertLawsOf, lawsOf, owned, type StoreFixture, walkList } from "./StoreFixture.ts"
import {
  cancelOf,
  changeOf,
  delivered,
  discardOf,
  outcomeOf,
  putOf,
  replayOf,
  sampleId,
  sampleNow,
  samplePut,
  sampleTimer,
} from "./timers.ts"

export const timerStoreWordsSuite = (fixture: StoreFixture): void => {
  describe("words", () => wordLaws(fixture))
}

const pendingList: ListQuery = {
  namespace: "shop",
  state: "pending",
  reversed: false,
  includePayload: false,
  limit: 10,
}

const wordLaws = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)

  law("a tag filters pending timers and lives, in the order of other lists, with bounds and pages", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const timers = Array.from({ length: 24 }, (_, index) =>
        sampleTimer({
          timerId: `t${index + 10}`,
          fireAt: sampleNow + (index % 6),
          correlationId: `c${index % 4}`,
          ...(index % 2 === 0 ? { tags: ["even", `third ${index % 3}`] } : {}),
        }),
      )
      yield* write([...timers, sampleTimer({ namespace: "other", tags: ["even"] })].map((one) => putOf(one)))
      const even = timers.filter(({ tags }) => tags !== undefined)
      const ids = (some: ReadonlyArray<Timer>) => some.map(({ timerId }) => timerId)
      const tagged = { ...pendingList, tag: "even", limit: 5 }
      const expected = ids([...even].sort(compareDue))
      expect(idsOf(yield* walkList(tagged))).toEqual(expected)
      expect(idsOf(yield* walkList({ ...tagged, reversed: true }))).toEqual([...expected].reverse())
      expect(idsOf(yield* walkList({ ...tagged, idPrefix: "t1" }))).toEqual([
        "t10",
        "t12",
        "t14",
        "t16",
        "t18",
      ])
      const bounds = { inclusiveFromMs: sampleNow + 2, exclusiveUntilMs: sampleNow + 5 }
      const within = even.filter(({ fireAt }) => fireAt >= sampleNow + 2 && fireAt < sampleNow + 5)
      expect(idsOf(yield* walkList({ ...tagged, ...bounds, limit: 2 }))).toEqual(ids(within.sort(compareDue)))
      const both = even.filter(({ correlationId }) => correlationId === "c2").sort(compareDue)
      expect(idsOf(yield* walkList({ ...tagged, correlationId: "c2", limit: 2 }))).toEqual(ids(both))
      for (const tag of ["eve", "even ", "third 3", "c2", "t:even"]) {
        expect(idsOf(yield* walkList({ ...tagged, tag }))).toEqual([])
      }
      const ends = timers.map((timer, index) =>
        index % 3 === 0
          ? cancelOf(timer, { at: sampleNow + 100 + (index % 5) })
          : outcomeOf(timer, index % 3 === 1 ? delivered : { to: "dead", reason: "refused" }),
      )
      yield* write(ends)
      expect(idsOf(yield* walkList(tagged))).toEqual([])
      for (const [state, remainder] of [
        ["cancelled", 0],
        ["delivered", 1],
        ["dead", 2],
      ] as const) {
        const query = { ...tagged, state, limit: 3 }
        const found = yield* walkList(query)
        const ended = even.filter((timer) => timers.indexOf(timer) % 3 === remainder)
        expect([...idsOf(found)].sort()).toEqual(ids(ended).sort())
        const times = found.flatMap(({ items }) =>
          items.map((one) => ("life" in one ? one.life.finishedAt : 0)),
        )
        expect(times).toEqual([...times].sort((a, b) => b - a))
        expect(idsOf(yield* walkList({ ...query, reversed: true }))).toEqual([...idsOf(found)].reverse())
        const count = { namespace: "shop", state, tag: "even", limit: 100 }
        expect(yield* store.count(count)).toEqual({ count: 4, capped: false })
        expect(yield* store.count({ ...count, limit: 3 })).toEqual({ count: 3, capped: true })
        const dead = { ...query, tag: `third ${remainder}`, limit: 10 }
        expect(idsOf(yield* walkList(dead))).toHaveLength(4)
      }
    }),
  )

  law("a correlation id finds its timers and lives, whether a caller gave it or the service made it", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const made = madeCorrelationId(sampleId())
      const ids = ["order-1", "order-2", sampleId(), made, "c:order-1", "order-1 ".repeat(40)]
      const timers = Array.from({ length: 24 }, (_, index) =>
        sampleTimer({
          timerId: `t${index + 10}`,
          fireAt: sampleNow + index,
          correlationId: at(ids, index % 6),
        }),
      )
      yield* write(timers.map((timer) => putOf(timer)))
      for (const correlationId of ids) {
        const expected = timers.filter((timer) => timer.correlationId === correlationId)
        const query = { ...pendingList, correlationId, limit: 3 }
        expect(idsOf(yield* walkList(query))).toEqual(expected.map(({ timerId }) => timerId))
        const bounds = { inclusiveFromMs: sampleNow + 6, exclusiveUntilMs: sampleNow + 18 }
        expect(idsOf(yield* walkList({ ...query, ...bounds }))).toHaveLength(2)
        expect(yield* store.count({ ...query, limit: 100 })).toEqual({ count: 4, capped: false })
        expect(yield* store.count({ ...query, limit: 3 })).toEqual({ count: 3, capped: true })
      }
      expect(idsOf(yield* walkList({ ...pendingList, correlationId: "order-3" }))).toEqual([])
      yield* write(timers.map((timer) => cancelOf(timer)))
      for (const correlationId of ids) {
        const query = { ...pendingList, correlationId, limit: 3 }
        expect(idsOf(yield* walkList(query))).toEqual([])
        expect(idsOf(yield* walkList({ ...query, state: "cancelled" }))).toHaveLength(4)
      }
    }),
  )

  law("a timer that moves, changes its tags or is replaced is found by its current words", () =>
    Effect.gen(function* () {
      const { write } = yield* owned
      const first = sampleTimer({ timerId: "first", fireAt: sampleNow + 1, tags: ["a", "b"] })
      const second = sampleTimer({ timerId: "second", fireAt: sampleNow + 2, tags: ["a"] })
      yield* write([putOf(first), putOf(second)])
      const by = (tag: string, state: ListQuery["state"] = "pending") =>
        Effect.map(walkList({ ...pendingList, tag, state }), idsOf)
      expect(yield* by("a")).toEqual(["first", "second"])
      yield* write([outcomeOf(first, { to: "retry", fireAt: sampleNow + 3 })])
      expect(yield* by("a")).toEqual(["second", "first"])
      yield* write([changeOf(first, { tags: ["c"] })])
      expect([yield* by("a"), yield* by("b"), yield* by("c")]).toEqual([["second"], [], ["first"]])
      yield* write([samplePut({ timerId: "second", tags: ["d"] }), changeOf(first, { tags: null })])
      for (const [tag, found] of [
        ["a", []],
        ["c", []],
        ["d", ["second"]],
      ] as const) {
        expect([tag, yield* by(tag)]).toEqual([tag, [...found]])
      }
    }),
  )

  law("a replay, a discard and a prune remove the words of the removed life", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const timers = ["replayed", "discarded", "pruned", "kept"].map((timerId) =>
        sampleTimer({ timerId, tags: ["a"], correlationId: "order-1" }),
      )
      const [replayed, discarded, pruned, kept] = timers as [Timer, Timer, Timer, Timer]
      yield* write(timers.map((timer) => putOf(timer)))
      const dies = { to: "dead", reason: "refused" } as const
      yield* write([
        outcomeOf(replayed, dies),
        outcomeOf(discarded, dies),
        outcomeOf(pruned, delivered, { at: sampleNow + 10 }),
        outcomeOf(kept, delivered, { at: sampleNow + 20 }),
      ])
      const by = (state: ListQuery["state"], filter: Partial<ListQuery>) =>
        Effect.map(walkList({ ...pendingList, state, ...filter }), (pages) => idsOf(pages).toSorted())
      for (const filter of [{ tag: "a" }, { correlationId: "order-1" }]) {
        expect(yield* by("dead", filter)).toEqual(["discarded", "replayed"])
        expect(yield* by("delivered", filter)).toEqual(["kept", "pruned"])
      }
      yield* write([replayOf(replayed), discardOf(discarded)])
      expect(yield* store.prune(sampleNow + 15, 10)).toBe(1)
      for (const filter of [{ tag: "a" }, { correlationId: "order-1" }]) {
        expect(yield* by("pending", filter)).toEqual(["replayed"])
        expect(yield* by("dead", filter)).toEqual([])
        expect(yield* by("delivered", filter)).toEqual(["kept"])
      }
    }),
  )

  insertLawsOf(fixture)("a timer that was created without an owner is found by its words", () =>
    Effect.gen(function* () {
      const { store } = yield* owned
      const put = samplePut({ tags: ["a"], correlationId: "order-1" })
      const shard = shardOf(put.timer.uuid, 4)
      for (const result of ["created", "created"] as const) {
        expect(yield* store.insertIfAbsent(shard, [put])).toMatchObject([{ result }])
      }
      for (const filter of [{ tag: "a" }, { correlationId: "order-1" }]) {
        expect(idsOf(yield* walkList({ ...pendingList, ...filter }))).toEqual([put.timer.timerId])
      }
    }),
  )

  law("a cursor of a walk by a word works only with that word", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      yield* write([1, 2, 3].map(() => samplePut({ tags: ["a", "b"], correlationId: "order-1" })))
      const { next = "" } = yield* store.list({ ...pendingList, tag: "a", limit: 2 })
      expect((yield* store.list({ ...pendingList, tag: "a", cursor: next })).items).toHaveLength(1)
      const [print, , ...place] = JSON.parse(
        Buffer.from(next, "base64url").toString(),
      ) as ReadonlyArray<unknown>
      const forged = Buffer.from(JSON.stringify([print, "t:b", ...place])).toString("base64url")
      for (const query of [
        { ...pendingList, tag: "b", cursor: next },
        { ...pendingList, tag: "a", cursor: forged },
        { ...pendingList, correlationId: "order-1", cursor: next },
      ]) {
        expect((yield* Effect.flip(store.list(query)))._tag).toBe("InvalidCursor")
      }
    }),
  )
}
