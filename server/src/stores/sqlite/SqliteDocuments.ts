// The documents of a file, for a command that writes while a service may run on the file. SQLite lets one connection
// write at a time. The command holds the write lock for a moment, and the writer of the service waits for it. The command
// does not take the lock of the store, creates nothing and migrates nothing.
import type { Database } from "bun:sqlite"
import type { Documents } from "@punctual/documents/Documents"
import { DocumentTable } from "@punctual/documents/sqlite/DocumentTable"
import { Effect, type Scope } from "effect"
import { StoreError } from "../../ports/TimerStore.ts"
import { storeDocuments } from "../StoreDocuments.ts"
import { codeOf, describe, explain, refusal } from "./failures.ts"
import { migrations } from "./migrations/all.ts"
import { OpenFailure } from "./OpenFailure.ts"
import { openBeside } from "./openBeside.ts"
import { SqliteOpenError } from "./SqliteStore.ts"
import { writeTransaction } from "./writeTransaction.ts"

export const SqliteDocuments = {
  /** Closes with the scope. */
  open: (path: string): Effect.Effect<Documents["Service"], SqliteOpenError, Scope.Scope> =>
    Effect.map(
      Effect.acquireRelease(
        Effect.try({
          try: () => openForDocuments(path),
          catch: (error) =>
            new SqliteOpenError({
              reason: error instanceof OpenFailure ? error.reason : "failed",
              message: describe(error),
            }),
        }),
        (database) => Effect.sync(() => database.close()),
      ),
      (database) => documentsIn(database, path),
    ),
} as const

const openForDocuments = (path: string): Database => {
  const { database, schemaVersion } = openBeside(path)
  try {
    if (schemaVersion < migrations.length) {
      throw new OpenFailure(
        "olderSchema",
        `${path} has schema version ${schemaVersion}, and this program writes ${migrations.length}: start the service on it once, or run punctual migrate.`,
      )
    }
    database.run("PRAGMA query_only = OFF")
    database.run("PRAGMA synchronous = FULL")
    // The writer of the service moves the log into the file when no caller waits for it.
    database.run("PRAGMA wal_autocheckpoint = 0")
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

const documentsIn = (database: Database, path: string): Documents["Service"] => {
  const table = new DocumentTable(database)
  const call = <A>(run: () => A) =>
    Effect.try({
      try: run,
      catch: (error) => new StoreError({ message: failureText(error, path), isFatal: false }),
    })
  return storeDocuments({
    write: (asked) => call(() => table.write(asked, (body) => writeTransaction(database, body))),
    get: (kind, id) => call(() => table.get(kind, id)),
    list: (range) => call(() => table.list(range)),
    changesAfter: (kind, version, limit) => call(() => table.changesAfter(kind, version, limit)),
  })
}

const failureText = (error: unknown, path: string): string =>
  /^SQLITE_(BUSY|LOCKED)/.test(codeOf(error)) ? refusal(error, path) : explain(error, path)
