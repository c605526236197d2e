// SQLite stores in temporary folders, for suites and tests.

import { Database } from "bun:sqlite"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer } from "effect"
import type { FinishedLife, Timer } from "../src/domain/Timer.ts"
import { ShardLeases } from "../src/ports/ShardLeases.ts"
import { ShardStorage } from "../src/ports/ShardStorage.ts"
import { MemberList } from "../src/stores/MemberList.ts"
import { textOfSpec } from "../src/stores/SpecText.ts"
import { Leases } from "../src/stores/sqlite/Leases.ts"
import { Lookup } from "../src/stores/sqlite/Lookup.ts"
import { MergeWork, mergingOf } from "../src/stores/sqlite/level0/MergeWork.ts"
import { openOrders } from "../src/stores/sqlite/level0/openOrders.ts"
import { idsOfReader, idsOfWriter } from "../src/stores/sqlite/level0/pendingIds.ts"
import { ReaderOrders } from "../src/stores/sqlite/level0/ReaderOrders.ts"
import { limits } from "../src/stores/sqlite/limits.ts"
import { openForWriting } from "../src/stores/sqlite/openDatabase.ts"
import type { ProcessLock } from "../src/stores/sqlite/ProcessLock.ts"
import { Reader } from "../src/stores/sqlite/Reader.ts"
import { SqliteStore } from "../src/stores/sqlite/SqliteStore.ts"
import { logText, unpackDuePage, unpackHeads } from "../src/stores/sqlite/timerWire.ts"
import { Writer } from "../src/stores/sqlite/Writer.ts"
import { RowDamage, tableOf } from "./RowDamage.ts"
import type { StorageFixture } from "./ShardStorage.suite.ts"
import type { StoreFixture } from "./StoreFixture.ts"
import { sampleTimer } from "./timers.ts"

export const sqliteWorkerUrl = new URL("../src/stores/sqlite/worker.ts", import.meta.url)

const movesOfSmallLayer = 3

export interface TemporaryFolder {
  readonly path: string
  readonly database: string
  readonly dispose: () => void
}

export const temporaryFolder = (): TemporaryFolder => {
  const path = mkdtempSync(join(tmpdir(), "punctual-sqlite-"))
  return {
    path,
    database: join(path, "timers.db"),
    dispose: () => rmSync(path, { recursive: true, force: true }),
  }
}

export const sqliteAt = (path: string, options: { readonly shards: number; readonly layerMoves?: number }) =>
  SqliteStore.layer({ path, workerUrl: sqliteWorkerUrl, ...options })

/**
 * The storage of the store's writer thread, in the test's own thread. In the writer thread, a write runs all its steps
 * in one transaction; the suite takes them one by one.
 */
export const sqliteStorageFixture = storageFixture("sqlite")

/** Its layers hold three moves, so that merges begin after nearly every write and are met at every step. */
export const mergingStorageFixture = storageFixture("sqlite that merges all the time", movesOfSmallLayer)

function storageFixture(name: string, layerMoves?: number): StorageFixture {
  return {
    name,
    refusedTimer: sampleTimer({ revision: Number.NaN }),
    storage: (options) =>
      Layer.effectContext(
        Effect.acquireRelease(
          Effect.sync(() => {
            const folder = temporaryFolder()
            const opened = openForWriting({ path: folder.database, ...options })
            return { folder, ...opened }
          }),
          ({ folder, database, lock }) =>
            Effect.sync(() => {
              database.close()
              lock.close()
              folder.dispose()
            }),
        ).pipe(
          Effect.map(({ folder, database, lock }) =>
            storageServices(folder.database, database, lock, layerMoves),
          ),
        ),
      ),
  }
}

