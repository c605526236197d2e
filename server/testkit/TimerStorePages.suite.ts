// The law about large pages: a page with payloads ends when its payloads are large, and the walk over all pages still
// shows every timer once.
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import type { ListQuery } from "../src/ports/TimerStore.ts"
import { lawsOf, owned, type StoreFixture } from "./StoreFixture.ts"
import { samplePut } from "./timers.ts"

const mebibyte = 1024 * 1024

export const timerStorePagesSuite = (fixture: StoreFixture): void => {
  describe("large pages", () => {
    const law = lawsOf(fixture)

    law(
      "a page with payloads ends after a few megabytes, and the next page continues after it",
      () =>
        Effect.gen(function* () {
          const { store, write } = yield* owned
          const payload = new Uint8Array(200_000).fill(0x31)
          const puts = Array.from({ length: 100 }, (_, index) =>
            samplePut({
              namespace: "shop",
              timerId: `t-${String(index).padStart(3, "0")}`,
              payload: index < 40 ? payload.slice(0, 10) : payload,
            }),
          )
          for (let first = 0; first < puts.length; first += 10) yield* write(puts.slice(first, first + 10))
          const query: ListQuery = {
            namespace: "shop",
            state: "pending",
            idPrefix: "t-",
            reversed: false,
            includePayload: true,
            limit: 1_000,
          }
          const seen: Array<string> = []
          let pages = 0
          let cursor: string | undefined
          do {
            const page = yield* store.list({ ...query, ...(cursor === undefined ? {} : { cursor }) })
            const timers = page.items.flatMap((item) => (item.state === "pending" ? [item.timer] : []))
            const bytes = timers.reduce((sum, timer) => sum + (timer.payload?.byteLength ?? 0), 0)
            expect(timers.length).toBeGreaterThan(0)
            // The row that exceeds the limit is the last one.
            expect(bytes).toBeLessThan(4 * mebibyte + payload.byteLength)
            seen.push(...timers.map(({ timerId }) => timerId))
            cursor = page.next
            pages++
          } while (cursor !== undefined)
          expect(seen).toEqual(puts.map(({ timer }) => timer.timerId))
          expect(pages).toBe(3)
          // Without payloads, one page shows them all.
          const { items, next } = yield* store.list({ ...query, includePayload: false })
          expect([items.length, next]).toEqual([100, undefined])
        }),
      1,
    )
  })
}
