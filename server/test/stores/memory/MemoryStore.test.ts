import { describe, expect, test } from "bun:test"
import { Effect, Layer } from "effect"
import type { Timer } from "../../../src/domain/Timer.ts"
import { ShardLeases } from "../../../src/ports/ShardLeases.ts"
import { TimerStore } from "../../../src/ports/TimerStore.ts"
import { makeMemoryDatabase } from "../../../src/stores/memory/MemoryDatabase.ts"
import { MemoryStore } from "../../../src/stores/memory/MemoryStore.ts"
import { damageInMemory } from "../../../testkit/memoryDamage.ts"
import { RowDamage } from "../../../testkit/RowDamage.ts"
import { shardLeasesSuite } from "../../../testkit/ShardLeases.suite.ts"
import { shardStorageSuite } from "../../../testkit/ShardStorage.suite.ts"
import { at, owned, type StoreFixture } from "../../../testkit/StoreFixture.ts"
import { timerStoreSuite } from "../../../testkit/TimerStore.suite.ts"
import { cancelOf, changeOf, discardOf, outcomeOf, samplePut } from "../../../testkit/timers.ts"

const fixture: StoreFixture = {
  name: "memory",
  fresh: (options) => MemoryStore.layer(options),
  damageable: (options) =>
    Layer.unwrap(
      Effect.sync(() => {
        const database = makeMemoryDatabase(options)
        return Layer.merge(MemoryStore.over(database), Layer.succeed(RowDamage, damageInMemory(database)))
      }),
    ),
  reopened: { skipped: "memory keeps nothing beyond its process, by design" },
}

timerStoreSuite(fixture)
shardStorageSuite({
  name: "memory",
  storage: (options) => MemoryStore.layer(options),
  refusedTimer: { skipped: "memory holds whatever it is given" },
})
shardLeasesSuite(fixture)

describe("a memory database shared by nodes", () => {
  test("keeps no words of removed rows", () => {
    const database = makeMemoryDatabase({ shards: 1 })
    const puts = [samplePut({ tags: ["a", "b"] }), samplePut({ tags: ["a"] }), samplePut({ tags: ["c"] })]
    Effect.runSync(
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const [first, second, third] = puts.map(({ timer }) => timer) as [Timer, Timer, Timer]
        yield* write(puts)
        yield* write([outcomeOf(first, { to: "retry", fireAt: 5 }), changeOf(second, { tags: ["d"] })])
        yield* write([cancelOf(first), cancelOf(second), outcomeOf(third, { to: "dead", reason: "refused" })])
        yield* write([discardOf(third)])
        expect(database.index("shop").words.size).toBeGreaterThan(0)
        expect(yield* store.prune(Number.MAX_SAFE_INTEGER, 10)).toBe(2)
      }).pipe(Effect.provide(MemoryStore.over(database))),
    )
    expect([...database.index("shop").words.keys()]).toEqual([])
  })

  test("one node reads what another writes, and a claim fences the first node", () => {
    const database = makeMemoryDatabase({ shards: 1 })
    const [first, second] = [MemoryStore.over(database), MemoryStore.over(database)]
    const put = samplePut()
    const epoch = Effect.runSync(
      Effect.gen(function* () {
        const { write, epochs } = yield* owned
        yield* write([put])
        return at(epochs, 0)
      }).pipe(Effect.provide(first)),
    )
    Effect.runSync(
      Effect.gen(function* () {
        const leases = yield* ShardLeases
        expect((yield* (yield* TimerStore).find(put.timer)).pending).toEqual(put.timer)
        expect(yield* leases.claim(at(yield* leases.owners, 0), "node-2")).toBeDefined()
      }).pipe(Effect.provide(second)),
    )
    const late = Effect.runSync(
      Effect.flatMap(TimerStore, (store) => store.write([{ shard: 0, epoch, items: [samplePut()] }])).pipe(
        Effect.provide(first),
      ),
    )
    expect(late).toEqual([{ result: "ownershipLost" }])
  })
})
