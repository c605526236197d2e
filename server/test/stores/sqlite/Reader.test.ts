// Long lists, counts and histograms in the reader thread: they run in slices, and they also find rows that the index of words lacks.
import { Database } from "bun:sqlite"
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { Effect, Fiber } from "effect"
import { beginning } from "../../../src/domain/DueOrder.ts"
import type { ListQuery } from "../../../src/ports/TimerStore.ts"
import { Lookup } from "../../../src/stores/sqlite/Lookup.ts"
import { idsOfReader } from "../../../src/stores/sqlite/level0/pendingIds.ts"
import { ReaderOrders } from "../../../src/stores/sqlite/level0/ReaderOrders.ts"
import { openForReading } from "../../../src/stores/sqlite/openDatabase.ts"
import { mostInSlice, Reader } from "../../../src/stores/sqlite/Reader.ts"
import { at, idsOf, owned, walkList } from "../../../testkit/StoreFixture.ts"
import { sqliteAt, type TemporaryFolder, temporaryFolder } from "../../../testkit/sqlite.ts"
import { putOf, sampleNow, sampleTimer } from "../../../testkit/timers.ts"

let folder: TemporaryFolder
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(() => folder.dispose())

const names = Array.from({ length: 1_000 }, (_, index) => `tenant-${index}`)

/** A list of 4,000 lanes. */
const wide: ListQuery = {
  namespace: { asked: ["tenant-*"], names },
  state: ["pending", "delivered", "cancelled", "dead"],
  reversed: false,
  includePayload: false,
  limit: 300,
}

const inStore = <A>(work: Effect.Effect<A, unknown, Effect.Services<typeof owned>>) =>
  Effect.runPromise(work.pipe(Effect.provide(sqliteAt(folder.database, { shards: 1 })), Effect.scoped))

const stored = Array.from({ length: 600 }, (_, index) =>
  sampleTimer({ namespace: at(names, index % 1_000), fireAt: sampleNow + index }),
)

/** Counts the statements of scans and counts. */
const countingStatements = (database: Database) => {
  const counter = { statements: 0 }
  const prepare = database.prepare.bind(database)
  database.prepare = ((sql: string) => {
    const statement = prepare(sql)
    const values = statement.values.bind(statement)
    statement.values = (...bound) => {
      counter.statements++
      return values(...bound)
    }
    return statement
  }) as typeof database.prepare
  return counter
}

describe("a list, a count or a histogram over many lanes", () => {
  test("stops after a bounded number of statements and rows, and asks each lane only once", async () => {
    await inStore(Effect.flatMap(owned, ({ write }) => write(stored.map((timer) => putOf(timer)))))
    const database = openForReading({ path: folder.database, shards: 1 })
    const orders = new ReaderOrders(database, { isReadOnly: true })
    const lookup = new Lookup(database, idsOfReader(orders))
    const counter = countingStatements(database)
    const reader = new Reader(orders, lookup)
    /** The statements of each slice. */
    const slicesOf = (work: Generator<void, unknown>): ReadonlyArray<number> => {
      const slices: Array<number> = []
      for (let isDone = false; !isDone; ) {
        counter.statements = 0
        isDone = work.next().done === true
        slices.push(counter.statements)
      }
      return slices
    }
    const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((a, b) => a + b, 0)
    const span = { inclusiveFromMs: 0, exclusiveUntilMs: Number.MAX_SAFE_INTEGER, buckets: 10 }
    for (const [work, most] of [
      [reader.list(wide, undefined), 4_000],
      [reader.list({ ...wide, host: "rare.test" }, undefined), 4_000],
      [reader.count({ ...wide, limit: 1_000 }), 4_000],
      [reader.count({ ...wide, host: "rare.test", limit: 1_000 }), 4_000],
      [reader.histogram({ ...wide, ...span }), 4_000],
    ] as const) {
      const slices = slicesOf(work)
      expect(Math.max(...slices)).toBeLessThanOrEqual(mostInSlice.statements)
      expect(sum(slices)).toBe(most)
    }
    // The rows of one namespace are few statements.
    expect(slicesOf(reader.list({ ...wide, namespace: "tenant-1", state: "pending" }, undefined))).toEqual([
      1,
    ])
    database.close()
  })

  test("lets reads of due timers pass", () =>
    inStore(
      Effect.gen(function* () {
        const { store, write } = yield* owned
        yield* write(stored.map((timer) => putOf(timer)))
        const ended: Array<string> = []
        const noting = <A, E>(name: string, work: Effect.Effect<A, E>) =>
          Effect.tap(work, () => Effect.sync(() => ended.push(name)))
        const due = store.due({
          shard: 0,
          exclusiveAfter: beginning,
          inclusiveUntilMs: sampleNow,
          limit: 10,
        })
        const fibers = yield* Effect.all(
          [
            noting("list", store.list(wide)),
            noting("count", store.count({ ...wide, limit: 1_000 })),
            noting("due", due),
          ].map((work) => Effect.forkChild(work, { startImmediately: true })),
        )
        for (const fiber of fibers) yield* Fiber.join(fiber)
        expect(ended[0]).toBe("due")
        expect(ended).toHaveLength(3)
      }),
    ))

  test("stops if nobody waits for it, and the store still answers", () =>
    inStore(
      Effect.gen(function* () {
        const { store } = yield* owned
        const list = yield* Effect.forkChild(store.list(wide), { startImmediately: true })
        yield* Fiber.interrupt(list)
        expect((yield* store.list({ ...wide, namespace: "tenant-1" })).items).toEqual([])
      }),
    ))
})

