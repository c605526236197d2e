// The settings of namespaces as rows: a write is one call of a function, which gives versions in the order of commits.
import type { SettingsRecord } from "../../ports/NamespaceStore.ts"
import { emptyRecord, recordOf, type SettingsRow, textOfSettings } from "../settingsText.ts"

const columns = "namespace, settings, version::float8 AS version, updated_at::float8 AS updated_at"

/** The smallest name after the one that was found last. */
const next = (table: string): string =>
  `(SELECT namespace FROM ${table} WHERE namespace > CASE
    WHEN found.namespace >= '_' AND found.namespace < '\`' THEN '\`' ELSE found.namespace END
    ORDER BY namespace LIMIT 1)`

export const namespaceSql = {
  put: `SELECT ${columns} FROM put_settings($1::text, $2::text, $3::bigint, $4::bigint)`,
  get: `SELECT ${columns} FROM namespaces WHERE namespace = $1::text`,
  changes: `SELECT ${columns} FROM namespaces AS n WHERE n.version > $1::bigint ORDER BY n.version LIMIT $2::integer`,
  /**
   * From name to name, one look at each index for each: the rows of a namespace are not walked over. Reserved names lie
   * together, from _ up to what comes after it, and are passed over in one step.
   */
  names: `WITH RECURSIVE found (namespace) AS (
      SELECT $1::text COLLATE "C"
      UNION ALL
      SELECT least(${next("timers")}, ${next("history")}, ${next("namespaces")})
      FROM found WHERE found.namespace IS NOT NULL
    )
    SELECT namespace FROM found WHERE namespace > $1::text COLLATE "C" AND left(namespace, 1) <> '_' LIMIT $2::integer`,
} as const

export const putSettings = async (
  sql: Bun.SQL,
  { namespace, settings, version, updatedAt }: SettingsRecord,
): Promise<SettingsRecord | undefined> => {
  const values = [namespace, textOfSettings(settings), version, updatedAt]
  const rows: ReadonlyArray<SettingsRow> = await sql.unsafe(namespaceSql.put, values)
  return rows[0] === undefined ? undefined : recordOf(rows[0])
}

export const readSettings = async (sql: Bun.SQL, namespace: string): Promise<SettingsRecord> => {
  const rows: ReadonlyArray<SettingsRow> = await sql.unsafe(namespaceSql.get, [namespace])
  return rows[0] === undefined ? emptyRecord(namespace) : recordOf(rows[0])
}

export const readChanges = async (
  sql: Bun.SQL,
  version: number,
  limit: number,
): Promise<ReadonlyArray<SettingsRecord>> => {
  const rows: ReadonlyArray<SettingsRow> = await sql.unsafe(namespaceSql.changes, [version, limit])
  return rows.map(recordOf)
}

export const readNames = async (
  sql: Bun.SQL,
  exclusiveAfter: string,
  limit: number,
): Promise<ReadonlyArray<string>> => {
  const rows: ReadonlyArray<{ namespace: string }> = await sql.unsafe(namespaceSql.names, [
    exclusiveAfter,
    limit,
  ])
  return rows.map(({ namespace }) => namespace)
}
