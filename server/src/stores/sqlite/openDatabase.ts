// Opens the file and checks it: the library is new enough, the file is a database of this program and not newer than
// it, its schema is up to date, and the number of shards is the configured one. Every error is one sentence that names
// the file and says what to do.
import { Database } from "bun:sqlite"
import { existsSync } from "node:fs"
import {
  checkNotCutOff,
  damaged,
  type FileRole,
  hasRemains,
  hasUnknownFormat,
  isNoDatabase,
  notADatabase,
} from "./damage.ts"
import { codeOf, describe, isDamage } from "./failures.ts"
import { applicationId, migrateSchema } from "./migrateSchema.ts"
import { migrations } from "./migrations/all.ts"
import { createFolderOf, createIfMissing } from "./newFiles.ts"
import { OpenFailure } from "./OpenFailure.ts"
import { ProcessLock } from "./ProcessLock.ts"

export interface OpenOptions {
  readonly path: string
  readonly shards: number
}

/** Called now and then while a large file is migrated. */
export type OnProgress = (message: string) => void

/** Older versions may corrupt a WAL database when a reset races with a checkpoint. */
const oldestLibrary = "3.51.3"

const busyTimeoutMs = 5_000
const creationWaitMs = 5_000

export const openForWriting = (
  options: OpenOptions,
  onProgress: OnProgress = () => {},
): { database: Database; lock: ProcessLock } => {
  checkLibrary()
  const { path } = options
  // A lock file that is created here proves nothing about the database file. None is created for a foreign file.
  const hadLock = existsSync(lockOf(path))
  const lock = explaining(path, () => {
    checkNotCutOff(path)
    if (!hadLock && isNoDatabase(path)) {
      throw notADatabase(path, "it has no header of a database", hasRemains(path), "store")
    }
    createFolderOf(path)
    return new ProcessLock(lockOf(path))
  })
  let database: Database | undefined
  try {
    acquire(lock, path)
    database = explaining(
      path,
      () => {
        createIfMissing(path)
        const opened = new Database(path, { readwrite: true })
        prepare(opened, options, lock, onProgress)
        return opened
      },
      { wasStore: () => hadLock || hasRemains(path) },
    )
    return { database, lock }
  } catch (error) {
    database?.close()
    lock.close()
    throw error
  }
}

export const lockOf = (path: string): string => `${path}.lock`

/** Whether the lock is held now. */
export const acquire = (lock: ProcessLock, path: string): boolean => {
  try {
    return lock.tryAcquire()
  } catch (error) {
    if (!isDamage(error)) throw explanationOf(error, lockOf(path), {})
    throw new OpenFailure(
      "damaged",
      `${lockOf(path)} is damaged (${describe(error)}). It contains no data: stop all processes that use ${path}, empty this file, and start again.`,
    )
  }
}

/** Used after a writer has opened the file, so schema and shards are already checked. */
export const openForReading = ({ path }: OpenOptions): Database =>
  explaining(path, () => {
    checkNotCutOff(path)
    const database = new Database(path, { readwrite: true })
    database.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    database.run("PRAGMA query_only = ON")
    database.run("PRAGMA cache_size = -8192")
    return database
  })

/**
 * Opens the file for an archive, with or without a running service, in a transaction that sees the file as it is now.
 * It creates and migrates nothing, because that is the task of the service.
 */
