// Documents as rows of an SQLite file (schema.sql). The code is synchronous and does not use Effect, because it runs in
// the thread that owns the connection. SQLite lets one connection write at a time, so versions become visible in order.
import type { Database } from "bun:sqlite"
import {
  type DocumentRow,
  type IdRange,
  tombstonesCleared,
  tombstonesKeptMs,
  type WriteDocument,
} from "../DocumentRow.ts"

const columns = "kind, id, version, json, updated_at"

export const documentSql = {
  nextVersion: "UPDATE documents_version SET version = version + 1 RETURNING version",
  write: `INSERT INTO documents (${columns}) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (kind, id) DO UPDATE
    SET version = excluded.version, json = excluded.json, updated_at = excluded.updated_at
    RETURNING ${columns}`,
  clear: `DELETE FROM documents WHERE rowid IN (
    SELECT rowid FROM documents INDEXED BY documents_removed
    WHERE json IS NULL AND updated_at < ?1 ORDER BY updated_at LIMIT ${tombstonesCleared})`,
  get: `SELECT ${columns} FROM documents WHERE kind = ?1 AND id = ?2 AND json IS NOT NULL`,
  list: `SELECT ${columns} FROM documents WHERE kind = ?1 AND id >= ?2 AND id < ?3 AND json IS NOT NULL
    ORDER BY id LIMIT ?4`,
  changes: `SELECT ${columns} FROM documents INDEXED BY documents_by_version WHERE kind = ?1 AND version > ?2
    ORDER BY version LIMIT ?3`,
} as const

/** Runs the work in a transaction that takes the write lock before it reads. */
export type Transaction = <A>(work: () => A) => A

export class DocumentTable {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  write(asked: WriteDocument, transaction: Transaction): DocumentRow | undefined {
    const { kind, id, expectedVersion, json, updatedAt } = asked
    return transaction(() => {
      const present = this.get(kind, id)
      if ((present?.version ?? 0) !== expectedVersion) return undefined
      if (json === null && present === undefined) return undefined
      const next = this.#database.query<{ version: number }, []>(documentSql.nextVersion).get()
      if (next === null) throw new Error("The table documents_version has no row")
      const row = this.#database
        .query<DocumentRow, [string, string, number, string | null, number]>(documentSql.write)
        .get(kind, id, next.version, json, updatedAt)
      if (json === null) this.#database.query(documentSql.clear).run(updatedAt - tombstonesKeptMs)
      return row ?? undefined
    })
  }

  get(kind: string, id: string): DocumentRow | undefined {
    return this.#database.query<DocumentRow, [string, string]>(documentSql.get).get(kind, id) ?? undefined
  }

  list({ kind, inclusiveFrom, exclusiveUntil, limit }: IdRange): ReadonlyArray<DocumentRow> {
    return this.#database
      .query<DocumentRow, [string, string, string, number]>(documentSql.list)
      .all(kind, inclusiveFrom, exclusiveUntil, limit)
  }

  changesAfter(kind: string, version: number, limit: number): ReadonlyArray<DocumentRow> {
    return this.#database
      .query<DocumentRow, [string, number, number]>(documentSql.changes)
      .all(kind, version, limit)
  }
}
