// The layers of a reader, as tables in memory, so that statements find entries there in the same orders as in the
// tables of the file.
import type { Database, Statement } from "bun:sqlite"
import { prepareAll } from "../prepareAll.ts"
import { JournalFollower, type LayerNumber, otherOf } from "./JournalFollower.ts"
import type { Move } from "./Move.ts"
import { type LayerName, type Levels, layerNames, runsAsked } from "./orders.ts"

type LayerSql = { readonly [name in keyof ReturnType<typeof layerSql>]: Statement }

export class ReaderOrders {
  readonly database: Database
  readonly #journal: JournalFollower
  readonly #sql: readonly [LayerSql, LayerSql]
  readonly #isReadOnly: boolean
  #hasRows: [boolean, boolean] = [false, false]
  #hasIndexes = false

  /** `isReadOnly`: the connection refuses writes, also into memory, unless it is asked not to for a moment. */
  constructor(database: Database, { isReadOnly }: { readonly isReadOnly: boolean }) {
    this.database = database
    this.#journal = new JournalFollower(database, {
      apply: (layer, move) => this.#apply(layer, move),
      clear: (layer) => this.#clear(layer),
    })
    this.#isReadOnly = isReadOnly
    this.#sql = this.#writing(() => {
      for (const layer of layerNames) for (const text of layerTables(layer)) database.run(text)
      const [first, second] = layerNames
      return [prepareAll(database, layerSql(first)), prepareAll(database, layerSql(second))] as const
    })
  }

  /** The layers that have rows, and the runs. */
  get shown(): Levels {
    const { upper, runs } = this.#journal
    const withRows = [upper, otherOf(upper)].filter((layer) => this.#hasRows[layer])
    return { layers: withRows.map((layer) => layerNames[layer]), runs: runsAsked(runs) }
  }

  /** Reads at one instant, with all of the journal up to it. */
  atOneInstant<A>(read: () => A): A {
    const [before, hadRows, hadIndexes] = [this.#journal.state, this.#hasRows, this.#hasIndexes]
    this.database.run("BEGIN")
    try {
      this.follow()
      return read()
    } catch (error) {
      // The layers are part of the transaction.
      if (this.database.inTransaction) this.database.run("ROLLBACK")
      this.#journal.state = before
      this.#hasRows = hadRows
      this.#hasIndexes = hadIndexes
      throw error
    } finally {
      if (this.database.inTransaction) this.database.run("COMMIT")
    }
  }

  /**
   * Must run inside a transaction. The first time there may be a hundred thousand moves, and due timers wait until the
   * reader has them. So the reader makes the indexes after it has read them, which takes two thirds of the time.
   */
  follow(): boolean {
    return this.#writing(() => {
      const hasFound = this.#journal.follow()
      if (!this.#hasIndexes) {
        for (const layer of layerNames) for (const text of layerIndexes(layer)) this.database.run(text)
        this.#hasIndexes = true
      }
      return hasFound
    })
  }

  #apply(layer: LayerNumber, { id, shard, key, from, to }: Move): void {
    const sql = this.#sql[layer]
    // The id of a new timer is new, too.
    if (from !== undefined) sql.remove.run(id)
    sql.moved.run(id)
    if (to !== undefined) sql.insert.run(id, shard, key.namespace, key.timerId, to.fireAt, to.fireId)
    this.#note(layer, true)
  }

  #clear(layer: LayerNumber): void {
    for (const table of ["entries", "moved"]) this.database.run(`DELETE FROM ${layerNames[layer]}.${table}`)
    this.#note(layer, false)
  }

  #note(layer: LayerNumber, hasRows: boolean): void {
    if (this.#hasRows[layer] === hasRows) return
    const [first, second] = this.#hasRows
    this.#hasRows = layer === 0 ? [hasRows, second] : [first, hasRows]
  }

  #writing<A>(work: () => A): A {
    if (!this.#isReadOnly) return work()
    this.database.run("PRAGMA query_only = OFF")
    try {
      return work()
    } finally {
      this.database.run("PRAGMA query_only = ON")
    }
  }
}

const layerTables = (layer: LayerName): ReadonlyArray<string> => [
  `ATTACH ':memory:' AS ${layer}`,
  `CREATE TABLE ${layer}.entries (id INTEGER PRIMARY KEY, shard INTEGER NOT NULL, namespace TEXT NOT NULL,
    timer_id TEXT NOT NULL, fire_at INTEGER NOT NULL, fire_id BLOB NOT NULL) STRICT`,
  `CREATE TABLE ${layer}.moved (id INTEGER PRIMARY KEY) STRICT`,
]

const layerIndexes = (layer: LayerName): ReadonlyArray<string> => [
  `CREATE INDEX ${layer}.entries_by_keys ON entries (namespace, timer_id)`,
  `CREATE INDEX ${layer}.entries_by_dues ON entries (shard, fire_at, fire_id, id, namespace)`,
  `CREATE INDEX ${layer}.entries_by_times ON entries (namespace, fire_at, fire_id, id, shard)`,
]

const layerSql = (layer: LayerName) => ({
  insert: `INSERT INTO ${layer}.entries (id, shard, namespace, timer_id, fire_at, fire_id)
    VALUES (?1, ?2, ?3, ?4, ?5, unhex(?6, '-'))`,
  remove: `DELETE FROM ${layer}.entries WHERE id = ?1`,
  moved: `INSERT OR IGNORE INTO ${layer}.moved (id) VALUES (?1)`,
})
