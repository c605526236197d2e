// Fences of different shards do not wait for each other.
import { expect, test } from "bun:test"
import { Effect } from "effect"
import { ShardLeases } from "../../../src/ports/ShardLeases.ts"
import { TimerStore } from "../../../src/ports/TimerStore.ts"
import { Session } from "../../../src/stores/mysql/MysqlSessions.ts"
import type { MysqlFlavour } from "../../../testkit/MysqlServer.ts"
import { describeMysql, mysqlForTests, mysqlStoreAt, targetAt } from "../../../testkit/mysql.ts"
import { samplePut } from "../../../testkit/timers.ts"

for (const flavour of ["mysql", "mariadb", "tidb"] satisfies ReadonlyArray<MysqlFlavour>) {
  describeMysql(flavour, `fences on ${flavour}`, () => {
    const server = mysqlForTests(flavour)

    test("a commit does not wait for the fences of other shards, with one round trip or with two", async () => {
      const { url } = await server().database()
      const other = new Session(targetAt(url), "writing")
      const results = await Effect.runPromise(
        Effect.gen(function* () {
          const leases = yield* ShardLeases
          const store = yield* TimerStore
          for (const lease of yield* leases.owners) yield* leases.claim(lease, "node")
          yield* Effect.promise(() => other.begin(["SELECT shard FROM shards WHERE shard = 3 FOR UPDATE"]))
          const batches = [1, 2, 5, 6].map((shard) => ({ shard, epoch: 1, items: [samplePut()] }))
          // The keys of the second write are in use, so it needs two round trips.
          return [yield* store.write(batches), yield* store.write(batches)]
        }).pipe(Effect.provide(mysqlStoreAt(url, 8)), Effect.scoped),
      )
      await other.close()
      expect(results.flat().map(({ result }) => result)).toEqual(Array(8).fill("written"))
    }, 60_000)
  })
}
