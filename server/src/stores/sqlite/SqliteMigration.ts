// Migrates the schema before the service does it at its start: under the store's lock, in one transaction.
import { existsSync } from "node:fs"
import { migrations } from "./migrations/all.ts"
import { openBeside } from "./openBeside.ts"
import { numberIn, type OnProgress, openForWriting } from "./openDatabase.ts"

export interface SchemaVersions {
  /** 0 if there is no store yet. */
  readonly stored: number
  /** The version that this program reads and writes. */
  readonly program: number
}

export const readVersions = (path: string): SchemaVersions => ({
  stored: existsSync(path) ? openedOnce(path).schemaVersion : 0,
  program: migrations.length,
})

/** An existing store keeps its number of shards. `shards` is for a new one. */
export const migrateFile = (path: string, shards: number, onProgress: OnProgress): void => {
  const stored = existsSync(path) ? openedOnce(path).shards : shards
  const { database, lock } = openForWriting({ path, shards: stored }, onProgress)
  database.close()
  lock.close()
}

const openedOnce = (path: string): { readonly schemaVersion: number; readonly shards: number } => {
  const { database, schemaVersion } = openBeside(path)
  try {
    return { schemaVersion, shards: numberIn(database, "SELECT count(*) FROM shards") }
  } finally {
    database.close()
  }
}