export const openForArchive = (path: string): Database => {
  checkLibrary()
  if (!existsSync(path)) throw new OpenFailure("missing", `There is no store at ${path}: name its file.`)
  const database = openForReading({ path, shards: 0 })
  try {
    explaining(path, () => {
      checkOrigin(database, path)
      const version = versionOf(database)
      if (version < migrations.length) {
        throw new OpenFailure(
          "olderSchema",
          `${path} has schema version ${version}, and this program reads ${migrations.length}: run the service on it once to migrate it.`,
        )
      }
      database.run("BEGIN")
      // The transaction sees the file as of its first read.
      numberIn(database, "SELECT count(*) FROM shards")
    })
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

export const numberIn = (database: Database, sql: string): number =>
  Number(database.query(sql).values()[0]?.[0] ?? 0)

const prepare = (
  database: Database,
  options: OpenOptions,
  lock: ProcessLock,
  onProgress: OnProgress,
): void => {
  database.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
  checkOrigin(database, options.path)
  if (lock.isHeld) {
    database.run("PRAGMA journal_mode = WAL")
    database.run("PRAGMA synchronous = FULL")
    migrateSchema(database, options, onProgress)
    checkWritable(database)
  } else {
    awaitSchema(database, options.path)
  }
  database.run("PRAGMA synchronous = FULL")
  database.run("PRAGMA cache_size = -32768")
  database.run("PRAGMA wal_autocheckpoint = 0")
  database.run(`PRAGMA journal_size_limit = ${64 << 20}`)
  checkShards(database, options)
}

export const checkLibrary = (): void => {
  const memory = new Database(":memory:")
  const version = String(memory.query("SELECT sqlite_version()").values()[0]?.[0])
  memory.close()
  if (isOlder(version, oldestLibrary)) {
    throw new OpenFailure(
      "libraryTooOld",
      `SQLite ${version} is too old: ${oldestLibrary} or newer is needed. Use a newer runtime, which contains it.`,
    )
  }
}

export const isOlder = (version: string, than: string): boolean => {
  const [a, b] = [version, than].map((text) => text.split(".").map(Number))
  for (let i = 0; i < 3; i++) {
    const [left, right] = [a?.[i] ?? 0, b?.[i] ?? 0]
    if (left !== right) return left < right
  }
  return false
}

export const versionOf = (database: Database): number => numberIn(database, "PRAGMA user_version")

/** Reads everything at one instant, because another process may be creating the store. */
export const checkOrigin = (database: Database, path: string, role: FileRole = "store"): void =>
  database.transaction(() => {
    const tables = numberIn(database, "SELECT count(*) FROM sqlite_schema")
    const isOurs = numberIn(database, "PRAGMA application_id") === applicationId
    const version = versionOf(database)
    if (tables > 0 && !isOurs) {
      if (hasOwnTables(database)) throw damaged(path, "its header does not name its program", role)
      throw new OpenFailure(
        "otherProgram",
        `${path} is an SQLite database of another program: name another file for the timers.`,
      )
    }
    if (tables === 0 && isOurs) throw damaged(path, "its tables are missing", role)
    if (isImpossible(database, version, tables)) {
      throw damaged(path, `its header has the schema version ${version}`, role)
    }
    if (version > migrations.length) {
      throw new OpenFailure(
        "newerSchema",
        `${path} has schema version ${version}, and this program supports at most ${migrations.length}: ` +
          "start the newer program that made it, or name another file.",
      )
    }
  })()

/** No program has, or will ever have, so many versions. */
const mostVersions = 1_000

/** Marks that stores have from this version on, and that no earlier version has. */
export const marksOfVersions = [
  { version: 1, isThere: "SELECT count(*) FROM sqlite_schema WHERE name = 'timers'" },
  { version: 2, isThere: "SELECT count(*) FROM pragma_table_info('timers') WHERE name = 'asked_at'" },
  { version: 5, isThere: "SELECT count(*) FROM sqlite_schema WHERE name = 'documents'" },
  { version: 7, isThere: "SELECT count(*) FROM sqlite_schema WHERE name = 'lookups'" },
  { version: 8, isThere: "SELECT count(*) FROM pragma_table_info('timers') WHERE name = 'traceparent'" },
  { version: 9, isThere: "SELECT count(*) FROM sqlite_schema WHERE name = 'journal'" },
  { version: 10, isThere: "SELECT count(*) FROM sqlite_schema WHERE name = 'runs'" },
]

/** Whether the version in the header does not fit the tables. */
const isImpossible = (database: Database, version: number, tables: number): boolean => {
  if (version < 0 || version > mostVersions) return true
  if (tables === 0) return false
  return marksOfVersions.some((mark) => numberIn(database, mark.isThere) > 0 !== version >= mark.version)
}

/** The tables of the first version, which every later version also has. */
const ownTables = ["timers", "bodies", "history", "dead", "shards", "tally"]

const hasOwnTables = (database: Database): boolean => {
  const names = ownTables.map((name) => `'${name}'`).join(", ")
  const found = `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN (${names})`
  return numberIn(database, found) === ownTables.length
}

/** A read-only file opens without an error. It is better to refuse it now than at the first write. */
const checkWritable = (database: Database): void => {
  try {
    database.run("BEGIN IMMEDIATE")
    try {
      // The transaction alone does not show it, because on such a file it only reads.
      database.run(`PRAGMA user_version = ${versionOf(database)}`)
    } finally {
      database.run("ROLLBACK")
    }
  } catch (error) {
    // Another program is writing, so the file is writable.
    if (!codeOf(error).startsWith("SQLITE_BUSY")) throw error
  }
}

/** Another process owns the store and may be creating it. Only that process migrates an older schema. */
const awaitSchema = (database: Database, path: string): void => {
  const deadline = performance.now() + creationWaitMs
  while (versionOf(database) < migrations.length) {
    const isEmpty = numberIn(database, "SELECT count(*) FROM sqlite_schema") === 0
    if (!isEmpty || performance.now() > deadline) {
      throw new OpenFailure(
        "inUse",
        `${path} has an older schema and another process is using it: stop that one, and this one can migrate it.`,
      )
    }
    Bun.sleepSync(20)
  }
}

const checkShards = (database: Database, { path, shards }: OpenOptions): void => {
  const stored = numberIn(database, "SELECT count(*) FROM shards")
  if (stored === shards) return
  throw new OpenFailure(
    "otherShardCount",
    `${path} has ${stored} ${stored === 1 ? "shard" : "shards"}, but TIMER_SHARDS is ${shards}: the number is fixed when the store is ` +
      `created; set TIMER_SHARDS to ${stored}, or name another file.`,
  )
}

export interface Explained {
  readonly role?: FileRole
  /** Called if SQLite finds no database in the file. */
  readonly wasStore?: () => boolean
}

/** Converts SQLite's errors to sentences. */
export const explaining = <A>(path: string, open: () => A, explained: Explained = {}): A => {
  try {
    return open()
  } catch (error) {
    throw explanationOf(error, path, explained)
  }
}

const explanationOf = (error: unknown, path: string, explained: Explained): OpenFailure => {
  if (error instanceof OpenFailure) return error
  const { role = "store", wasStore = () => existsSync(lockOf(path)) || hasRemains(path) } = explained
  const code = codeOf(error)
  if (code.startsWith("SQLITE_NOTADB")) return notADatabase(path, describe(error), wasStore(), role)
  if (isDamage(error)) return damaged(path, describe(error), role)
  if (code.startsWith("SQLITE_READONLY") && hasUnknownFormat(path)) {
    return damaged(path, "its header has an unknown format", role)
  }
  if (/^(E[A-Z]+|SQLITE_(CANTOPEN|READONLY|IOERR|PERM|FULL))/.test(code)) {
    return new OpenFailure(
      "unwritable",
      `${path} cannot be written (${describe(error)}): the folder must exist or be creatable, and allow writing.`,
    )
  }
  return new OpenFailure("failed", `${path} cannot be opened: ${describe(error)}.`)
}
