// Copies the file while a service may write to it. VACUUM INTO reads in one transaction, so the copy shows one instant.
// Writers continue meanwhile, and the log grows until the copy is done, because pages that the copy still reads stay
// there. The copy has one more table than a store, with the time of the copy. It has no log, so it can be read from a
// read-only place.
import { Database } from "bun:sqlite"
import { chmodSync, closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs"
import { dirname } from "node:path"
import type { CopyFacts, CopyOptions } from "../../ports/StoreCopy.ts"
import { damaged } from "./damage.ts"
import { codeOf, describe } from "./failures.ts"
import { createNew } from "./newFiles.ts"
import { OpenFailure } from "./OpenFailure.ts"
import { faultsIn, hasTable, type OpenedBeside, openAlone, openBeside } from "./openBeside.ts"
import { numberIn } from "./openDatabase.ts"

export const copyStore = (path: string, { file, partial, takenAtMs }: CopyOptions): CopyFacts => {
  const { database } = openBeside(path)
  try {
    writing(file, () => vacuumInto(database, partial))
  } finally {
    database.close()
  }
  try {
    return writing(file, () => {
      noteInstant(partial, takenAtMs)
      const facts = inspectFile(partial)
      // A replaced backup keeps its file mode.
      if (existsSync(file)) chmodSync(partial, permissionsOf(file))
      syncFile(partial)
      renameSync(partial, file)
      syncFolderOf(file)
      return facts
    })
  } catch (error) {
    removeHalf(partial)
    throw error
  }
}

/** An error while writing a copy does not concern the store that is copied. */
export const writing = <A>(file: string, write: () => A): A => {
  try {
    return write()
  } catch (error) {
    if (!/^(SQLITE_(FULL|CANTOPEN|READONLY)|E[A-Z]+)/.test(codeOf(error))) throw error
    throw new OpenFailure(
      "unwritable",
      `${file} cannot be written (${describe(error)}): free some space there or name another place, and run the command again.`,
    )
  }
}

/** Removes the file and SQLite's own file beside it. */
const removeHalf = (file: string): void => {
  for (const left of [file, `${file}-journal`]) {
    // If nothing can be removed, nothing was written.
    if (existsSync(left)) rmSync(left, { force: true })
  }
}

/** Checks and counts a file of a store that is not in use. */
export const inspectFile = (file: string): CopyFacts => {
  const opened = openAlone(file)
  try {
    const faults = faultsIn(opened.database, false, 3)
    if (faults.length > 0) {
      throw damaged(file, faults.join("; "), "backup")
    }
    return factsOf(opened, file)
  } finally {
    opened.database.close()
  }
}

export const permissionsOf = (file: string): number => statSync(file).mode & 0o777

/**
 * If it fails, it removes the unfinished file. Only the owner can read the file, because a partial copy must be as
 * private as the store.
 */
export const vacuumInto = (database: Database, to: string): void => {
  removeHalf(to)
  createNew(to)
  try {
    // VACUUM INTO writes another file and only reads this one, but the library does not distinguish that.
    database.run("PRAGMA query_only = OFF")
    database.run("VACUUM INTO ?", [to])
  } catch (error) {
    removeHalf(to)
    throw error
  }
}

export const noteTable = "backup_note"

const noteInstant = (file: string, takenAtMs: number): void => {
  const database = new Database(file, { readwrite: true })
  try {
    database.run(`DROP TABLE IF EXISTS ${noteTable}`)
    database.run(`CREATE TABLE ${noteTable} (taken_at INTEGER NOT NULL) STRICT`)
    database.run(`INSERT INTO ${noteTable} (taken_at) VALUES (?1)`, [takenAtMs])
  } finally {
    database.close()
  }
}

const factsOf = ({ database, schemaVersion }: OpenedBeside, file: string): CopyFacts => ({
  bytes: statSync(file).size,
  schemaVersion,
  shards: numberIn(database, "SELECT count(*) FROM shards"),
  pending: numberIn(database, "SELECT count(*) FROM timers"),
  history: numberIn(database, "SELECT count(*) FROM history"),
  dead: numberIn(database, "SELECT count(*) FROM dead"),
  takenAtMs: hasTable(database, noteTable)
    ? numberIn(database, `SELECT max(taken_at) FROM ${noteTable}`)
    : lastInstant(database),
})

/** The time of the latest event in the store. The copy was made then or later. */
const lastInstant = (database: Database): number =>
  Math.max(
    numberIn(database, "SELECT max(updated_at) FROM timers"),
    numberIn(database, "SELECT max(finished_at) FROM history"),
    numberIn(database, "SELECT max(finished_at) FROM dead"),
  )

/** Ensures that the file's content is on disk. */
export const syncFile = (file: string): void => {
  const descriptor = openSync(file, "r+")
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Ensures that the names in the file's folder are on disk. */
export const syncFolderOf = (file: string): void => {
  const descriptor = openSync(dirname(file), "r")
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