describe("rows from before the index of words", () => {
  /** Only ids of this form can lack words (docs/adr/0084). */
  const correlationId = "01976f5e-7c00-7000-8000-0000000000aa"
  const names = ["a", "b", "c", "d"]
  const asked = [...names, "none"]
  const query: ListQuery = {
    namespace: { asked, names: asked },
    state: "pending",
    correlationId,
    reversed: false,
    includePayload: false,
    limit: 100,
  }

  /** Timers of four namespaces, two thirds of them with the id, after a change of the index. Returns those with the id. */
  const timersAfter = async (change: string) => {
    const timers = Array.from({ length: 24 }, (_, index) =>
      sampleTimer({
        namespace: at(names, index % 4),
        fireAt: sampleNow + (index >> 1),
        ...(index % 3 === 0 ? {} : { correlationId }),
      }),
    )
    await inStore(Effect.flatMap(owned, ({ write }) => write(timers.map((timer) => putOf(timer)))))
    const file = new Database(folder.database)
    file.run(change)
    file.close()
    return timers.filter((timer) => timer.correlationId === correlationId)
  }

  test("are found in all namespaces if the index has no row of the id", async () => {
    const expected = await timersAfter("DELETE FROM lookups")
    await inStore(
      Effect.gen(function* () {
        const { store } = yield* owned
        for (const limit of [1, 2, 3, 100]) {
          const found = idsOf(yield* walkList({ ...query, limit }))
          expect(found).toEqual(expected.map(({ timerId }) => timerId))
          const backwards = yield* walkList({ ...query, limit, reversed: true })
          expect(idsOf(backwards)).toEqual(found.toReversed())
        }
        expect(yield* store.count({ ...query, limit: 100 })).toEqual({ count: 16, capped: false })
        expect(yield* store.count({ ...query, limit: 15 })).toEqual({ count: 15, capped: true })
      }),
    )
  })

  test("are left out if the index has a row of the id, and pages of all sizes agree about it", async () => {
    const timers = await timersAfter("DELETE FROM lookups WHERE namespace IN ('b', 'd')")
    const indexed = timers.filter(({ namespace }) => namespace === "a" || namespace === "c")
    await inStore(
      Effect.gen(function* () {
        const { store } = yield* owned
        for (const limit of [1, 2, 3, 100]) {
          expect(idsOf(yield* walkList({ ...query, limit }))).toEqual(indexed.map(({ timerId }) => timerId))
        }
        expect(yield* store.count({ ...query, limit: 100 })).toEqual({ count: indexed.length, capped: false })
      }),
    )
  })
})
