// History that expires in the database: delivered and cancelled lives are gone after the retention without a prune, with
// everything that belongs to them. Pending timers and dead letters stay.
import { describe, expect, test } from "bun:test"
import { type Effect, ManagedRuntime } from "effect"
import { CassandraStore } from "../../../src/stores/cassandra/CassandraStore.ts"
import type { CassandraServer } from "../../../testkit/CassandraServer.ts"
import { sessionOn, targetOf } from "../../../testkit/cassandra.ts"
import { eventually } from "../../../testkit/eventually.ts"
import { owned, timerIn } from "../../../testkit/StoreFixture.ts"
import { cancelOf, delivered, outcomeOf, sampleId, sampleNow, samplePut } from "../../../testkit/timers.ts"

export const historyTests = (server: () => CassandraServer): void =>
  describe("history in Cassandra", () => {
    test("expires with all its rows, and leaves pending timers and dead letters", async () => {
      const url = server().newUrl()
      const runtime = ManagedRuntime.make(
        CassandraStore.layer({ target: targetOf(url), shards: 2, historyRetentionMs: 2_000 }),
      )
      const session = await sessionOn(url)
      try {
        const { store, write } = await runtime.runPromise(owned)
        const run = <A, E>(effect: Effect.Effect<A, E, never>) => runtime.runPromise(effect)
        const puts = ["ended", "cancelled", "both", "recurring", "kept"].map((timerId) =>
          samplePut({ timerId, tags: ["a"], payload: new Uint8Array([1]) }),
        )
        const [ended, cancelled, both, recurring] = puts.map(({ timer }) => timer)
        if (!ended || !cancelled || !both || !recurring) throw new Error("there are too few timers")
        await run(write(puts))
        await run(write([outcomeOf(both, { to: "dead", reason: "refused" })]))
        const again = samplePut({ timerId: "both", createdAt: sampleNow + 9 })
        const next = timerIn((await run(write([again])))[0])
        const then = { to: "rearmed", executeAt: sampleNow + 500, fireId: sampleId(), latenessMs: 1 } as const
        await run(
          write([
            outcomeOf(ended, delivered),
            cancelOf(cancelled),
            outcomeOf(next, delivered),
            outcomeOf(recurring, then),
          ]),
        )
        await eventually("all history has expired", async () => {
          const states = ["delivered", "cancelled"] as const
          const counts = await Promise.all(
            states.map((state) => run(store.count({ namespace: "shop", state, limit: 100 }))),
          )
          return counts.every(({ count }) => count === 0) ? true : undefined
        })
        for (const timer of [ended, cancelled]) {
          expect(await run(store.find(timer))).toEqual({ pending: undefined, last: undefined })
        }
        // The dead letter is the last life again.
        expect((await run(store.find(both))).last).toMatchObject({ state: "dead", fireId: both.fireId })
        expect((await run(store.find(recurring))).pending?.fireId).toBe(then.fireId)
        expect((await run(store.find(recurring))).last).toBeUndefined()
        const count = (state: "pending" | "dead") =>
          run(store.count({ namespace: "shop", state, limit: 100 }))
        expect([await count("pending"), await count("dead")]).toMatchObject([{ count: 2 }, { count: 1 }])
        expect((await run(store.tally)).delivered).toBe(3)
        // The keys can be used again, whatever is left of them.
        for (const timerId of ["ended", "cancelled", "both"]) {
          const [answer] = await run(write([samplePut({ timerId, createdAt: sampleNow + 99 })]))
          expect([timerId, answer?.result]).toEqual([timerId, "created"])
        }
        const [, , word] = await Promise.all(
          ["key", "life", "word"].map((_, index) =>
            session.rows("SELECT place FROM shards WHERE store = ? AND shard IN (0, 1) AND kind = ?", [
              session.store,
              [1, 2, 7][index] ?? 0,
            ]),
          ),
        )
        // Pending: recurring and kept with a tag and a correlation id each, three new timers with a correlation id, and the
        // dead letter with both.
        expect(word).toHaveLength(2 * 2 + 3 + 2)
      } finally {
        await session.close()
        await runtime.dispose()
      }
    }, 60_000)
  })
