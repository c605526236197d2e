// The file opened by a command, beside whatever runs on it: to be read only, whatever version of the schema it has,
// as long as this program knows it. Nothing is created, migrated or locked.
import { Database } from "bun:sqlite"
import { existsSync, statSync } from "node:fs"
import { OpenFailure } from "./OpenFailure.ts"
import { checkLibrary, checkOrigin, explaining, numberIn, openForReading, versionOf } from "./openDatabase.ts"

export interface OpenedBeside {
  readonly database: Database
  readonly schemaVersion: number
}

export const openBeside = (path: string): OpenedBeside => {
  checkLibrary()
  if (!existsSync(path)) throw new OpenFailure("missing", `There is no store at ${path}: name its file.`)
  return checked(openForReading({ path, shards: 0 }), path)
}

/** A file that nothing runs on, such as a backup. It may lie where nobody can write. */
export const openAlone = (path: string): OpenedBeside => {
  checkLibrary()
  if (!existsSync(path) || !statSync(path).isFile()) {
    throw new OpenFailure("missing", `There is no file at ${path}.`)
  }
  const database = explaining(path, () => new Database(path, { readonly: true }))
  return checked(database, path)
}

const checked = (database: Database, path: string): OpenedBeside => {
  try {
    return explaining(path, () => {
      checkOrigin(database, path)
      const schemaVersion = versionOf(database)
      if (schemaVersion === 0) {
        throw new OpenFailure("otherProgram", `${path} is no store of Punctual: it is empty.`)
      }
      return { database, schemaVersion }
    })
  } catch (error) {
    database.close()
    throw error
  }
}

/** What a check of the structure finds, at most so many faults. */
export const faultsIn = (database: Database, isFull: boolean, most: number): ReadonlyArray<string> =>
  database
    .query(`PRAGMA ${isFull ? "integrity_check" : "quick_check"}(${most})`)
    .values()
    // The first is headed by the name of the database, which is the file.
    .map(([text]) => String(text).replace("*** in database main ***\n", "").replaceAll("\n", "; "))
    .filter((text) => text !== "ok")

export const hasTable = (database: Database, name: string): boolean =>
  numberIn(database, `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '${name}'`) === 1
