// A file that SQLite cannot read: whether it was a store, and what to do about it. A damaged store may be the only
// place with timers that no backup has, so nothing here ever advises to delete it.
import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs"
import { codeOf, restoreAdvice } from "./failures.ts"
import { OpenFailure } from "./OpenFailure.ts"

/** The file of a service, or a backup of it. */
export type FileRole = "store" | "backup"

export const damaged = (path: string, what: string, role: FileRole = "store"): OpenFailure =>
  new OpenFailure("damaged", `${path} is damaged (${what}): ${remedyOf(path, role)}.`)

/** SQLite finds no database in the file. `wasStore` says whether anything shows that the file was a store. */
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
/** How SQLite's schema table stores the first table: its kind, its name, and its name as a table. */
const schemaText = "tabletimerstimers"
/** The schema is written first, so it is at the beginning. */
const searchedBytes = 1 << 20

/** Whether an unreadable file contains remains of a store, or of a truncated database. */
export const hasRemains = (path: string): boolean => {
  const bytes = beginningOf(path, searchedBytes)
  return bytes.includes(schemaText) || bytes.indexOf(magic) === 0
}

/** Whether the file does not begin like a database, and there is no log that may contain its first page. */
export const isNoDatabase = (path: string): boolean => {
  const bytes = beginningOf(path, magic.length)
  return bytes.length > 0 && bytes.toString("latin1") !== magic && bytesOf(`${path}-wal`) === 0
}

/** SQLite opens a file of a later format as read-only. This program never writes one, so such a header is damaged. */
export const hasUnknownFormat = (path: string): boolean => {
  const writeVersion = beginningOf(path, 100)[18]
  return writeVersion !== undefined && writeVersion > 2
}

/** Empty if the file cannot be read. */
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
 * SQLite treats an empty file as a new database, and deletes the log beside it. A store's file has its first page
 * before the log contains anything. So an empty or missing file with a log was truncated or removed.
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
    // A folder of the path is a file. The code that opens the path reports this.
    if (codeOf(error) === "ENOTDIR") return 0
    throw error
  }
}
