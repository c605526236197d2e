// What the SQLite store does besides the port's suite, seen from another connection.
import { Database } from "bun:sqlite"
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { Effect, Fiber } from "effect"
import type { Timer } from "../../../src/domain/Timer.ts"
import { madeCorrelationId } from "../../../src/domain/words.ts"
import { setOf } from "../../../testkit/filteredRows.ts"
import { at, idsOf, owned, type Store, timerIn, walkList } from "../../../testkit/StoreFixture.ts"
import { sqliteAt, type TemporaryFolder, temporaryFolder } from "../../../testkit/sqlite.ts"
import {
  cancelOf,
  delivered,
  outcomeOf,
  putOf,
  sampleId,
  sampleNow,
  samplePut,
  sampleTimer,
  scheduleOf,
} from "../../../testkit/timers.ts"

let folder: TemporaryFolder
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(() => folder.dispose())

const withStore = <A>(body: Effect.Effect<A, unknown, Store>): Promise<A> =>
  Effect.runPromise(body.pipe(Effect.provide(sqliteAt(folder.database, { shards: 1 })), Effect.scoped))

const beside = Effect.acquireRelease(
  Effect.sync(() => new Database(folder.database)),
  (database) => Effect.sync(() => database.close()),
)

describe("the SQLite writer", () => {
  test("a claim that commits while a write waits makes that write fail", () =>
    withStore(
      Effect.scoped(
        Effect.gen(function* () {
          const { store, batchOf } = yield* owned
          const other = yield* beside
          const put = samplePut()
          other.run("BEGIN IMMEDIATE")
          other.run("UPDATE shards SET epoch = epoch + 1")
          const writing = yield* Effect.forkChild(store.write([batchOf(0, [put])]), {
            startImmediately: true,
          })
          other.run("COMMIT")
          expect(yield* Fiber.join(writing)).toEqual([{ result: "ownershipLost" }])
          expect((yield* store.find(put.timer)).pending).toBeUndefined()
        }),
      ),
    ))

  test("a timer with neither tags nor a caller's correlation id writes no words, and pruning leaves none behind", () =>
    withStore(
      Effect.scoped(
        Effect.gen(function* () {
          const { store, write } = yield* owned
          const other = yield* beside
          other.run("CREATE TABLE seen (what TEXT)")
          for (const what of ["INSERT", "DELETE"]) {
            other.run(
              `CREATE TRIGGER seen_${what} AFTER ${what} ON lookups BEGIN INSERT INTO seen VALUES ('${what}'); END`,
            )
          }
          const seen = () =>
            other.query("SELECT what, count(*) FROM seen GROUP BY what ORDER BY what").values()
          const live = Effect.fnUntraced(function* (timer: Timer) {
            const [retried] = yield* write([putOf(timer), outcomeOf(timer, { to: "retry", fireAt: 7 })])
            expect(retried).toMatchObject({ result: "created" })
            yield* write([cancelOf(timer)])
          })
          yield* live(sampleTimer({ correlationId: madeCorrelationId(sampleId()) }))
          expect(seen()).toEqual([])
          yield* live(sampleTimer({ tags: ["a", "b"], correlationId: "order-1" }))
          // Three words: with the create, at the time of the retry, and with the life that remains.
          expect(seen()).toEqual([
            ["DELETE", 6],
            ["INSERT", 9],
          ])
          expect(yield* store.prune(Number.MAX_SAFE_INTEGER, 100)).toBe(2)
          expect(other.query("SELECT count(*) FROM lookups").values()).toEqual([[0]])
        }),
      ),
    ))

  test("rows that an older program wrote without words are found by correlation id, in pages and counts", () =>
    withStore(
      Effect.scoped(
        Effect.gen(function* () {
          const { store, write } = yield* owned
          const other = yield* beside
          // The program without the index made ids of this form.
          const correlationId = sampleId()
          const timers = [1, 2, 3, 4].map((n) =>
            sampleTimer({
              namespace: n % 2 === 0 ? "shop" : "crm",
              correlationId,
              fireAt: sampleNow + n,
            }),
          )
          yield* write([...timers, sampleTimer()].map((timer) => putOf(timer)))
          other.run("DELETE FROM lookups")
          const query = { namespace: setOf("shop", "crm"), state: "pending", correlationId } as const
          const pages = yield* walkList({ ...query, reversed: false, includePayload: false, limit: 3 })
          expect(idsOf(pages)).toEqual(timers.map(({ timerId }) => timerId))
          expect(yield* store.count({ ...query, limit: 9 })).toEqual({ count: 4, capped: false })
        }),
      ),
    ))

  test("a retry, a re-arming, a move and a delivery do not write a payload", () =>
    withStore(
      Effect.scoped(
        Effect.gen(function* () {
          const { write } = yield* owned
          const other = yield* beside
          other.run("CREATE TABLE seen (what TEXT)")
          other.run(
            "CREATE TRIGGER updated AFTER UPDATE ON bodies BEGIN INSERT INTO seen VALUES ('update'); END",
          )
          other.run(
            "CREATE TRIGGER inserted AFTER INSERT ON bodies BEGIN INSERT INTO seen VALUES ('insert'); END",
          )
          const payload = new Uint8Array(65_536).fill(7)
          const { timer } = samplePut({ payload })
          yield* write([putOf(timer)])
          const retried = timerIn(
            at(yield* write([outcomeOf(timer, { to: "retry", fireAt: sampleNow + 9 })]), 0),
          )
          const again = {
            to: "rearmed",
            executeAt: sampleNow + 99,
            fireId: sampleTimer().fireId,
            latenessMs: 0,
          } as const
          const rearmed = timerIn(at(yield* write([outcomeOf(retried, again)]), 0))
          expect(rearmed.payload).toEqual(payload)
          const later = sampleTimer({
            timerId: timer.timerId,
            askedAt: rearmed.updatedAt,
            fireAt: sampleNow + 999,
          })
          const moved = timerIn(at(yield* write([scheduleOf(later)]), 0))
          expect(moved.payload).toEqual(payload)
          yield* write([outcomeOf(moved, delivered)])
          expect(other.query("SELECT what FROM seen").values()).toEqual([["insert"]])
          expect(other.query("SELECT count(*) FROM bodies").values()).toEqual([[0]])
        }),
      ),
    ))

  test("an item that the database refuses does not fail the other items, nor leaves half of itself", () =>
    withStore(
      Effect.scoped(
        Effect.gen(function* () {
          const { store, write } = yield* owned
          const good = [samplePut(), samplePut(), samplePut()] as const
          const bad = [samplePut({ fireAt: 1.5 }), samplePut({ fireId: "no uuid" })] as const
          const answers = yield* write([good[0], bad[0], good[1], bad[1], good[2]])
          expect(answers.map(({ result }) => result)).toEqual([
            "created",
            "unstorable",
            "created",
            "unstorable",
            "created",
          ])
          for (const { timer } of good) expect((yield* store.find(timer)).pending).toEqual(timer)
          expect((yield* store.tally).created).toBe(3)
          const other = yield* beside
          expect(other.query("SELECT count(*) FROM bodies").values()).toEqual([[3]])
        }),
      ),
    ))

  test("an item that fails halfway is undone completely", () =>
    withStore(
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const [kept, ended] = [samplePut(), samplePut()]
        yield* write([kept, ended])
        const answers = yield* write([
          outcomeOf(kept.timer, { to: "delivered", latenessMs: 1.5 }),
          outcomeOf(ended.timer, delivered),
        ])
        expect(answers.map(({ result }) => result)).toEqual(["unstorable", "settled"])
        expect(yield* store.find(kept.timer)).toEqual({ pending: kept.timer, last: undefined })
        expect(yield* store.tally).toMatchObject({ created: 2, delivered: 1 })
      }),
    ))

  test("pruning continues past entries from a clock that was ahead, even more than one call looks at", () =>
    withStore(
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const puts = Array.from({ length: 1_300 }, () => samplePut())
        yield* write(puts)
        yield* write(
          puts.map(({ timer }, index) =>
            cancelOf(timer, { at: index < 1_200 ? sampleNow + 3e10 : sampleNow }),
          ),
        )
        let removed = 0
        for (let call = 0; call < 40; call++) removed += yield* store.prune(sampleNow + 1, 10)
        expect(removed).toBe(100)
      }),
    ))

  test("the readable views show times and ids as people write them", () =>
    withStore(
      Effect.scoped(
        Effect.gen(function* () {
          const { write } = yield* owned
          const put = samplePut({ timerId: "shown", payload: new TextEncoder().encode('{"a":1}') })
          yield* write([put])
          const other = yield* beside
          const row = other.query("SELECT timer_id, fire_at, uuid, payload FROM timers_readable").values()[0]
          const shownAt = new Date(put.timer.fireAt).toISOString()
          expect(row).toEqual(["shown", shownAt, put.timer.uuid, '{"a":1}'])
          yield* write([outcomeOf(put.timer, delivered)])
          const ended = other.query("SELECT timer_id, state FROM history_readable").values()
          expect(ended).toEqual([["shown", "delivered"]])
        }),
      ),
    ))
})
