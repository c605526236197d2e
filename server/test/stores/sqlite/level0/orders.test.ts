// The orders of pending timers: what a merge does with them, and what happens if they are not as they should be.
import { Database } from "bun:sqlite"
import { afterEach, beforeEach, expect, test } from "bun:test"
import { Effect, Layer } from "effect"
import { Merge, MergeContradiction } from "../../../../src/stores/sqlite/level0/Merge.ts"
import { MergeWork, mergingOf } from "../../../../src/stores/sqlite/level0/MergeWork.ts"
import { openOrders } from "../../../../src/stores/sqlite/level0/openOrders.ts"
import { ReaderOrders } from "../../../../src/stores/sqlite/level0/ReaderOrders.ts"
import type { WriterOrders } from "../../../../src/stores/sqlite/level0/WriterOrders.ts"
import { openForWriting } from "../../../../src/stores/sqlite/openDatabase.ts"
import type { ProcessLock } from "../../../../src/stores/sqlite/ProcessLock.ts"
import { examineFile } from "../../../../src/stores/sqlite/SqliteDoctor.ts"
import { owned } from "../../../../testkit/StoreFixture.ts"
import { editable, sqliteAt, type TemporaryFolder, temporaryFolder } from "../../../../testkit/sqlite.ts"
import { putOf, sampleTimer } from "../../../../testkit/timers.ts"

let folder: TemporaryFolder
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(() => folder.dispose())

const examined = { isFull: false, overdueBeforeMs: 0, overdueBeforeMsIfPaused: 0 }

const edit = (change: (database: Database) => void): void => {
  // A thread that could not open the store still closes its connection.
  using database = editable(folder.database)
  change(database)
}

const filled = (timers: number) =>
  Effect.runPromise(
    Effect.flatMap(owned, ({ write }) =>
      write(Array.from({ length: timers }, () => putOf(sampleTimer()))),
    ).pipe(Effect.provide(sqliteAt(folder.database, { shards: 1 })), Effect.scoped),
  )

const withOrders = (work: (orders: WriterOrders, database: Database, lock: ProcessLock) => void): void => {
  const { database, lock } = openForWriting({ path: folder.database, shards: 1 })
  try {
    work(openOrders(database, folder.database), database, lock)
  } finally {
    database.close()
    lock.close()
  }
}

test("a store that was closed has all places in the orders, and an empty journal", async () => {
  await filled(5)
  edit((database) => {
    for (const table of ["timer_keys", "timer_dues", "timer_times", "timers"]) {
      expect(database.query(`SELECT count(*) FROM ${table}`).values()).toEqual([[5]])
    }
    expect(database.query("SELECT count(*) FROM journal").values()).toEqual([[0]])
  })
  expect(examineFile(folder.database, examined).faults).toEqual([])
})

test("doctor names an order that lacks a timer, and one with a place of no timer", async () => {
  await filled(3)
  edit((database) => {
    database.run("DELETE FROM timer_dues WHERE id = (SELECT min(id) FROM timers)")
    database.run("INSERT INTO timer_keys (namespace, timer_id, id) VALUES ('shop', 'nobody', 999)")
  })
  expect(examineFile(folder.database, examined).faults).toEqual([
    "the order of ids has 1 entry of no pending timer",
    "the order of due times by shard lacks 1 of 3 pending timers",
  ])
})

test("a journal that cannot be read is damage, and the store does not start", async () => {
  await filled(1)
  for (const entries of ["[1,2", "[1,2,3]", '["a","b",3,4,5,6,7,8,9]', "{}"]) {
    edit((database) => {
      database.run("DELETE FROM journal")
      database.run("INSERT INTO journal (seq, entries) SELECT merged_seq + 1, ? FROM merging", [entries])
    })
    const failure = await Effect.runPromise(
      Effect.scoped(Effect.flip(Layer.build(sqliteAt(folder.database, { shards: 1 })))),
    )
    expect(failure).toMatchObject({ reason: "damaged", message: expect.stringContaining("of the journal") })
  }
  edit((database) => {
    database.run("DELETE FROM journal")
    database.run("INSERT INTO journal (seq, entries) SELECT merged_seq + 2, '[]' FROM merging")
  })
  const failure = await Effect.runPromise(
    Effect.scoped(Effect.flip(Layer.build(sqliteAt(folder.database, { shards: 1 })))),
  )
  expect(failure).toMatchObject({ reason: "damaged", message: expect.stringContaining("is missing") })
})

test("a merge that would give a key a second timer stops", async () => {
  await filled(1)
  withOrders((orders, database) => {
    const [namespace, timerId] = database.query("SELECT namespace, timer_id FROM timers").values()[0] ?? []
    const key = { namespace: String(namespace), timerId: String(timerId), uuid: "0".repeat(32) }
    const to = { fireAt: 1, fireId: sampleTimer().fireId }
    orders.keeping(() => {
      orders.move({ id: orders.newId(), shard: 0, key, from: undefined, to })
      orders.writeJournal()
    })
    const merge = new Merge(orders)
    expect(() => merge.finish()).toThrow(MergeContradiction)
  })
})

