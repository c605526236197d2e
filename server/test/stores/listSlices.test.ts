// A long list or count lets others run between its slices: it does not hold the engine's thread.
import { expect, test } from "bun:test"
import { Effect } from "effect"
import { MemoryStore } from "../../src/stores/memory/MemoryStore.ts"
import { owned } from "../../testkit/StoreFixture.ts"
import { samplePut } from "../../testkit/timers.ts"
import { turnsDuring } from "../../testkit/turnsDuring.ts"

test("others run between two slices of a list or a count", () =>
  Effect.runPromise(
    Effect.gen(function* () {
      const { store, write } = yield* owned
      for (let batch = 0; batch < 10; batch++)
        yield* write(Array.from({ length: 500 }, () => samplePut({ namespace: "shop" })))
      const scope = { namespace: "shop", state: "pending", host: "rare.test" } as const
      const page = { reversed: false, includePayload: false, limit: 10 }
      // 5,000 rows are 20 slices of 250.
      expect(yield* turnsDuring(store.list({ ...scope, ...page }))).toBeGreaterThanOrEqual(19)
      expect(yield* turnsDuring(store.count({ ...scope, limit: 10 }))).toBeGreaterThanOrEqual(19)
      // A page by an index alone is one slice.
      expect(yield* turnsDuring(store.list({ namespace: "shop", state: "pending", ...page }))).toBeLessThan(5)
    }).pipe(Effect.provide(MemoryStore.layer({ shards: 4 })), Effect.scoped),
  ))
