// Opens the store and checks it: the server is new enough and keeps what it has acknowledged, the schema belongs to
// this program, is not newer than it and is up to date, and the number of shards is the configured one. Every error is
// one sentence that names the place and says what to do.
import {
  applyMigrations,
  lockSchema,
  newerSchema,
  otherProgram,
  storedVersion,
  tablesIn,
} from "@punctual/sql/applyMigrations"
import { checkServer } from "@punctual/sql/checkServer"
import { DatabaseFailure } from "@punctual/sql/DatabaseFailure"
import { type DatabaseTarget, databaseTargetOf, type StoreWords } from "@punctual/sql/DatabaseTarget"
import { explained } from "@punctual/sql/explained"
import { checkShards } from "../openingStores.ts"
import { connectionTo, type Place } from "./connectionTo.ts"
import { createFunctions } from "./functions.ts"
import { migrations, oldestVersion, programVersion } from "./migrations/all.ts"
import { sessionSettings } from "./sessionSettings.ts"

export interface OpenedDatabase {
  readonly place: Place
  /** What an operator should know although the store works. */
  readonly warnings: ReadonlyArray<string>
}

const storeWords: StoreWords = {
  setting: "TIMER_STORE_URL",
  kept: "timers",
  defaultSchema: "punctual",
}

export const timersAt = (url: string): DatabaseTarget => databaseTargetOf(url, storeWords)

/** Building an index on a full table takes time, and so does waiting for another node that migrates. */
const migrationTimeoutMs = 600_000

export const openDatabase = async (url: string, shards: number): Promise<OpenedDatabase> => {
  const target = timersAt(url)
  const timeouts = {
    statement_timeout: String(migrationTimeoutMs),
    lock_timeout: String(migrationTimeoutMs),
    idle_in_transaction_session_timeout: String(migrationTimeoutMs),
  }
  const sql = connectionTo({ ...target, settings: { application_name: "punctual", ...timeouts } })
  try {
    const isCommitAsynchronous = await checkServer(sql, target)
    await sql.begin((tx) => migrate(tx, target, shards))
    checkShards(target.name, await storedShards(sql, target), shards, "another schema")
    const settings = sessionSettings(target.schema)
    return isCommitAsynchronous
      ? {
          place: { ...target, settings: { ...settings, synchronous_commit: "on" } },
          warnings: [asynchronous],
        }
      : { place: { ...target, settings }, warnings: [] }
  } catch (error) {
    throw await explained(error, target)
  } finally {
    await sql.close({ timeout: 0 }).catch(() => {})
  }
}

const asynchronous =
  "synchronous_commit is off at the PostgreSQL server, which could lose acknowledged timers in a crash: the " +
  "store's own sessions turn it on."

/** Runs in one transaction, on one node at a time. If the program dies in between, the old schema stays. */
const migrate = async (sql: Bun.SQL, target: DatabaseTarget, shards: number): Promise<void> => {
  await lockSchema(sql, "punctual", target)
  const version = await versionOf(sql, target)
  if (version > programVersion) throw newerSchema(target, version, programVersion)
  if (version > 0 && version < oldestVersion) throw tooOldSchema(target, version)
  await applyMigrations(sql, target, version, migrations)
  await createFunctions(sql)
  if (version > 0) return
  const numbers = "SELECT generate_series(0, $1::integer - 1)"
  await sql.unsafe(`INSERT INTO shards (shard) ${numbers}`, [shards])
  await sql.unsafe(`INSERT INTO leases (shard) ${numbers}`, [shards])
}

const tooOldSchema = ({ name }: DatabaseTarget, version: number): DatabaseFailure =>
  new DatabaseFailure(
    "olderSchema",
    `${name} has schema version ${version}, from before the first release, and this program cannot migrate ` +
      "it: name another schema.",
  )

export const versionOf = async (sql: Bun.SQL, target: DatabaseTarget): Promise<number> => {
  const tables = await tablesIn(sql, target)
  if (tables.length === 0) return 0
  if (!["migrations", "timers", "shards"].every((own) => tables.includes(own))) throw otherProgram(target)
  return storedVersion(sql, target)
}

export const storedShards = async (sql: Bun.SQL, { schema }: DatabaseTarget): Promise<number> => {
  const rows: ReadonlyArray<{ stored: number }> = await sql.unsafe(
    `SELECT count(*)::integer AS stored FROM "${schema}".shards`,
  )
  return rows[0]?.stored ?? 0
}
