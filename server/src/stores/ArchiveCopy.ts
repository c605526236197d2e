// A copy of a store in a temporary file, for archives of databases that cannot show many rows as of one instant. The
// opening of the archive fills it, and the pages come from it.
import { Database } from "bun:sqlite"
import { rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { deserialize, serialize } from "node:v8"
import { changeOf, type DocumentRow } from "@punctual/documents/DocumentRow"
import { Effect } from "effect"
import type { TimerKey } from "../domain/Timer.ts"
import { type ArchivedItem, keyOfArchived } from "../domain/WriteItem.ts"
import type { ArchivePlace, TimerArchive } from "../ports/TimerArchive.ts"
import { archivePage } from "./archivePage.ts"
import type { KeptRow } from "./RowCounting.ts"

/** A file that ends with the archive. It has payloads, so only its owner may read it. */
export class ArchiveCopy {
  readonly #path = join(tmpdir(), `punctual-archive-${crypto.randomUUID()}.db`)
  readonly #database: Database

  constructor() {
    const mask = process.umask(0o077)
    try {
      this.#database = new Database(this.#path)
      this.#database.run("PRAGMA synchronous = OFF")
    } finally {
      process.umask(mask)
    }
    this.#database.run(
      "CREATE TABLE items (part INTEGER, at INTEGER, entry INTEGER, id TEXT, item BLOB, PRIMARY KEY (part, at, entry, id)) WITHOUT ROWID",
    )
    this.#database.run(
      "CREATE TABLE documents (kind TEXT, version INTEGER, row TEXT, PRIMARY KEY (kind, version))",
    )
  }

  addDocument(row: DocumentRow): void {
    this.#database
      .query("INSERT OR REPLACE INTO documents VALUES (?, ?, ?)")
      .run(row.kind, row.version, JSON.stringify(row))
  }

  documents(kind: string, afterVersion: number, limit: number): ReadonlyArray<DocumentRow> {
    const rows = this.#database
      .query<{ row: string }, [string, number, number]>(
        "SELECT row FROM documents WHERE kind = ? AND version > ? ORDER BY version LIMIT ?",
      )
      .all(kind, afterVersion, limit)
    return rows.map(({ row }) => JSON.parse(row) as DocumentRow)
  }

  add(rows: ReadonlyArray<KeptRow>): void {
    const insert = this.#database.query("INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?)")
    this.#database.transaction(() => {
      for (const { item, entry = 0 } of rows) {
        const { uuid, fireId } = keyOfArchived(item)
        const at = item.kind === "pending" ? 0 : item.life.finishedAt
        insert.run(partNames.indexOf(partOf(item)), at, entry, `${uuid} ${fireId}`, serialize(item))
      }
    })()
  }

  /** Begins again. */
  clear(): void {
    for (const table of ["items", "documents"]) this.#database.run(`DELETE FROM ${table}`)
  }

  /** The pending timers whose arming has also ended. They were copied before they ended. */
  takeEnded(): ReadonlyArray<TimerKey> {
    const twice = "SELECT id FROM items WHERE part > 0 INTERSECT SELECT id FROM items WHERE part = 0"
    const items = this.#database
      .query<{ item: Uint8Array }, []>(`SELECT item FROM items WHERE part = 0 AND id IN (${twice})`)
      .all()
    this.#database.run(`DELETE FROM items WHERE part = 0 AND id IN (${twice})`)
    return items.map(({ item }) => {
      const { timer } = deserialize(item) as Extract<ArchivedItem, { readonly kind: "pending" }>
      return timer
    })
  }

  page(after: ArchivePlace | undefined, limit: number) {
    const key = after?.key ?? [-1, 0, 0, ""]
    const rows = this.#database
      .query<
        { part: number; at: number; entry: number; id: string; item: Uint8Array },
        Array<string | number>
      >("SELECT * FROM items WHERE (part, at, entry, id) > (?, ?, ?, ?) ORDER BY part, at, entry, id LIMIT ?")
      .all(...key, limit)
    const last = rows.at(-1)
    const next: ArchivePlace | undefined =
      last === undefined || rows.length < limit
        ? undefined
        : { part: partNames[last.part] ?? "dead", key: [last.part, last.at, last.entry, last.id] }
    return archivePage(
      rows.map(({ item }) => deserialize(item) as ArchivedItem),
      next,
    )
  }

  archive(shards: number): TimerArchive {
    return {
      shards,
      page: (after, limit) => Effect.sync(() => this.page(after, limit)),
      documents: (kind, afterVersion, limit) =>
        Effect.sync(() => this.documents(kind, afterVersion, limit).map(changeOf)),
    }
  }

  close(): void {
    this.#database.close()
    rmSync(this.#path, { force: true })
  }
}

const partNames: ReadonlyArray<ArchivePlace["part"]> = ["pending", "history", "dead"]

const partOf = (item: ArchivedItem): ArchivePlace["part"] => {
  if (item.kind === "pending") return "pending"
  return item.life.state === "dead" ? "dead" : "history"
}
