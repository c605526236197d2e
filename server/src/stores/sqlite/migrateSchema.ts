// Takes the schema of a file to the version of this program, in one transaction: if the process ends in between, the file
// is as before. Copies of whole tables run in slices, so that a service with millions of timers can say how far it is.
import type { Database } from "bun:sqlite"
import { migrations } from "./migrations/all.ts"
import type { OnProgress, OpenOptions } from "./openDatabase.ts"

/** "PUNC" as a number, in the file's header. It tells `file` and this program which program the file belongs to. */
export const applicationId = 0x50554e43

/** Tests choose smaller numbers. */
export interface MigrationPace {
  /** A slice of 50,000 rows takes about 0.2 s. */
  readonly rowsOfSlice: number
  /** Nothing is said about a migration that takes less time. */
  readonly tellEveryMs: number
}

const usualPace: MigrationPace = { rowsOfSlice: 50_000, tellEveryMs: 2_000 }

/** Runs under the lock of the store. */
export const migrateSchema = (
  database: Database,
  { path, shards }: OpenOptions,
  onProgress: OnProgress,
  pace: MigrationPace = usualPace,
): void => {
  const version = numberOf(database, "PRAGMA user_version")
  if (version === migrations.length) return
  database.run("BEGIN IMMEDIATE")
  try {
    const pending = version === 0 ? 0 : numberOf(database, "SELECT count(*) FROM timers")
    const progress = new Progress(
      `${path} is migrated from schema version ${version} to ${migrations.length}`,
      pending,
      onProgress,
      pace,
    )
    for (const sql of migrations.slice(version)) migrateOnce(database, sql, progress)
    database.run(`PRAGMA application_id = ${applicationId}`)
    database.run(`PRAGMA user_version = ${migrations.length}`)
    if (numberOf(database, "SELECT count(*) FROM shards") === 0) createShards(database, shards)
    database.run("COMMIT")
    progress.end()
  } catch (error) {
    if (database.inTransaction) database.run("ROLLBACK")
    throw error
  }
}

/** A copy of all timers into a new table, whose key is the order of the copy. */
const copyPattern =
  /^(INSERT INTO (\w+) \([\w, ]+\)\s+SELECT [\w, ]+ FROM timers INDEXED BY \w+)\s+ORDER BY ([\w, ]+);$/gm

const migrateOnce = (database: Database, sql: string, progress: Progress): void => {
  const copies = [...sql.matchAll(copyPattern)]
  progress.expect(copies.length)
  let done = 0
  for (const copy of copies) {
    runIfAny(database, sql.slice(done, copy.index))
    const [text, insert = "", table = "", key = ""] = copy
    copyInSlices(database, { insert, table, key }, progress)
    done = copy.index + text.length
  }
  runIfAny(database, sql.slice(done))
}

const runIfAny = (database: Database, sql: string): void => {
  if (sql.trim() !== "") database.run(sql)
}

interface Copy {
  readonly insert: string
  readonly table: string
  /** The columns of the table's key. */
  readonly key: string
}

const copyInSlices = (database: Database, { insert, table, key }: Copy, progress: Progress): void => {
  const { rowsOfSlice } = progress.pace
  const columns = key.split(",")
  const limited = `ORDER BY ${key} LIMIT ${rowsOfSlice}`
  const parameters = columns.map((_, index) => `?${index + 1}`).join(", ")
  const reversed = columns.map((column) => `${column} DESC`).join(", ")
  using first = database.prepare(`${insert} ${limited}`)
  using next = database.prepare(`${insert} WHERE (${key}) > (${parameters}) ${limited}`)
  using last = database.prepare(`SELECT ${key} FROM ${table} ORDER BY ${reversed} LIMIT 1`)
  for (let copied = first.run().changes; copied > 0; ) {
    progress.add(copied)
    if (copied < rowsOfSlice) return
    const [after = []] = last.values()
    copied = next.run(...(after as Array<string | number | Uint8Array>)).changes
  }
}

class Progress {
  readonly pace: MigrationPace
  readonly #what: string
  readonly #timers: number
  readonly #onProgress: OnProgress
  readonly #startedAt = performance.now()
  #toldAt = performance.now()
  #rows = 0
  #copied = 0

  constructor(what: string, timers: number, onProgress: OnProgress, pace: MigrationPace) {
    this.#what = what
    this.#timers = timers
    this.#onProgress = onProgress
    this.pace = pace
  }

  expect(copies: number): void {
    this.#rows += copies * this.#timers
  }

  add(rows: number): void {
    this.#copied += rows
    if (performance.now() - this.#toldAt < this.pace.tellEveryMs) return
    this.#toldAt = performance.now()
    const percent = Math.floor((100 * this.#copied) / Math.max(1, this.#rows))
    this.#onProgress(
      `${this.#what}: ${percent} % of the orders of ${this.#timers} pending timers are written`,
    )
  }

  end(): void {
    const tookMs = performance.now() - this.#startedAt
    if (tookMs >= this.pace.tellEveryMs)
      this.#onProgress(`${this.#what}: done in ${(tookMs / 1_000).toFixed(0)} s`)
  }
}

const createShards = (database: Database, shards: number): void => {
  using shard = database.prepare("INSERT INTO shards (shard) VALUES (?1)")
  using tally = database.prepare("INSERT INTO tally (shard) VALUES (?1)")
  for (let number = 0; number < shards; number++) {
    shard.run(number)
    tally.run(number)
  }
}

const numberOf = (database: Database, sql: string): number =>
  Number(database.query(sql).values()[0]?.[0] ?? 0)
