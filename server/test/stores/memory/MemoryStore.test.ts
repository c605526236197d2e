import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { ShardLeases } from "../../../src/ports/ShardLeases.ts"
import { TimerStore } from "../../../src/ports/TimerStore.ts"
import { makeMemoryDatabase } from "../../../src/stores/memory/MemoryDatabase.ts"
import { MemoryStore } from "../../../src/stores/memory/MemoryStore.ts"
import { namespaceStoreSuite } from "../../../testkit/NamespaceStore.suite.ts"
import { shardLeasesSuite } from "../../../testkit/ShardLeases.suite.ts"
import { at, owned, type StoreFixture } from "../../../testkit/StoreFixture.ts"
import { timerStoreSuite } from "../../../testkit/TimerStore.suite.ts"
import { samplePut } from "../../../testkit/timers.ts"

const fixture: StoreFixture = {
  name: "memory",
  fresh: (options) => MemoryStore.layer(options),
  reopened: { skipped: "memory keeps nothing beyond its process, by design" },
}

timerStoreSuite(fixture)
shardLeasesSuite(fixture)
namespaceStoreSuite(fixture)

describe("a memory database shared by nodes", () => {
  test("what one node writes the other reads, and a claim fences the first", () => {
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
      Effect.flatMap(TimerStore, (store) =>
        store.write([{ shard: 0, epoch, number: 1, items: [samplePut()] }]),
      ).pipe(Effect.provide(first)),
    )
    expect(late).toEqual([{ result: "ownershipLost" }])
  })
})
