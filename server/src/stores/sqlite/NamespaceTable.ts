// The settings of namespaces as rows of the file. One connection writes at a time, and a version is one more than the
// highest there is: as rows are never removed, it only rises, in the order of commits.
import type { Database } from "bun:sqlite"
import type { SettingsRecord } from "../../ports/NamespaceStore.ts"
import { emptyRecord, recordOf, type SettingsRow, textOfSettings } from "../settingsText.ts"
import type { Writer } from "./Writer.ts"

const columns = "namespace, settings, version, updated_at"

/** The smallest name after the one that was found last, by an index that begins with it. */
const next = (table: string, index: string): string =>
  `(SELECT namespace FROM ${table} ${index} WHERE namespace >
    CASE WHEN found.namespace >= '_' AND found.namespace < '\`' THEN '\`' ELSE found.namespace END
    ORDER BY namespace LIMIT 1)`

export const namespaceSql = {
  version: "SELECT version FROM namespaces WHERE namespace = ?1",
  put: `INSERT INTO namespaces (${columns})
    VALUES (?1, ?2, (SELECT coalesce(max(version), 0) + 1 FROM namespaces), ?3)
    ON CONFLICT (namespace) DO UPDATE
    SET settings = excluded.settings, version = excluded.version, updated_at = excluded.updated_at
    RETURNING ${columns}`,
  get: `SELECT ${columns} FROM namespaces WHERE namespace = ?1`,
  changes: `SELECT ${columns} FROM namespaces INDEXED BY namespaces_by_version WHERE version > ?1 ORDER BY version LIMIT ?2`,
  /**
   * From name to name, one look at each index for each: the rows of a namespace are not walked over. Reserved names lie
   * together, from _ up to what comes after it, and are passed over in one step; two rows more than asked for are
   * those and the beginning.
   */
  names: `WITH RECURSIVE found(namespace) AS (
      SELECT ?1
      UNION ALL
      SELECT (SELECT min(name) FROM (
        SELECT ${next("timers", "INDEXED BY timers_by_key")} AS name
        UNION ALL SELECT ${next("history", "INDEXED BY history_by_key")}
        UNION ALL SELECT ${next("dead", "INDEXED BY dead_by_key")}
        UNION ALL SELECT ${next("namespaces", "")}))
      FROM found WHERE found.namespace IS NOT NULL
      LIMIT ?2 + 2
    )
    SELECT namespace FROM found WHERE namespace > ?1 AND substr(namespace, 1, 1) <> '_' LIMIT ?2`,
} as const

export class NamespaceTable {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  put(record: SettingsRecord, writer: Pick<Writer, "transaction">): SettingsRecord | undefined {
    const { namespace, settings, version, updatedAt } = record
    return writer.transaction(() => {
      const row = this.#database.query(namespaceSql.version).get(namespace) as { version: number } | null
      if ((row?.version ?? 0) !== version) return undefined
      const stored = this.#database
        .query(namespaceSql.put)
        .get(namespace, textOfSettings(settings), updatedAt)
      return recordOf(stored as SettingsRow)
    })
  }

  get(namespace: string): SettingsRecord {
    const row = this.#database.query(namespaceSql.get).get(namespace) as SettingsRow | null
    return row === null ? emptyRecord(namespace) : recordOf(row)
  }

  changesAfter(version: number, limit: number): ReadonlyArray<SettingsRecord> {
    return (this.#database.query(namespaceSql.changes).all(version, limit) as Array<SettingsRow>).map(
      recordOf,
    )
  }

  names(exclusiveAfter: string, limit: number): ReadonlyArray<string> {
    const rows = this.#database.query(namespaceSql.names).values(exclusiveAfter, limit)
    return rows.map(([name]) => String(name))
  }
}
