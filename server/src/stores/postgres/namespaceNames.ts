// The names of namespaces that have timers, history or dead letters, found with the key indexes.

/** The smallest name after the one that was found last. */
const next = (table: string): string =>
  `(SELECT namespace FROM ${table} WHERE namespace > CASE
    WHEN found.namespace >= '_' AND found.namespace < '\`' THEN '\`' ELSE found.namespace END
    ORDER BY namespace LIMIT 1)`

/**
 * Steps from name to name, with one lookup in each index, and never scans the rows of a namespace. Reserved names are
 * adjacent, from _ up to the next character, and are skipped in one step.
 */
export const namespaceNamesSql = `WITH RECURSIVE found (namespace) AS (
    SELECT $1::text COLLATE "C"
    UNION ALL
    SELECT least(${next("timers")}, ${next("history")})
    FROM found WHERE found.namespace IS NOT NULL
  )
  SELECT namespace FROM found WHERE namespace > $1::text COLLATE "C" AND left(namespace, 1) <> '_' LIMIT $2::integer`

export const readNames = async (
  sql: Bun.SQL,
  exclusiveAfter: string,
  limit: number,
): Promise<ReadonlyArray<string>> => {
  const rows: ReadonlyArray<{ namespace: string }> = await sql.unsafe(namespaceNamesSql, [
    exclusiveAfter,
    limit,
  ])
  return rows.map(({ namespace }) => namespace)
}
