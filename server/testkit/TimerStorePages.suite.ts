// The law about large pages: a page ends when its rows are large, with payloads and without, and the walk over all
// pages still shows every timer once.
import { describe, expect } from "bun:test"
import { pageBytesMax } from "@punctual/api/Limits"
import { Effect } from "effect"
import type { Spec } from "../src/domain/Timer.ts"
import type { ListQuery } from "../src/ports/TimerStore.ts"
import { listedBytes } from "../src/stores/listedBytes.ts"
import { lawsOf, owned, type StoreFixture } from "./StoreFixture.ts"
import { type SampleTimer, samplePut, sampleSpec } from "./timers.ts"

const query: ListQuery = {
  namespace: "shop",
  state: "pending",
  idPrefix: "t-",
  reversed: false,
  includePayload: false,
  limit: 1_000,
}

/** Every timer has its own spec, as an attacker would write them. */
const largeSpec = (index: number): Spec => {
  const value = `${index}-`.padEnd(8_000, "x")
  const target = { ...sampleSpec.target, type: "webhook", headers: { "x-large": value } } as const
  return { ...sampleSpec, target, onDead: target } as Spec
}

export const timerStorePagesSuite = (fixture: StoreFixture): void => {
  describe("large pages", () => {
    const law = lawsOf(fixture)

    /** Stores the timers, walks over all pages, and returns how many timers each page has. */
    const pagesOf = Effect.fnUntraced(function* (timers: ReadonlyArray<SampleTimer>, given: ListQuery) {
      const { store, write } = yield* owned
      const puts = timers.map((timer, index) =>
        samplePut({ ...timer, timerId: `t-${String(index).padStart(3, "0")}` }),
      )
      for (let first = 0; first < puts.length; first += 10) yield* write(puts.slice(first, first + 10))
      const seen: Array<string> = []
      const pages: Array<number> = []
      let cursor: string | undefined
      do {
        const page = yield* store.list({ ...given, ...(cursor === undefined ? {} : { cursor }) })
        const bytes = page.items.map(listedBytes)
        // The row that reaches the limit is the last one.
        expect(bytes.slice(0, -1).reduce((sum, row) => sum + row, 0)).toBeLessThan(pageBytesMax)
        expect(bytes.length).toBeGreaterThan(0)
        pages.push(page.items.length)
        seen.push(...page.items.flatMap((item) => (item.state === "pending" ? [item.timer.timerId] : [])))
        cursor = page.next
      } while (cursor !== undefined)
      expect(seen).toEqual(puts.map(({ timer }) => timer.timerId))
      return pages
    })

    law(
      "a page with payloads ends after a megabyte, and the next page continues after it",
      () =>
        Effect.gen(function* () {
          const payload = new Uint8Array(200_000).fill(0x31)
          const timers = Array.from({ length: 60 }, (_, index) => ({
            payload: index < 40 ? payload.slice(0, 10) : payload,
          }))
          // 40 small rows and 6 large ones, then 6 large ones on each page.
          expect(yield* pagesOf(timers, { ...query, includePayload: true })).toEqual([46, 6, 6, 2])
          const { store } = yield* owned
          const { items, next } = yield* store.list(query)
          expect([items.length, next]).toEqual([60, undefined])
        }),
      1,
    )

    law(
      "a page without payloads ends after a megabyte too, if its timers have many headers",
      () =>
        Effect.gen(function* () {
          const timers = Array.from({ length: 200 }, (_, index) => ({ spec: largeSpec(index) }))
          const pages = yield* pagesOf(timers, query)
          expect(pages.length).toBe(4)
          expect(Math.max(...pages)).toBeLessThan(70)
        }),
      1,
    )
  })
}
