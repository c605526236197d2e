// The laws of the TimerStore port about counts by time. What a store counts is compared with a plain count over
// everything that was stored.
import { describe, expect, test } from "bun:test"
import { Effect, ManagedRuntime } from "effect"
import fc from "fast-check"
import type { HistogramQuery, ListedState } from "../src/ports/TimerStore.ts"
import { runsOf, timeLimitMsOf } from "./effort.ts"
import { anyQuery, filteredRows, isSelected, type Stored } from "./filteredRows.ts"
import { lawsOf, owned, type StoreFixture } from "./StoreFixture.ts"
import { putOf, sampleNow, sampleTimer } from "./timers.ts"

export const timerStoreHistogramSuite = (fixture: StoreFixture): void => {
  describe("histogram", () => {
    spanLaws(fixture)
    anyHistogramLaw(fixture)
  })
}

const spanLaws = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)

  law("a row at the beginning of a bucket belongs to it, and a row at the end of the span to none", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const times = [-1, 0, 9, 10, 19, 20, 29, 30]
      yield* write(times.map((ms) => putOf(sampleTimer({ fireAt: sampleNow + ms }))))
      const query: HistogramQuery = {
        namespace: "shop",
        state: "pending",
        inclusiveFromMs: sampleNow,
        exclusiveUntilMs: sampleNow + 30,
        buckets: 3,
      }
      expect(yield* store.histogram(query)).toEqual({ counts: [2, 2, 2], examined: 6, capped: false })
      expect(yield* store.histogram({ ...query, namespace: "none" })).toEqual({
        counts: [0, 0, 0],
        examined: 0,
        capped: false,
      })
    }),
  )

  law("a histogram over all shards counts all namespaces but reserved ones", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const names = ["a", "B", "_own", "z-9"]
      const timers = names.flatMap((namespace) =>
        [0, 1, 2].map((ms) => sampleTimer({ namespace, fireAt: sampleNow + ms })),
      )
      yield* write(timers.map((timer) => putOf(timer)))
      const { counts } = yield* store.histogram({
        namespace: { asked: ["*"], names: [], shards: 4 },
        state: "pending",
        inclusiveFromMs: sampleNow,
        exclusiveUntilMs: sampleNow + 3,
        buckets: 3,
      })
      expect(counts).toEqual([3, 3, 3])
    }),
  )
}

/** Another way to find the bucket: the one whose bounds are around the instant. */
const plainCounts = (rows: ReadonlyArray<Stored>, query: HistogramQuery): ReadonlyArray<number> => {
  const { inclusiveFromMs: from, exclusiveUntilMs: until, buckets } = query
  const width = (until - from) / buckets
  return Array.from({ length: buckets }, (_, index) => {
    const [begin, end] = [from + index * width, from + (index + 1) * width]
    return rows.filter(({ atMs }) => atMs >= begin && atMs < end).length
  })
}

const anySpan = fc
  .record({
    from: fc.integer({ min: -3, max: 9 }),
    steps: fc.nat(12),
    buckets: fc.constantFrom(1, 2, 4, 5, 8, 10),
  })
  .map(({ from, steps, buckets }) => ({
    inclusiveFromMs: sampleNow + from * 10,
    // All buckets have the same whole number of milliseconds, so the plain count is exact.
    exclusiveUntilMs: sampleNow + from * 10 + (steps + 1) * 40,
    buckets,
  }))

const anyHistogramLaw = (fixture: StoreFixture): void => {
  test(
    "any histogram counts in each bucket what a plain filter selects there",
    async () => {
      const runtime = ManagedRuntime.make(fixture.fresh({ shards: 4 }))
      try {
        const { store, write } = await runtime.runPromise(owned)
        const { puts, ends, stored } = filteredRows()
        await runtime.runPromise(write(puts))
        await runtime.runPromise(write(ends))
        await fc.assert(
          fc.asyncProperty(anyQuery, anySpan, async ({ limit: _, ...filter }, span) => {
            const query = { ...filter, ...span }
            const { namespace, state } = query
            const names = typeof namespace === "string" ? [namespace] : namespace.names
            const states: ReadonlyArray<ListedState> = typeof state === "string" ? [state] : state
            const rows = stored.filter(
              (one) => names.includes(one.namespace) && states.includes(one.state) && isSelected(one, query),
            )
            const { counts, capped } = await runtime.runPromise(store.histogram(query))
            expect({ counts, capped }).toEqual({ counts: [...plainCounts(rows, query)], capped: false })
          }),
          { numRuns: runsOf(200) },
        )
      } finally {
        await runtime.dispose()
      }
    },
    timeLimitMsOf(60_000),
  )
}
