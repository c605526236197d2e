// A long list, count or histogram lets others run between its slices: it does not hold the engine's thread.
import { expect, test } from "bun:test"
import { Effect } from "effect"
import { ShardStorage } from "../../src/ports/ShardStorage.ts"
import { decidingStore } from "../../src/stores/DecidingStore.ts"
import { MemoryStore } from "../../src/stores/memory/MemoryStore.ts"
import { setOf } from "../../testkit/filteredRows.ts"
import { owned } from "../../testkit/StoreFixture.ts"
import { sampleId, samplePut } from "../../testkit/timers.ts"
import { turnsDuring } from "../../testkit/turnsDuring.ts"

test("others run between two slices of a list, a count or a histogram", () =>
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
      const span = { inclusiveFromMs: 0, exclusiveUntilMs: Number.MAX_SAFE_INTEGER, buckets: 10 }
      expect(yield* turnsDuring(store.histogram({ ...scope, ...span }))).toBeGreaterThanOrEqual(19)
      // Without the filter they are slices of up to 1,000.
      const { host: _, ...all } = scope
      expect(yield* turnsDuring(store.histogram({ ...all, ...span }))).toBeGreaterThanOrEqual(5)
      // A page by an index alone is one slice.
      expect(yield* turnsDuring(store.list({ namespace: "shop", state: "pending", ...page }))).toBeLessThan(5)
    }).pipe(Effect.provide(MemoryStore.layer({ shards: 4 })), Effect.scoped),
  ))

test("a page reads at most 64 rows at once, and few rows beyond its limit of bytes", () =>
  Effect.runPromise(
    Effect.gen(function* () {
      const { write } = yield* owned
      const storage = yield* ShardStorage
      const looks: Array<number> = []
      const counting = decidingStore({
        ...storage,
        look: (keys) => {
          looks.push(keys.length)
          return storage.look(keys)
        },
      })
      const tags = Array.from({ length: 10 }, (_, index) => `${index}`.padEnd(1_000, "x"))
      yield* write(Array.from({ length: 1_000 }, () => samplePut({ namespace: "large", tags })))
      yield* write(Array.from({ length: 1_000 }, () => samplePut({ namespace: "small" })))
      const query = { state: "pending", reversed: false, includePayload: false, limit: 1_000 } as const
      const large = yield* counting.list({ ...query, namespace: "large" })
      expect(large.items.length).toBeLessThan(110)
      expect(looks.reduce((sum, rows) => sum + rows, 0)).toBe(large.items.length)
      looks.length = 0
      const small = yield* counting.list({ ...query, namespace: "small" })
      expect([small.items.length, small.next]).toEqual([1_000, undefined])
      expect(Math.max(...looks)).toBe(64)
    }).pipe(Effect.provide(MemoryStore.layer({ shards: 4 })), Effect.scoped),
  ))

test("a search by a word over many namespaces reads only rows that have the word", () =>
  Effect.runPromise(
    Effect.gen(function* () {
      const { write } = yield* owned
      const storage = yield* ShardStorage
      let rows = 0
      const counting = decidingStore({
        ...storage,
        scan: (scans) =>
          Effect.map(storage.scan(scans), (pages) => {
            for (const page of pages) rows += page.length
            return pages
          }),
      })
      const names = Array.from({ length: 300 }, (_, index) => `n${index}`)
      const others = names.flatMap((namespace) => [samplePut({ namespace }), samplePut({ namespace })])
      const words = { correlationId: sampleId(), tags: ["rare"] }
      yield* write([
        ...others,
        samplePut({ namespace: "n7", ...words }),
        samplePut({ namespace: "n299", ...words }),
      ])
      const scope = { namespace: setOf(...names), state: ["pending", "dead"] } as const
      const page = { reversed: false, includePayload: false, limit: 10 }
      // No row may lack a word for an id of another form, so a search that finds nothing reads nothing.
      for (const [filter, found] of [
        [{ tag: "rare" }, 2],
        [{ correlationId: words.correlationId }, 2],
        [{ tag: "none" }, 0],
        [{ correlationId: "none" }, 0],
      ] as const) {
        rows = 0
        const { items, next } = yield* counting.list({ ...scope, ...page, ...filter })
        expect([filter, items.length, next, rows]).toEqual([filter, found, undefined, found])
        expect(yield* counting.count({ ...scope, ...filter, limit: 10 })).toEqual({
          count: found,
          capped: false,
        })
      }
    }).pipe(Effect.provide(MemoryStore.layer({ shards: 4 })), Effect.scoped),
  ))
