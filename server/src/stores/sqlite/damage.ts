// A file that SQLite cannot read: whether it was a store, and what to do about it. A damaged store is still the only place
// of timers that no backup has, so nothing here ever advises to delete it.
import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs"
import { codeOf, restoreAdvice } from "./failures.ts"
import { OpenFailure } from "./OpenFailure.ts"

/** The file that a service runs on, or a backup of it. */
export type FileRole = "store" | "backup"

export const damaged = (path: string, what: string, role: FileRole = "store"): OpenFailure =>
  new OpenFailure("damaged", `${path} is damaged (${what}): ${remedyOf(path, role)}.`)

/** SQLite finds no database in the file. `wasStore` says whether anything shows that there was a store in it. */
export const notADatabase = (path: string, what: string, wasStore: boolean, role: FileRole): OpenFailure => {
  if (wasStore) return damaged(path, what, role)
  const advice =
    role === "backup"
      ? "name a file that punctual backup has made"
      : `name another file for the timers. If it was a store, it is damaged: ${restoreAdvice(path)}`
  return new OpenFailure("notADatabase", `${path} is not an SQLite database: ${advice}.`)
}

const remedyOf = (path: string, role: FileRole): string =>
  role === "backup" ? "take another backup" : restoreAdvice(path)

const magic = "SQLite format 3\0"
/** How SQLite's list of tables has the first one: its kind, its name, and its name as a table. */
const schemaText = "tabletimerstimers"
/** The schema is written first, so it lies at the beginning. */
const searchedBytes = 1 << 20

/** Whether a file that cannot be read has remains of a store in it, or of a database that was cut off. */
export const hasRemains = (path: string): boolean => {
  const bytes = beginningOf(path, searchedBytes)
  return bytes.includes(schemaText) || bytes.indexOf(magic) === 0
}

/** Whether there is a file that begins like no database, and no log that may have its first page. */
export const isNoDatabase = (path: string): boolean => {
  const bytes = beginningOf(path, magic.length)
  return bytes.length > 0 && bytes.toString("latin1") !== magic && bytesOf(`${path}-wal`) === 0
}

/** SQLite opens a file of a later format for reading only. This program writes none, so its header is damaged. */
export const hasUnknownFormat = (path: string): boolean => {
  const writeVersion = beginningOf(path, 100)[18]
  return writeVersion !== undefined && writeVersion > 2
}

/** Empty if it cannot be read. */
const beginningOf = (path: string, mostBytes: number): Buffer => {
  try {
    const descriptor = openSync(path, "r")
    try {
      const bytes = Buffer.alloc(mostBytes)
      return bytes.subarray(0, readSync(descriptor, bytes, 0, mostBytes, 0))
    } finally {
      closeSync(descriptor)
    }
  } catch {
    return Buffer.alloc(0)
  }
}

/**
 * SQLite takes an empty file for a new database, and deletes the log beside it. A store's file has its first page before
 * the log has anything, so an empty or missing file with a log was cut off, or removed.
 */
export const checkNotCutOff = (path: string): void => {
  const log = `${path}-wal`
  if (bytesOf(path) > 0 || bytesOf(log) === 0) return
  const what = existsSync(path) ? "it is empty" : "it is missing"
  throw damaged(path, `${what}, but its log ${log} is not`)
}

/** 0 if there is no file. */
export const bytesOf = (path: string): number => {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0
  } catch (error) {
    // A folder of its path is a file: whoever opens it says so.
    if (codeOf(error) === "ENOTDIR") return 0
    throw error
  }
}
