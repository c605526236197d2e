// Reads a schema for an archive, on one connection, in one read-only transaction that sees the database as of its
// beginning. So services can keep running on it. Until the archive is closed, vacuum keeps the rows that the archive
// may still read.

import { changeOf } from "@punctual/documents/DocumentRow"
import { readChanges } from "@punctual/documents/postgres/postgresDocuments"
import { DatabaseFailure } from "@punctual/sql/DatabaseFailure"
import { describeError } from "@punctual/sql/errorCodes"
import { Effect, type Scope } from "effect"
import type { ArchivedItem } from "../../domain/WriteItem.ts"
import type { ArchivePage, ArchivePlace, TimerArchive } from "../../ports/TimerArchive.ts"
import { StoreError } from "../../ports/TimerStore.ts"
import { archivePage } from "../archivePage.ts"
import {
  keyOfSqlRow,
  lifeOfSqlRow,
  type SqlKeyRow,
  type SqlLifeRow,
  type SqlTimerRow,
  timerOfSqlRow,
} from "../sqlRows.ts"
import { connectionTo } from "./connectionTo.ts"
import { archiveTimeoutMs } from "./limits.ts"
import { openForArchive } from "./openDatabase.ts"
import { PostgresOpenError } from "./PostgresStore.ts"
import { archiveSql } from "./statements.ts"

type PendingRow = SqlKeyRow & SqlTimerRow & { readonly payload: Uint8Array | null }
type EndedRow = SqlKeyRow & SqlLifeRow & { readonly payload: Uint8Array | null; readonly id: number }

export const PostgresArchive = {
  /** Closes with the scope. */
  open: (url: string): Effect.Effect<TimerArchive, PostgresOpenError, Scope.Scope> =>
    Effect.gen(function* () {
      const { place, shards } = yield* opening(() => openForArchive(url))
      const sql = yield* Effect.acquireRelease(
        Effect.sync(() => connectionTo(place)),
        (connection) => Effect.promise(() => connection.close({ timeout: 0 }).catch(() => {})),
      )
      // A reserved connection fails if it is lost. The driver would replace any other one, outside the transaction.
      const session = yield* opening(() => sql.reserve())
      yield* opening(() => session.unsafe("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))
      // The transaction sees the database as of its first statement.
      yield* opening(() => session.unsafe("SELECT 1 FROM shards LIMIT 1"))
      return archiveOf(session, shards)
    }),
} as const

const opening = <A>(open: () => PromiseLike<A>): Effect.Effect<A, PostgresOpenError> =>
  Effect.tryPromise({
    try: async () => open(),
    catch: (error) =>
      new PostgresOpenError({
        reason: error instanceof DatabaseFailure ? error.reason : "failed",
        message: error instanceof DatabaseFailure ? error.message : describeError(error),
      }),
  })

const archiveOf = (session: Bun.SQL, shards: number): TimerArchive => ({
  shards,
  page: (after, limit) => inTime(() => pageOf(session, after, limit)),
  documents: (kind, afterVersion, limit) =>
    inTime(async () => (await readChanges(session, kind, afterVersion, limit)).map(changeOf)),
})

const inTime = <A>(read: () => Promise<A>): Effect.Effect<A, StoreError> =>
  Effect.tryPromise({
    try: read,
    catch: (error) => new StoreError({ message: describeError(error), isFatal: false }),
  }).pipe(
    Effect.timeoutOrElse({
      duration: archiveTimeoutMs,
      orElse: () => Effect.fail(new StoreError({ message: "a page took too long", isFatal: false })),
    }),
  )

interface Part {
  readonly name: ArchivePlace["part"]
  /** Sorts before every key. */
  readonly first: ReadonlyArray<string | number>
  readonly text: string
  /** Each part gets the rows of its own statement. */
  readonly read: (row: never) => { readonly item: ArchivedItem; readonly key: ReadonlyArray<string | number> }
}

const endedItem = (row: EndedRow): ArchivedItem => ({
  kind: "ended",
  life: lifeOfSqlRow(keyOfSqlRow(row), row, row.payload),
})

const parts: ReadonlyArray<Part> = [
  {
    name: "pending",
    first: ["", ""],
    text: archiveSql.pending,
    read: (row: PendingRow) => ({
      item: { kind: "pending", timer: timerOfSqlRow(keyOfSqlRow(row), row, row.payload) },
      key: [row.namespace, row.timer_id],
    }),
  },
  {
    name: "history",
    first: [Number.MIN_SAFE_INTEGER, 0],
    text: archiveSql.history,
    read: (row: EndedRow) => ({ item: endedItem(row), key: [row.finished_at, row.id] }),
  },
  {
    name: "dead",
    first: ["", 0, 0],
    text: archiveSql.dead,
    read: (row: EndedRow) => ({ item: endedItem(row), key: [row.namespace, row.finished_at, row.id] }),
  },
]

/** A page belongs to one part. The next part begins with a new page. */
const pageOf = async (
  session: Bun.SQL,
  after: ArchivePlace | undefined,
  limit: number,
): Promise<ArchivePage> => {
  const index = after === undefined ? 0 : parts.findIndex(({ name }) => name === after.part)
  const part = parts[index]
  if (part === undefined) return { items: [] }
  const rows: ReadonlyArray<unknown> = await session.unsafe(part.text, [...(after?.key ?? part.first), limit])
  const read = rows.map((row) => part.read(row as never))
  const items = read.map(({ item }) => item)
  const last = read.at(-1)
  if (last !== undefined && rows.length === limit)
    return archivePage(items, { part: part.name, key: last.key })
  const following = parts[index + 1]
  return archivePage(items, following && { part: following.name, key: following.first })
}