const storageServices = (
  path: string,
  database: Database,
  lock: ProcessLock,
  layerMoves: number | undefined,
) => {
  const orders = openOrders(database, path)
  const lookup = new Lookup(database, idsOfWriter(orders))
  const writer = new Writer(orders, lookup)
  const merging = new MergeWork(mergingOf(orders, layerMoves), orders, lock, { moves: layerMoves })
  const written = <A>(write: () => A): Effect.Effect<A> =>
    Effect.sync(() => {
      const result = write()
      merging.afterCall((error) => {
        throw error
      })
      merging.close()
      return result
    })
  const readerOrders = new ReaderOrders(database, { isReadOnly: false })
  const reader = new Reader(readerOrders, new Lookup(database, idsOfReader(readerOrders)))
  const leases = new Leases(database, writer, lock)
  const members = new MemberList()
  return Context.make(ShardStorage, {
    limits,
    open: () => Effect.void,
    look: (looks) => Effect.sync(() => looks.map((look) => lookup.look(look))),
    commit: (commits) => written(() => writer.commit(commits)),
    insertNew: (shard, timers) => written(() => writer.insertNew(shard, timers)),
    due: (query) => Effect.sync(() => unpackDuePage(reader.due(query))),
    dueHeads: (query) => Effect.sync(() => unpackHeads(reader.dueHeads(query))),
    scan: (scans) => Effect.sync(() => reader.scan(scans)),
    count: (scans, limit) => Effect.sync(() => reader.countIn(scans, limit)),
    namespaces: (exclusiveAfter, limit) => Effect.sync(() => reader.namespaces(exclusiveAfter, limit)),
    prune: (exclusiveBeforeMs, limit) => written(() => writer.prune(exclusiveBeforeMs, limit)),
    tally: Effect.sync(() => reader.tally()),
  }).pipe(
    Context.add(ShardLeases, {
      owners: Effect.sync(() => leases.owners()),
      claim: (expected, node) => Effect.sync(() => leases.claim(expected, node)),
      renew: (held) => Effect.sync(() => leases.renew(held)),
      release: (shard, epoch) => Effect.sync(() => leases.release(shard, epoch)),
      announce: (member) => Effect.sync(() => members.announce(member)),
      members: Effect.sync(() => members.all()),
      retire: (node) => Effect.sync(() => members.retire(node)),
      retireSilent: (seen) => Effect.sync(() => members.retireSilent(seen)),
    }),
  )
}

export const sqliteFixture = storeFixture("sqlite")
export const mergingFixture = storeFixture("sqlite that merges all the time", {
  layerMoves: movesOfSmallLayer,
})

function storeFixture(name: string, level0: { readonly layerMoves?: number } = {}): StoreFixture {
  return {
    name,
    fresh: (options) =>
      Layer.unwrap(
        Effect.map(
          Effect.acquireRelease(Effect.sync(temporaryFolder), (folder) => Effect.sync(folder.dispose)),
          (folder) => sqliteAt(folder.database, { ...options, ...level0 }),
        ),
      ),
    damageable: (options) =>
      Layer.unwrap(
        Effect.map(
          Effect.acquireRelease(Effect.sync(temporaryFolder), (folder) => Effect.sync(folder.dispose)),
          (folder) =>
            Layer.merge(
              sqliteAt(folder.database, { ...options, ...level0 }),
              Layer.succeed(RowDamage, damageIn(folder.database)),
            ),
        ),
      ),
    reopened: (options) => {
      const folder = temporaryFolder()
      return {
        first: sqliteAt(folder.database, { ...options, ...level0 }),
        second: sqliteAt(folder.database, { ...options, ...level0 }),
        dispose: folder.dispose,
      }
    },
  }
}

/** A connection beside the store, as another program would have it. It waits while the store writes or merges. */
export const editable = (path: string): Database => {
  const database = new Database(path)
  database.run("PRAGMA busy_timeout = 10000")
  return database
}

const damageIn = (path: string): RowDamage["Service"] => {
  const set = (row: Timer | FinishedLife, texts: Readonly<Record<string, string | null>>) =>
    Effect.sync(() => {
      using database = editable(path)
      const { namespace, timerId } = row
      const table = tableOf(row)
      for (const [column, text] of Object.entries(texts)) {
        const rows = `(SELECT id FROM ${table} WHERE namespace = ? AND timer_id = ?)`
        const changed = table === "timers" && column === "spec" ? "bodies" : table
        const sql = `UPDATE ${changed} SET ${column} = ? WHERE id IN ${rows}`
        const { changes } = database.run(sql, [text, namespace, timerId])
        if (changes !== 1) throw new Error(`${changes} rows were changed by ${sql}`)
      }
    })
  return {
    damage: (row, texts) => set(row, { ...texts }),
    repair: (row) =>
      set(row, {
        spec: textOfSpec(row.spec),
        last_attempt: logText(row.attemptLog),
        tags: row.tags === undefined ? null : JSON.stringify(row.tags),
      }),
  }
}
