// A copy of the file, made while a service may write to it. VACUUM INTO reads in one transaction, so that the copy is
// of one instant; writers go on beside it, and the log grows until it is done, because what the copy still reads stays
// there. The copy has one table more than a store, which says when it was made, and no log beside it: it can be
// read where nobody may write.
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
      // A backup that is replaced keeps the mode that somebody gave it.
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

/** A copy that cannot be written says nothing about the store that it is of. */
export const writing = <A>(file: string, write: () => A): A => {
  try {
    return write()
  } catch (error) {
    if (!/^(SQLITE_(FULL|CANTOPEN|READONLY)|E[A-Z]+)/.test(codeOf(error))) throw error
    throw new OpenFailure(
      "unwritable",
      `${file} cannot be written (${describe(error)}): make room there, or name another place, and run the command again.`,
    )
  }
}

/** With SQLite's own file beside it. */
const removeHalf = (file: string): void => {
  for (const left of [file, `${file}-journal`]) {
    // Where nothing can be removed, nothing was written.
    if (existsSync(left)) rmSync(left, { force: true })
  }
}

/** A file of a store that nothing runs on: checked, and counted. */
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
 * What SQLite has begun to write is removed again if it fails. It is the owner's alone: of a store that others may not
 * read, they must not read half a copy either.
 */
export const vacuumInto = (database: Database, to: string): void => {
  removeHalf(to)
  createNew(to)
  try {
    // It writes another file, and reads this one; the library makes no difference.
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

/** The latest that anything in it happened at: it was copied then, or later. */
const lastInstant = (database: Database): number =>
  Math.max(
    numberIn(database, "SELECT max(updated_at) FROM timers"),
    numberIn(database, "SELECT max(finished_at) FROM history"),
    numberIn(database, "SELECT max(finished_at) FROM dead"),
  )

/** What was written under this name is on the disk. */
export const syncFile = (file: string): void => {
  const descriptor = openSync(file, "r+")
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** The names in the file's folder are on the disk. */
export const syncFolderOf = (file: string): void => {
  const descriptor = openSync(dirname(file), "r")
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
