// Reads a file for an archive, on a read-only connection of its own, in one transaction, so that a service can keep
// running on the file. The log of the file grows until the archive is closed, because pages that the archive still
// reads cannot be moved out of it.
import type { Database, Statement } from "bun:sqlite"
import { changeOf } from "@punctual/documents/DocumentRow"
import { DocumentTable } from "@punctual/documents/sqlite/DocumentTable"
import { Effect, type Scope } from "effect"
import type { ArchivedItem } from "../../domain/WriteItem.ts"
import type { ArchivePage, ArchivePlace, TimerArchive } from "../../ports/TimerArchive.ts"
import { StoreError } from "../../ports/TimerStore.ts"
import { archivePage } from "../archivePage.ts"
import { describe, explain } from "./failures.ts"
import { OpenFailure } from "./OpenFailure.ts"
import { numberIn, openForArchive } from "./openDatabase.ts"
import { type KeyRow, keyOfRow, type LifeRow, lifeOf, type TimerRow, timerOf } from "./rows.ts"
import { SqliteOpenError } from "./SqliteStore.ts"
import { archiveSql } from "./statements.ts"

type PendingRow = TimerRow & KeyRow & { readonly spec: string | null; readonly payload: Uint8Array | null }

export const SqliteArchive = {
  /** Closes with the scope. */
  open: (path: string): Effect.Effect<TimerArchive, SqliteOpenError, Scope.Scope> =>
    Effect.map(
      Effect.acquireRelease(
        Effect.try({
          try: () => openForArchive(path),
          catch: (error) =>
            new SqliteOpenError({
              reason: error instanceof OpenFailure ? error.reason : "failed",
              message: describe(error),
            }),
        }),
        (database) => Effect.sync(() => database.close()),
      ),
      (database) => archiveOf(database, path),
    ),
} as const

const archiveOf = (database: Database, path: string): TimerArchive => {
  const parts: ReadonlyArray<Part> = [
    {
      name: "pending",
      first: [0],
      statement: database.prepare(archiveSql.pending),
      read: (row: PendingRow) => ({
        item: { kind: "pending", timer: timerOf(keyOfRow(row), row, row.spec, row.payload) },
        key: [row.id],
      }),
    },
    { name: "history", first: [0], statement: database.prepare(archiveSql.history), read: readLifeRow },
    { name: "dead", first: [0], statement: database.prepare(archiveSql.dead), read: readLifeRow },
  ]
  const documents = new DocumentTable(database)
  const read = <A>(run: () => A) =>
    Effect.try({
      try: run,
      catch: (error) => new StoreError({ message: explain(error, path), isFatal: false }),
    })
  return {
    shards: numberIn(database, "SELECT count(*) FROM shards"),
    page: (after, limit) => read(() => pageOf(parts, after, limit)),
    documents: (kind, afterVersion, limit) =>
      read(() => documents.changesAfter(kind, afterVersion, limit).map(changeOf)),
  }
}

interface Part {
  readonly name: ArchivePlace["part"]
  /** Sorts before every key. */
  readonly first: ReadonlyArray<string | number>
  readonly statement: Statement
  /** Each part gets the rows of its own statement. */
  readonly read: (row: never) => { readonly item: ArchivedItem; readonly key: ReadonlyArray<string | number> }
}

const readLifeRow = (row: LifeRow): { item: ArchivedItem; key: ReadonlyArray<number> } => ({
  item: { kind: "ended", life: lifeOf(row) },
  key: [row.id],
})

/** A page belongs to one part. The next part begins with a new page. */
const pageOf = (parts: ReadonlyArray<Part>, after: ArchivePlace | undefined, limit: number): ArchivePage => {
  const index = after === undefined ? 0 : parts.findIndex(({ name }) => name === after.part)
  const part = parts[index]
  if (part === undefined) return { items: [] }
  const rows = part.statement.all(...(after?.key ?? part.first), limit)
  const read = rows.map((row) => part.read(row as never))
  const items = read.map(({ item }) => item)
  const last = read.at(-1)
  if (last !== undefined && rows.length === limit)
    return archivePage(items, { part: part.name, key: last.key })
  const following = parts[index + 1]
  return archivePage(items, following && { part: following.name, key: following.first })
}
