// Documents as rows of a MySQL database (schema.sql), on the caller's session. A write is one transaction in one round
// trip. Its first statement locks the row of the last version. The statements after it see everything that was committed
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
import { literal, literals, type MysqlSession } from "./mysqlText.ts"

const columns = `CONVERT(kind USING utf8mb4) AS kind, CONVERT(id USING utf8mb4) AS id, version + 0e0 AS version, json,
  updated_at + 0e0 AS updated_at`

type Rows = ReadonlyArray<DocumentRow>

/** Sets a column only if the row is a tombstone, which counts as no document. */
const ifRemoved = (column: string): string => `${column} = IF(json IS NULL, VALUES(${column}), ${column})`

const write = async (session: MysqlSession, asked: WriteDocument): Promise<DocumentRow | undefined> => {
  const { kind, id, expectedVersion, json, updatedAt } = asked
  const removedAt = json === null ? updatedAt : null
  const key = `kind = ${literal(kind)} AND id = ${literal(id)}`
  // MySQL sets the columns one after the other, so the one that the others ask for comes last.
  const change =
    expectedVersion === 0 && json !== null
      ? `INSERT INTO documents (kind, id, version, json, updated_at)
          VALUES (${literals([kind, id])}, @version, ${literals([json, updatedAt])})
          ON DUPLICATE KEY UPDATE ${["version", "updated_at", "removed_at", "json"].map(ifRemoved).join(", ")}`
      : `UPDATE documents SET version = @version, updated_at = ${literal(updatedAt)}, removed_at = ${literal(removedAt)},
          json = ${literal(json)} WHERE ${key} AND version = ${literal(expectedVersion)} AND json IS NOT NULL`
  const results = await session.transaction<DocumentRow>([
    "UPDATE documents_version SET version = version + 1 WHERE only_row = 1",
    "SET @version = (SELECT version FROM documents_version WHERE only_row = 1)",
    change,
    `SELECT ${columns} FROM documents WHERE ${key} AND version = @version`,
    `DELETE FROM documents WHERE removed_at < ${literal(updatedAt - tombstonesKeptMs)}
      ORDER BY removed_at LIMIT ${json === null ? tombstonesCleared : 0}`,
  ])
  return results[3]?.[0]
}

const read = async (session: MysqlSession, condition: string): Promise<Rows> => {
  const [rows = []] = await session.run<DocumentRow>([`SELECT ${columns} FROM documents WHERE ${condition}`])
  return rows
}

const get = async (session: MysqlSession, kind: string, id: string): Promise<DocumentRow | undefined> => {
  const rows = await read(session, `kind = ${literal(kind)} AND id = ${literal(id)} AND json IS NOT NULL`)
  return rows[0]
}

const list = (session: MysqlSession, range: IdRange): Promise<Rows> =>
  read(
    session,
    `kind = ${literal(range.kind)} AND id >= ${literal(range.inclusiveFrom)} AND id < ${literal(range.exclusiveUntil)}
      AND json IS NOT NULL ORDER BY documents.id LIMIT ${literal(range.limit)}`,
  )

const changesAfter = (session: MysqlSession, kind: string, version: number, limit: number): Promise<Rows> =>
  read(
    session,
    `kind = ${literal(kind)} AND version > ${literal(version)} ORDER BY documents.version LIMIT ${literal(limit)}`,
  )

export const mysqlDocuments = (session: MysqlSession): DocumentCalls => ({
  write: (asked) => write(session, asked),
  get: (kind, id) => get(session, kind, id),
  list: (range) => list(session, range),
  changesAfter: (kind, version, limit) => changesAfter(session, kind, version, limit),
})
