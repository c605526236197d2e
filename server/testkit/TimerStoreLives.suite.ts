// The law about the lives of one key: lists over all states show them by revision, in both directions.
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import type { Listed, ListQuery } from "../src/ports/TimerStore.ts"
import { sampleStates } from "./filteredRows.ts"
import { at, lawsOf, owned, type StoreFixture, timerIn, walkList } from "./StoreFixture.ts"
import { cancelOf, delivered, outcomeOf, sampleNow, samplePut } from "./timers.ts"

const query: ListQuery = {
  namespace: "shop",
  state: sampleStates,
  timerId: "k",
  reversed: true,
  includePayload: true,
  limit: 100,
}

const shown = (listed: Listed): string => {
  const { revision } = listed.state === "pending" ? listed.timer : listed.life
  return `${listed.state} ${revision}`
}

export const timerStoreLivesSuite = (fixture: StoreFixture): void => {
  describe("lives", () => {
    const law = lawsOf(fixture)

    /** Writes lives of one key that end in all ways, and other keys beside it. Returns what is stored, latest first. */
    const livesOf = Effect.fnUntraced(function* (
      lives: number,
      write: Effect.Success<typeof owned>["write"],
    ) {
      yield* write(["j", "k1"].map((timerId) => samplePut({ timerId })))
      yield* write([samplePut({ namespace: "other", timerId: "k" })])
      const expected: Array<string> = []
      for (let life = 0; life < lives; life++) {
        const payload = new Uint8Array([0x31])
        const put = samplePut({ timerId: "k", createdAt: sampleNow + 10 * life, payload })
        const timer = timerIn(at(yield* write([put]), 0))
        switch (life % 4) {
          case 0:
            yield* write([outcomeOf(timer, delivered)])
            expected.push(`delivered ${timer.revision}`)
            break
          case 1:
            yield* write([cancelOf(timer)])
            expected.push(`cancelled ${timer.revision + 1}`)
            break
          case 2:
            yield* write([outcomeOf(timer, { to: "dead", reason: "refused" })])
            expected.push(`dead ${timer.revision}`)
            break
          default:
            if (life < lives - 1) yield* write([outcomeOf(timer, delivered)])
            expected.push(`${life < lives - 1 ? "delivered" : "pending"} ${timer.revision}`)
        }
      }
      return expected.reverse()
    })

    law("the lives of a key are shown by revision over all states, the pending one first", () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const expected = yield* livesOf(12, write)
        expect(expected[0]).toStartWith("pending")
        for (const limit of [1, 2, 5, 100]) {
          const pages = yield* walkList({ ...query, limit })
          expect(pages.flatMap(({ items }) => items.map(shown))).toEqual(expected)
          const earliestFirst = yield* walkList({ ...query, limit, reversed: false })
          expect(earliestFirst.flatMap(({ items }) => items.map(shown))).toEqual(expected.toReversed())
        }
        const { items } = yield* store.list({ ...query, limit: 2 })
        expect(items).toMatchObject([
          { timer: { payload: new Uint8Array([0x31]) } },
          { life: { payload: new Uint8Array([0x31]) } },
        ])
        expect((yield* store.list({ ...query, timerId: "absent" })).items).toEqual([])
      }),
    )

    law("a life that ends or begins between two pages is neither repeated nor put before them", () =>
      Effect.gen(function* () {
        const { write } = yield* owned
        const expected = yield* livesOf(8, write)
        const pages = yield* walkList({ ...query, limit: 2 }, (page) =>
          page === 1
            ? write([
                cancelOf(samplePut({ timerId: "k" }).timer),
                samplePut({ timerId: "k", createdAt: sampleNow + 1_000 }),
              ])
            : Effect.void,
        )
        expect(pages.flatMap(({ items }) => items.map(shown))).toEqual(expected)
      }),
    )
  })
}
