// Documents as rows of a PostgreSQL schema (schema.sql), on the caller's connection. A write is a short transaction.
// Its first statement locks the row of the last version. The statements after it see everything that was committed
// before they got the lock (READ COMMITTED). So a write compares versions with the current rows, and versions become
// visible in order.
import {
  type DocumentCalls,
  type DocumentRow,
  type IdRange,
  tombstonesCleared,
  tombstonesKeptMs,
  type WriteDocument,
} from "../DocumentRow.ts"

const columns = "kind, id, d.version::float8 AS version, json, d.updated_at::float8 AS updated_at"

export const documentSql = {
  nextVersion: "UPDATE documents_version SET version = version + 1 RETURNING version::float8 AS version",
  /** A tombstone counts as no document. */
  insert: `INSERT INTO documents AS d (kind, id, version, json, updated_at)
    VALUES ($1::text, $2::text, $3::bigint, $4::text, $5::bigint)
    ON CONFLICT (kind, id) DO UPDATE
    SET version = excluded.version, json = excluded.json, updated_at = excluded.updated_at
    WHERE d.json IS NULL RETURNING ${columns}`,
  replace: `UPDATE documents AS d SET version = $3::bigint, json = $4::text, updated_at = $5::bigint
    WHERE kind = $1::text AND id = $2::text AND d.version = $6::bigint AND d.json IS NOT NULL RETURNING ${columns}`,
  clear: `DELETE FROM documents WHERE (kind, id) IN (
    SELECT kind, id FROM documents WHERE json IS NULL AND updated_at < $1::bigint
    ORDER BY updated_at LIMIT ${tombstonesCleared})`,
  get: `SELECT ${columns} FROM documents AS d WHERE kind = $1::text AND id = $2::text AND json IS NOT NULL`,
  list: `SELECT ${columns} FROM documents AS d
    WHERE kind = $1::text AND id >= $2::text AND id < $3::text AND json IS NOT NULL ORDER BY d.id LIMIT $4::integer`,
  changes: `SELECT ${columns} FROM documents AS d WHERE kind = $1::text AND d.version > $2::bigint
    ORDER BY d.version LIMIT $3::integer`,
} as const

type Rows = ReadonlyArray<DocumentRow>

const writeDocument = (sql: Bun.SQL, asked: WriteDocument): Promise<DocumentRow | undefined> =>
  sql.begin("isolation level read committed", async (tx) => {
    const { kind, id, expectedVersion, json, updatedAt } = asked
    const given: ReadonlyArray<{ version: number }> = await tx.unsafe(documentSql.nextVersion)
    const next = given[0]
    if (next === undefined) throw new Error("The table documents_version has no row")
    const values = [kind, id, next.version, json, updatedAt]
    const written: Rows =
      expectedVersion === 0 && json !== null
        ? await tx.unsafe(documentSql.insert, values)
        : await tx.unsafe(documentSql.replace, [...values, expectedVersion])
    if (json === null) await tx.unsafe(documentSql.clear, [updatedAt - tombstonesKeptMs])
    return written[0]
  })

const readDocument = async (sql: Bun.SQL, kind: string, id: string): Promise<DocumentRow | undefined> => {
  const rows: Rows = await sql.unsafe(documentSql.get, [kind, id])
  return rows[0]
}

const listDocuments = async (sql: Bun.SQL, range: IdRange): Promise<Rows> =>
  sql.unsafe(documentSql.list, [range.kind, range.inclusiveFrom, range.exclusiveUntil, range.limit])

const readChanges = async (sql: Bun.SQL, kind: string, version: number, limit: number): Promise<Rows> =>
  sql.unsafe(documentSql.changes, [kind, version, limit])

export const postgresDocuments = (sql: Bun.SQL): DocumentCalls => ({
  write: (asked) => writeDocument(sql, asked),
  get: (kind, id) => readDocument(sql, kind, id),
  list: (range) => listDocuments(sql, range),
  changesAfter: (kind, version, limit) => readChanges(sql, kind, version, limit),
})
