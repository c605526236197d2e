// The names of namespaces that have timers, history or dead letters, found with the key indexes.
import type { Database } from "bun:sqlite"
import { type Levels, unionOfLevels } from "./level0/orders.ts"

const afterFound = `CASE WHEN found.namespace >= '_' AND found.namespace < '\`' THEN '\`' ELSE found.namespace END`

/** The smallest name after the last one that was found, from an index that begins with the name. */
const next = (from: string, conditions: ReadonlyArray<string>): string =>
  `(SELECT e.namespace FROM ${from} WHERE ${[`e.namespace > ${afterFound}`, ...conditions].join(" AND ")}
    ORDER BY e.namespace LIMIT 1)`

/**
 * Steps from name to name, with one lookup in each index, and never scans the rows of a namespace. Reserved names are
 * adjacent, from _ up to the next character, and are skipped in one step. The recursion needs two rows more than were
 * requested: the beginning, and that step.
 */
export const namespaceNamesSql = (levels: Levels): string => `WITH RECURSIVE found(namespace) AS (
    SELECT ?1
    UNION ALL
    SELECT (SELECT min(name) FROM (
      ${unionOfLevels(levels, "keys", (from, conditions) => `SELECT ${next(from, conditions)} AS name`)}
      UNION ALL SELECT ${next("history AS e INDEXED BY history_by_key", [])}
      UNION ALL SELECT ${next("dead AS e INDEXED BY dead_by_key", [])}))
    FROM found WHERE found.namespace IS NOT NULL
    LIMIT ?2 + 2
  )
  SELECT namespace FROM found WHERE namespace > ?1 AND substr(namespace, 1, 1) <> '_' LIMIT ?2`

export const readNames = (
  database: Database,
  levels: Levels,
  exclusiveAfter: string,
  limit: number,
): ReadonlyArray<string> =>
  database
    .query(namespaceNamesSql(levels))
    .values(exclusiveAfter, limit)
    .map(([name]) => String(name))
