// Opens the agent's SQLite file for its thread. The file belongs to one process at a time: SQLite's exclusive mode keeps
// every other process out, and the lock ends with the process, also after a kill.
import { Database } from "bun:sqlite"
import { chmodSync, existsSync, mkdirSync } from "node:fs"
import { dirname } from "node:path"
import schema from "./schema.sql" with { type: "text" }
import tenantsSchema from "./tenants.sql" with { type: "text" }

/** "PAgt", so that no other program's file is taken for the agent's. */
const applicationId = 0x50416774
const schemaVersion = 1
const ownersFile = 0o600

/** Throws an error with one sentence that says what to do. */
export const openCallFile = (path: string): Database => {
  const isNew = !existsSync(path)
  mkdirSync(dirname(path), { recursive: true })
  const database = new Database(path, { create: true, readwrite: true, strict: true })
  try {
    if (isNew) chmodSync(path, ownersFile)
    database.run("PRAGMA busy_timeout = 1000")
    database.run("PRAGMA locking_mode = EXCLUSIVE")
    database.run("PRAGMA journal_mode = WAL")
    database.run("PRAGMA synchronous = FULL")
    prepareSchema(database, path)
    return database
  } catch (error) {
    database.close()
    throw new Error(explained(error, path))
  }
}

const prepareSchema = (database: Database, path: string): void => {
  database.run("BEGIN IMMEDIATE")
  const tables = pragma(database, "SELECT count(*) AS value FROM sqlite_master")
  const id = pragma(database, "SELECT application_id AS value FROM pragma_application_id")
  const version = pragma(database, "SELECT user_version AS value FROM pragma_user_version")
  if (tables > 0 && id !== applicationId) {
    throw new Error(`${path} belongs to another program: give the agent a file of its own`)
  }
  if (version > schemaVersion) {
    throw new Error(`${path} was written by a newer version of the agent: use that version`)
  }
  if (tables === 0) {
    database.run(schema)
    database.run(`PRAGMA application_id = ${applicationId}`)
    database.run(`PRAGMA user_version = ${schemaVersion}`)
  }
  database.run(tenantsSchema)
  database.run("COMMIT")
}

const pragma = (database: Database, sql: string): number =>
  (database.query(sql).get() as { value: number } | null)?.value ?? 0

const explained = (error: unknown, path: string): string => {
  const text = error instanceof Error ? error.message : String(error)
  return /locked|busy/i.test(text)
    ? `${path} is in use by another process: stop it, or use another file`
    : `${path} cannot be opened: ${text}`
}
