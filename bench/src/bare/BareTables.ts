// The bare limits on SQLite. Prepared statements in one thread fill and empty the tables of the store as they were before
// version 5, with their indexes. The store has changed its tables since then, and the limits must not change with it. There
// is no queue, no other thread, no history and no answer.
import { Database, type Statement } from "bun:sqlite"
import { join } from "node:path"
import type { Timer } from "@punctual/server/domain/Timer"
import { keyOf, shardOf } from "@punctual/server/domain/TimerKey"
import { migrations } from "@punctual/server/stores/sqlite/migrations/all"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { handlerSpec } from "../EngineOnDisk.ts"
import { command, farAhead, payload } from "../work.ts"

/** The parameters of the insert statement for a timer. */
export interface BareRow {
  readonly head: ReadonlyArray<string | number>
  readonly spec: string
  readonly payload: Uint8Array | null
}

export class BareTables implements Disposable {
  readonly #database: Database
  readonly #insertHead: Statement
  readonly #insertBody: Statement

  /** Creates new tables, in a file in that folder. */
  constructor(folder: string) {
    this.#database = new Database(join(folder, "bare.db"), { create: true })
    this.#database.run("PRAGMA journal_mode = WAL")
    this.#database.run("PRAGMA synchronous = FULL")
    // The same settings as the store: a cache, and a write-ahead log that may grow before a checkpoint.
    this.#database.run("PRAGMA cache_size = -32768")
    this.#database.run("PRAGMA wal_autocheckpoint = 16000")
    for (const sql of migrations.slice(0, measuredVersion)) this.#database.run(sql)
    this.#insertHead = this.#database.prepare(
      `INSERT INTO timers (shard, uuid, namespace, timer_id, fire_at, fire_id, revision, execute_at, attempts, created_at, updated_at, correlation_id)
       VALUES (?, unhex(?), ?, ?, ?, unhex(?, '-'), ?, ?, 0, ?, ?, ?)`,
    )
    this.#insertBody = this.#database.prepare(
      "INSERT INTO bodies (id, spec, payload) VALUES (last_insert_rowid(), ?, ?)",
    )
  }

  /** Inserts all rows in one commit. */
  insert(rows: ReadonlyArray<BareRow>): void {
    this.#database.run("BEGIN IMMEDIATE")
    for (const { head, spec, payload } of rows) {
      this.#insertHead.run(...head)
      this.#insertBody.run(spec, payload)
    }
    this.#database.run("COMMIT")
  }

  /** Selects due timers with their payloads, page by page, and deletes them. Returns rows per second. */
  selectAndDelete(count: number): number {
    const page = this.#database.query<{ id: number }, [number]>(
      "SELECT timers.*, bodies.spec, bodies.payload FROM timers JOIN bodies USING (id) WHERE shard = ? ORDER BY shard, fire_at, fire_id LIMIT 500",
    )
    const head = this.#database.query("DELETE FROM timers WHERE id = ?")
    const body = this.#database.query("DELETE FROM bodies WHERE id = ?")
    const startedAt = performance.now()
    let deleted = 0
    for (let shard = 0; shard < shards; shard++) {
      for (let rows = page.all(shard); rows.length > 0; rows = page.all(shard)) {
        this.#database.run("BEGIN IMMEDIATE")
        for (const { id } of rows) {
          head.run(id)
          body.run(id)
        }
        this.#database.run("COMMIT")
        deleted += rows.length
      }
    }
    if (deleted !== count) throw new Error(`${deleted} rows were there instead of ${count}`)
    return perSecond(count, startedAt)
  }

  [Symbol.dispose](): void {
    this.#database.close()
  }
}

const measuredVersion = 4
const shards = 16

const perSecond = (count: number, startedAt: number): number =>
  (count / (performance.now() - startedAt)) * 1_000

/** A timer with the bench's usual name and payload, or with the given ones. */
export const bareTimer = (
  executeAt: number,
  named?: { readonly namespace: string; readonly timerId: string; readonly payload: string },
): Timer => {
  const made = command(executeAt)
  const now = Date.now()
  return {
    ...keyOf(named?.namespace ?? made.namespace, named?.timerId ?? made.timerId ?? ""),
    fireId: Bun.randomUUIDv7(),
    revision: now,
    executeAt,
    fireAt: executeAt,
    attempts: 0,
    createdAt: now,
    updatedAt: now,
    correlationId: crypto.randomUUID(),
    spec: handlerSpec,
    payload: named === undefined ? payload : Buffer.from(named.payload),
  }
}

const specText = JSON.stringify(handlerSpec)

export const bareRow = (timer: Timer): BareRow => ({
  head: [
    shardOf(timer.uuid, shards),
    timer.uuid,
    timer.namespace,
    timer.timerId,
    timer.fireAt,
    timer.fireId,
    timer.revision,
    timer.executeAt,
    timer.createdAt,
    timer.updatedAt,
    timer.correlationId,
  ],
  spec: specText,
  payload: timer.payload ?? null,
})

export const bareRows = (count: number, executeAt: () => number): ReadonlyArray<BareRow> =>
  Array.from({ length: count }, () => bareRow(bareTimer(executeAt())))

/** Inserts rows into new tables. Returns rows per second. */
export const insertAll = (count: number, rowsACommit = 1_000): number => {
  using folder = new TemporaryFolder()
  using bare = new BareTables(folder.path)
  const rows = bareRows(count, farAhead)
  const startedAt = performance.now()
  insertInCommits(bare, rows, rowsACommit)
  return perSecond(count, startedAt)
}

/** Fills new tables, then selects and deletes all rows. Returns rows per second. */
export const deleteAll = (count: number): number => {
  using folder = new TemporaryFolder()
  using bare = filledTables(folder.path, count)
  return bare.selectAndDelete(count)
}

/** Tables with `count` timers that are due in the same instant. */
export const filledTables = (folder: string, count: number): BareTables => {
  const bare = new BareTables(folder)
  const dueAt = Date.now()
  insertInCommits(
    bare,
    bareRows(count, () => dueAt),
    1_000,
  )
  return bare
}

const insertInCommits = (bare: BareTables, rows: ReadonlyArray<BareRow>, rowsACommit: number): void => {
  for (let first = 0; first < rows.length; first += rowsACommit) {
    bare.insert(rows.slice(first, first + rowsACommit))
  }
}
