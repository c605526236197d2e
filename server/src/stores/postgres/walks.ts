// Lists and counts as walks along an index: which one, from where to where, and what is left to filter. A walk
// touches rows in sort order, so that a page can stop anywhere and go on later.
import type { ListFilter, ListQuery } from "../../ports/TimerStore.ts"
import { isById, orderOf, type SortKey } from "../ListOrder.ts"
import { endOfPrefix } from "../Utf8Order.ts"
import { keyColumns, lifeColumns, timerColumns } from "./rows.ts"

export type Value = string | number

export interface Walk {
  readonly table: "timers" | "history"
  /** The columns rows are sorted by, within the range. */
  readonly key: readonly [string] | readonly [string, string]
  readonly range: ReadonlyArray<string>
  /** What the index does not bound: looked up row by row. */
  readonly rest: ReadonlyArray<string>
  readonly values: Array<Value>
}

export type Walked = ListFilter & Pick<ListQuery, "namespace" | "state">

/** A row that was walked over: the first key and the second, its number in the walk, whether it is to be shown. */
export interface WalkedRow {
  readonly key_1: string | number
  readonly key_2: string | number | null
  readonly number: number
  readonly is_hit: boolean
}

/** Parameters are numbered in the order in which they are added. */
export const walkOf = (query: Walked): Walk => {
  const walk = { range: [] as Array<string>, rest: [] as Array<string>, values: [] as Array<Value> }
  const bind = (value: Value, type: string): string => `$${walk.values.push(value)}::${type}`
  const isPending = query.state === "pending"
  const time = isPending ? "fire_at" : "finished_at"
  // The index of pending timers by due time goes by this name of the order; see migrations/0001-timers.sql.
  const namespace = orderOf(query) === "due" ? 'namespace COLLATE "POSIX"' : "namespace"
  walk.range.push(`${namespace} = ${bind(query.namespace, "text")}`)
  if (!isPending) {
    const isState = `state = ${bind(query.state, "text")}`
    if (isById(query)) walk.rest.push(isState)
    else walk.range.push(isState)
  }
  const times = isById(query) ? walk.rest : walk.range
  if (query.inclusiveFromMs !== undefined) times.push(`${time} >= ${bind(query.inclusiveFromMs, "bigint")}`)
  if (query.exclusiveUntilMs !== undefined) times.push(`${time} < ${bind(query.exclusiveUntilMs, "bigint")}`)
  if (query.timerId !== undefined) walk.range.push(`timer_id = ${bind(query.timerId, "text")}`)
  if (query.idPrefix !== undefined) {
    walk.range.push(`timer_id >= ${bind(query.idPrefix, "text")}`)
    const end = endOfPrefix(query.idPrefix)
    if (end !== undefined) walk.range.push(`timer_id < ${bind(end, "text")}`)
  }
  if (query.correlationId !== undefined) {
    walk.rest.push(`correlation_id = ${bind(query.correlationId, "text")}`)
  }
  switch (orderOf(query)) {
    case "due":
      return { ...walk, table: "timers", key: ["fire_at", "fire_id"] }
    case "pendingId":
      return { ...walk, table: "timers", key: ["timer_id"] }
    case "end":
      return { ...walk, table: "history", key: ["finished_at", "id"] }
    case "finishedId":
      return { ...walk, table: "history", key: ["timer_id", "revision"] }
  }
}

/**
 * Of the rows examined, at most `examined` and one more: those that match, up to `limit` and one more, and the last
 * two of a walk that reached its bound, so that the asker knows where to go on.
 */
export const pageSql = (
  walk: Walk,
  page: {
    readonly after: SortKey | undefined
    readonly isDescending: boolean
    readonly includePayload: boolean
    readonly limit: number
    readonly examined: number
  },
): string => {
  const bind = (value: Value, type: string): string => `$${walk.values.push(value)}::${type}`
  const range = [...walk.range]
  if (page.after !== undefined) range.push(cursorSql(walk, page.after, page.isDescending ? "<" : ">", bind))
  const [limit, examined] = [bind(page.limit, "integer"), bind(page.examined, "integer")]
  const columns = walk.table === "timers" ? timerColumns : lifeColumns
  return `SELECT ${keyColumns}, ${columns}, ${page.includePayload ? "payload" : "NULL::bytea AS payload"},
      ${shownKey(walk)}, number::float8 AS number, is_hit
    FROM (SELECT *, row_number() OVER () AS number,
        count(*) FILTER (WHERE is_hit) OVER (ROWS UNBOUNDED PRECEDING) AS hits
      FROM (SELECT *, ${restSql(walk)} AS is_hit FROM ${walk.table}
        WHERE ${range.join(" AND ")} ORDER BY ${orderSql(walk, page.isDescending)} LIMIT ${examined} + 1) AS walked) AS numbered
    WHERE (is_hit AND hits <= ${limit} + 1) OR number >= ${examined} ORDER BY number`
}

export const countSql = (walk: Walk, examined: number): string =>
  `SELECT count(*)::float8 AS seen, count(*) FILTER (WHERE is_hit)::float8 AS hits
    FROM (SELECT ${restSql(walk)} AS is_hit FROM ${walk.table}
      WHERE ${walk.range.join(" AND ")} ORDER BY ${orderSql(walk, false)}
      LIMIT $${walk.values.push(examined)}::integer + 1) AS walked`

/** It is also what makes the planner take the index that was meant. */
const orderSql = ({ key }: Walk, isDescending: boolean): string =>
  key.map((column) => `${column} ${isDescending ? "DESC" : "ASC"}`).join(", ")

const restSql = (walk: Walk): string => (walk.rest.length === 0 ? "true" : walk.rest.join(" AND "))

const isText = (column: string): boolean => column === "timer_id"

const shownKey = ({ key: [first, second] }: Walk): string => {
  const key2 = second === undefined ? "NULL" : second === "fire_id" ? "fire_id" : `${second}::float8`
  return `${isText(first) ? first : `${first}::float8`} AS key_1, ${key2} AS key_2`
}

const cursorSql = (
  { key: [column1, column2] }: Walk,
  [value1, value2]: SortKey,
  comparison: "<" | ">",
  bind: (value: Value, type: string) => string,
): string => {
  const first = bind(value1, isText(column1) ? "text" : "bigint")
  if (column2 === undefined || value2 === undefined) return `${column1} ${comparison} ${first}`
  const second = bind(value2, column2 === "fire_id" ? "uuid" : "bigint")
  return `(${column1}, ${column2}) ${comparison} (${first}, ${second})`
}
