// Opens the file for a command while a service may run on it. The file is read-only, and may have any schema version
// that this program knows. Nothing is created, migrated or locked.
import { Database } from "bun:sqlite"
import { existsSync, statSync } from "node:fs"
import { type FileRole, hasRemains } from "./damage.ts"
import { restoreAdvice } from "./failures.ts"
import { OpenFailure } from "./OpenFailure.ts"
import {
  checkLibrary,
  checkOrigin,
  type Explained,
  explaining,
  numberIn,
  openForReading,
  versionOf,
} from "./openDatabase.ts"

export interface OpenedBeside {
  readonly database: Database
  readonly schemaVersion: number
}

export const openBeside = (path: string): OpenedBeside => {
  checkLibrary()
  if (!existsSync(path)) throw new OpenFailure("missing", `There is no store at ${path}: name its file.`)
  return checked(openForReading({ path, shards: 0 }), path, "store")
}

/** Opens a file that is not in use, such as a backup. It may be in a read-only place. */
export const openAlone = (path: string): OpenedBeside => {
  checkLibrary()
  if (!existsSync(path) || !statSync(path).isFile()) {
    throw new OpenFailure("missing", `There is no file at ${path}.`)
  }
  const database = explaining(path, () => new Database(path, { readonly: true }), asBackup(path))
  return checked(database, path, "backup")
}

/** A backup has no other files beside it, so its content shows whether it was a store. */
const asBackup = (path: string): Explained => ({ role: "backup", wasStore: () => hasRemains(path) })

const checked = (database: Database, path: string, role: FileRole): OpenedBeside => {
  const read = (): OpenedBeside => {
    checkOrigin(database, path, role)
    const schemaVersion = versionOf(database)
    if (schemaVersion === 0) throw emptyFile(path, role)
    return { database, schemaVersion }
  }
  try {
    return explaining(path, read, role === "backup" ? asBackup(path) : {})
  } catch (error) {
    database.close()
    throw error
  }
}

const emptyFile = (path: string, role: FileRole): OpenFailure => {
  const advice =
    role === "backup" ? "take another backup" : `name its file, or, if it was a store, ${restoreAdvice(path)}`
  return new OpenFailure(
    "otherProgram",
    `${path} is not a store of Punctual, because it is empty: ${advice}.`,
  )
}

/** The faults that a check of the structure finds, up to a limit. */
export const faultsIn = (database: Database, isFull: boolean, most: number): ReadonlyArray<string> =>
  database
    .query(`PRAGMA ${isFull ? "integrity_check" : "quick_check"}(${most})`)
    .values()
    // The first fault begins with the name of the database, which is the file.
    .map(([text]) => String(text).replace("*** in database main ***\n", "").replaceAll("\n", "; "))
    .filter((text) => text !== "ok")

export const hasTable = (database: Database, name: string): boolean =>
  numberIn(database, `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '${name}'`) === 1
