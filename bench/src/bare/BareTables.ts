// The bare limits of P2, P3 and P4: the store's own tables, written and emptied by prepared statements in one
// thread, with nothing around them: no queue, no other thread, no history, no answers.
import { Database } from "bun:sqlite"
import { join } from "node:path"
import type { Timer } from "@punctual/server/domain/Timer"
import { keyOf, shardOf } from "@punctual/server/domain/TimerKey"
import { migrations } from "@punctual/server/stores/sqlite/migrations/all"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { command, farAhead } from "../work.ts"

export class BareTables {
  readonly #folder = new TemporaryFolder()
  readonly #database: Database

  constructor() {
    this.#database = new Database(join(this.#folder.path, "bare.db"), { create: true })
    this.#database.run("PRAGMA journal_mode = WAL")
    this.#database.run("PRAGMA synchronous = FULL")
    // As the store has them: a cache, and a write-ahead log that may grow before it is copied back.
    this.#database.run("PRAGMA cache_size = -32768")
    this.#database.run("PRAGMA wal_autocheckpoint = 16000")
    for (const sql of migrations) this.#database.run(sql)
  }

  /** Rows a second. */
  insert(timers: ReadonlyArray<Timer>, rowsACommit = 1_000): number {
    const head = this.#database.query(
      `INSERT INTO timers (shard, uuid, namespace, timer_id, fire_at, fire_id, revision, execute_at, attempts, created_at, updated_at, correlation_id)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)`,
    )
    const body = this.#database.query(
      "INSERT INTO bodies (id, spec, payload) VALUES (last_insert_rowid(), ?, ?)",
    )
    const specText = JSON.stringify(timers[0]?.spec)
    const rows = timers.map((timer) => ({
      timer,
      shard: shardOf(timer.uuid, 16),
      uuid: Buffer.from(timer.uuid, "hex"),
      fireId: Buffer.from(timer.fireId.replaceAll("-", ""), "hex"),
    }))
    const startedAt = performance.now()
    for (let first = 0; first < rows.length; first += rowsACommit) {
      this.#database.run("BEGIN IMMEDIATE")
      for (const { timer, shard, uuid, fireId } of rows.slice(first, first + rowsACommit)) {
        head.run(
          shard,
          uuid,
          timer.namespace,
          timer.timerId,
          timer.fireAt,
          fireId,
          timer.revision,
          timer.executeAt,
          timer.createdAt,
          timer.updatedAt,
          timer.correlationId,
        )
        body.run(specText, timer.payload ?? null)
      }
      this.#database.run("COMMIT")
    }
    return perSecond(rows.length, startedAt)
  }

  /** Selects what is due, page by page, with its payload, and deletes it; rows a second. */
  selectAndDelete(count: number): number {
    const page = this.#database.query<{ id: number }, [number]>(
      "SELECT timers.*, bodies.spec, bodies.payload FROM timers JOIN bodies USING (id) WHERE shard = ? ORDER BY shard, fire_at, uuid LIMIT 500",
    )
    const head = this.#database.query("DELETE FROM timers WHERE id = ?")
    const body = this.#database.query("DELETE FROM bodies WHERE id = ?")
    const startedAt = performance.now()
    let deleted = 0
    for (let shard = 0; shard < 16; shard++) {
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

  close(): void {
    this.#database.close()
    this.#folder[Symbol.dispose]()
  }
}

const perSecond = (count: number, startedAt: number): number =>
  (count / (performance.now() - startedAt)) * 1_000

/** A timer of the bench's own kind, as a row of the tables. */
export const bareTimer = (executeAt: number): Timer => {
  const { namespace, timerId = "", spec, payload } = command(executeAt)
  const now = Date.now()
  return {
    ...keyOf(namespace, timerId),
    fireId: crypto.randomUUID(),
    revision: now,
    executeAt,
    fireAt: executeAt,
    attempts: 0,
    createdAt: now,
    updatedAt: now,
    correlationId: crypto.randomUUID(),
    spec,
    ...(payload === undefined ? {} : { payload }),
  }
}

/** Into new tables; rows a second. */
export const insertAll = (rows: number, rowsACommit?: number): number => {
  const bare = new BareTables()
  try {
    return bare.insert(
      Array.from({ length: rows }, () => bareTimer(farAhead())),
      rowsACommit,
    )
  } finally {
    bare.close()
  }
}