test("an id that the journal names is not given again", () =>
  withOrders((orders, database) => {
    database.run("BEGIN")
    const key = { namespace: "shop", timerId: "a", uuid: "0".repeat(32) }
    const place = { fireAt: 1, fireId: sampleTimer().fireId }
    orders.keeping(() => {
      orders.move({ id: 41, shard: 0, key, from: place, to: undefined })
      orders.writeJournal()
    })
    database.run("COMMIT")
    expect(openOrders(database, folder.database).newId()).toBe(42)
  }))

test("a reader finds moved timers by an index, also if its first read failed", () =>
  withOrders((orders, database) => {
    const { namespace, timerId, uuid } = sampleTimer()
    orders.move({
      id: 1,
      shard: 0,
      key: { namespace, timerId, uuid },
      from: undefined,
      to: { fireAt: 1, fireId: crypto.randomUUID() },
    })
    database.transaction(() => orders.writeJournal())()
    using connection = new Database(folder.database)
    const reader = new ReaderOrders(connection, { isReadOnly: true })
    const failing = (): never => {
      throw new Error("the read failed")
    }
    expect(() => reader.atOneInstant(failing)).toThrow("the read failed")
    const plans = reader.atOneInstant(() =>
      reader.shown.layers.map((layer) =>
        connection
          .query(`EXPLAIN QUERY PLAN SELECT id FROM ${layer}.entries WHERE shard = 0 AND fire_at = 1`)
          .values(),
      ),
    )
    expect(JSON.stringify(plans)).toContain("USING COVERING INDEX entries_by_dues")
    expect(plans).toHaveLength(1)
  }))

test("a layer is full when its moves need too much memory, and what is undone needs none", () =>
  withOrders((orders, _database, lock) => {
    const work = new MergeWork(mergingOf(orders), orders, lock, { bytes: 10_000 })
    const written = (timerId: string) => {
      const key = { namespace: "shop", timerId, uuid: timerId.padStart(32, "0") }
      const to = { fireAt: 1, fireId: sampleTimer().fireId }
      orders.keeping(() => {
        orders.move({ id: orders.newId(), shard: 0, key, from: undefined, to })
        const mark = orders.mark
        orders.move({
          id: orders.newId(),
          shard: 0,
          key: { ...key, uuid: "f".repeat(32) },
          from: undefined,
          to,
        })
        orders.undoTo(mark)
        orders.writeJournal()
      })
      work.afterCall((error) => {
        throw error
      })
      work.close()
    }
    written("a")
    const bytes = orders.bytes
    written("b")
    expect([orders.bytes, orders.moves]).toEqual([2 * bytes, 2])
    expect(orders.journal.frozen).toBeUndefined()
    written("c".repeat(5_000))
    expect([orders.bytes, orders.moves]).toEqual([0, 0])
    expect(orders.journal.frozen).toBeDefined()
  }))

test("the journal stays short, although the writer never rests and its commits change their size", () =>
  withOrders((orders, database, lock) => {
    const work = new MergeWork(mergingOf(orders), orders, lock, { moves: 500 })
    let longest = 0
    const commit = (number: number, moves: number) => {
      orders.keeping(() =>
        database.transaction(() => {
          for (let move = 0; move < moves; move++) {
            const { namespace, timerId, uuid, fireId } = sampleTimer({ timerId: `t-${number}-${move}` })
            const key = { namespace, timerId, uuid }
            orders.move({
              id: orders.newId(),
              shard: 0,
              key,
              from: undefined,
              to: { fireAt: number, fireId },
            })
          }
          orders.writeJournal()
        })(),
      )
      work.afterCall((error) => {
        throw error
      })
      const rows = Number(database.query("SELECT count(*) FROM journal").values()[0]?.[0])
      longest = Math.max(longest, rows)
    }
    try {
      for (let number = 0; number < 600; number++) commit(number, number % 300 < 200 ? 5 : 50)
    } finally {
      work.close()
    }
    // A layer is full after 100 of the small commits.
    expect(longest).toBeGreaterThanOrEqual(100)
    expect(longest).toBeLessThan(450)
  }))

test("one slice removes only a few large rows of the journal", () => {
  withOrders(() => {})
  edit((database) => {
    const insert = database.prepare("INSERT INTO journal (seq, entries) VALUES (?, ?)")
    for (let seq = 1; seq <= 5; seq++) insert.run(seq, " ".repeat(1 << 20))
    database.run("UPDATE merging SET frozen_seq = 5, merged_seq = 5")
  })
  withOrders((orders, database) => {
    const merge = new Merge(orders)
    const left: Array<unknown> = []
    while (merge.slice(1) !== undefined) {
      left.push(database.query("SELECT count(*) FROM journal").values()[0]?.[0])
    }
    expect(left).toEqual([3, 1, 0])
  })
})
