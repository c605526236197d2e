// The laws of the TimerStore port that concern words: tags and correlation ids, by which timers and lives are found. A list
// by a word behaves like any other list: order, bounds, pages, counts.
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import { compareDue } from "../src/domain/DueOrder.ts"
import type { Timer } from "../src/domain/Timer.ts"
import type { ListQuery } from "../src/ports/TimerStore.ts"
import { idsOf, lawsOf, owned, type StoreFixture, walkList } from "./StoreFixture.ts"
import { cancelOf, delivered, outcomeOf, putOf, sampleNow, sampleTimer } from "./timers.ts"

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
}
