// What deleted rows cost. Cassandra keeps them for a day and reads over them, so the store must not read from places
// where many rows were deleted. The server's own tracing tells how many deleted rows a statement has read.
import { describe, expect, test } from "bun:test"
import { Effect, ManagedRuntime } from "effect"
import { beginning } from "../../../src/domain/DueOrder.ts"
import type { Timer } from "../../../src/domain/Timer.ts"
import { ShardStorage } from "../../../src/ports/ShardStorage.ts"
import { kinds, placeOf } from "../../../src/stores/cassandra/places.ts"
import type { Session } from "../../../src/stores/cassandra/Session.ts"
import type { CassandraServer } from "../../../testkit/CassandraServer.ts"
import { cassandraLayer, sessionOn, tracedEvents } from "../../../testkit/cassandra.ts"
import { movesOfOneTimer as moves } from "../../../testkit/effort.ts"
import { eventually } from "../../../testkit/eventually.ts"
import { owned, timerIn } from "../../../testkit/StoreFixture.ts"
import { changeOf, delivered, outcomeOf, sampleNow, samplePut } from "../../../testkit/timers.ts"

export const tombstoneTests = (server: () => CassandraServer): void =>
  describe("deleted rows in Cassandra", () => {
    test("a condition on static columns reads the partition up to its first live row, which is why one is never deleted", async () => {
      const url = server().newUrl()
      await using session = await disposable(url)
      await session.define(
        "CREATE TABLE IF NOT EXISTS traced (p int, c int, v int, s int static, PRIMARY KEY (p, c))",
      )
      const deleted = 500
      for (const partition of [1, 2]) {
        await session.rows("INSERT INTO traced (p, c, v, s) VALUES (?, -1, 0, 0)", [partition])
        for (let row = 0; row < deleted; row++) {
          await session.rows("INSERT INTO traced (p, c, v) VALUES (?, ?, 0)", [partition, row])
          await session.rows("DELETE FROM traced WHERE p = ? AND c = ?", [partition, row])
        }
      }
      // Only the second partition loses its first row.
      await session.rows("DELETE FROM traced WHERE p = 2 AND c = -1")
      const update = "UPDATE traced SET s = 1 WHERE p = ? IF s = 0"
      expect(await tombstonesRead(url, update, [1])).toBeLessThan(10)
      expect(await tombstonesRead(url, update, [2])).toBeGreaterThanOrEqual(deleted)
    })

    test(`a timer that is moved ${moves} times leaves one row, and neither reads nor commits read its deleted rows`, async () => {
      const url = server().newUrl()
      await using runtime = disposableRuntime(url)
      await using session = await disposable(url)
      const { write, store } = await runtime.run(owned)
      const created = samplePut({ timerId: "moved", payload: new Uint8Array([1]), tags: ["a"] })
      await runtime.run(write([created]))
      let timer: Timer = created.timer
      for (let move = 1; move <= moves; move++) {
        const [answer] = await runtime.run(write([changeOf(timer, { executeAt: sampleNow + 1_000 * move })]))
        timer = timerIn(answer)
      }
      const all = {
        shard: 0,
        exclusiveAfter: beginning,
        inclusiveUntilMs: Number.MAX_SAFE_INTEGER,
        limit: 10,
      }
      expect((await runtime.run(store.due(all))).timers).toEqual([timer])
      // Two reads: the first finds where the timer is now, and the next commit stores that.
      await runtime.run(store.dueHeads(all))
      await runtime.run(write([samplePut({ timerId: "later", fireAt: sampleNow + 1e9 })]))
      for (const kind of [kinds.key, kinds.due, kinds.dueOf]) {
        const rows = await session.rows(
          `SELECT place FROM shards WHERE store = ? AND shard = 0 AND kind = ${kind}`,
          [session.store],
        )
        expect([kind, rows.length]).toEqual([kind, 2])
      }
      const [fence] = await session.rows(
        `SELECT kind, low FROM shards WHERE store = ? AND shard = 0 AND kind = ${kinds.anchor}`,
        [session.store],
      )
      expect(fence?.["low"]).toBe(BigInt(timer.fireAt))
      const due = `SELECT place FROM shards WHERE store = ? AND shard = 0 AND kind = ${kinds.due} AND place >= ? LIMIT 10`
      expect(await tombstonesRead(url, due, [session.store, placeOf(timer.fireAt)])).toBeLessThan(10)
      expect(await tombstonesRead(url, due, [session.store, placeOf(0)])).toBeGreaterThanOrEqual(moves)
      const commit = "UPDATE shards SET number = 0 WHERE store = ? AND shard = 0 IF epoch = -1"
      expect(await tombstonesRead(url, commit, [session.store])).toBeLessThan(10)
      // The bodies of the moves are gone, and one deleted range stands for all of them.
      await eventually("the old bodies are removed", async () => {
        const rows = await session.rows("SELECT part FROM bodies WHERE store = ? ALLOW FILTERING", [
          session.store,
        ])
        return rows.length === 3 ? true : undefined
      })
      const body = "SELECT part FROM bodies WHERE store = ? AND uuid = ?"
      expect(await tombstonesRead(url, body, [session.store, Buffer.from(timer.uuid, "hex")])).toBeLessThan(
        20,
      )
    }, 600_000)

    test("`low` never hides a timer that is added while it is raised", async () => {
      const url = server().newUrl()
      await using runtime = disposableRuntime(url)
      const { write, store } = await runtime.run(owned)
      const storage = await runtime.run(ShardStorage)
      const all = {
        shard: 0,
        exclusiveAfter: beginning,
        inclusiveUntilMs: Number.MAX_SAFE_INTEGER,
        limit: 1_000,
      }
      const expected: Array<string> = []
      for (let round = 20; round > 0; round--) {
        // Each round adds timers that are due earlier than all others, while two reads are under way.
        const puts = [0, 1].map((part) =>
          samplePut({ timerId: `t${round}-${part}`, fireAt: sampleNow + 10 * round + part }),
        )
        await Promise.all([
          runtime.run(write(puts)),
          runtime.run(storage.dueHeads(all)),
          runtime.run(store.due(all)),
        ])
        expected.unshift(...puts.map(({ timer }) => timer.timerId))
        const found = await runtime.run(store.dueHeads(all))
        expect(found.map(({ timerId }) => timerId)).toEqual(expected)
      }
      const [first] = (await runtime.run(store.due({ ...all, limit: 1 }))).timers
      if (first === undefined) throw new Error("there is no timer")
      await runtime.run(write([outcomeOf(first, delivered)]))
      expect((await runtime.run(store.dueHeads(all))).map(({ timerId }) => timerId)).toEqual(
        expected.slice(1),
      )
    })
  })

const disposable = async (url: string): Promise<Session & AsyncDisposable> => {
  // The store's layer makes the keyspace.
  await Effect.runPromise(Effect.scoped(Effect.provide(Effect.void, cassandraLayer(url, 1))))
  const session = await sessionOn(url)
  return Object.assign(session, { [Symbol.asyncDispose]: () => session.close() })
}

const disposableRuntime = (url: string) => {
  const runtime = ManagedRuntime.make(cassandraLayer(url, 1))
  return {
    run: runtime.runPromise.bind(runtime),
    [Symbol.asyncDispose]: () => runtime.dispose(),
  }
}

/** How many deleted cells and rows the server has read for a statement. */
const tombstonesRead = async (
  url: string,
  query: string,
  params: ReadonlyArray<string | number | Buffer>,
): Promise<number> => {
  const events = await tracedEvents(url, query, params)
  const counts = events.flatMap((event) => /live rows.* and (\d+) tombstone/.exec(event)?.[1] ?? [])
  return counts.reduce((sum, count) => sum + Number(count), 0)
}
