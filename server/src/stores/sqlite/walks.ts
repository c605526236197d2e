// Lists and counts as walks along an index: which one, from where to where, and what is left to
// filter. A walk touches rows in sort order, so that a page can stop anywhere and go on later.
import type { ListFilter, ListQuery } from "../../ports/TimerStore.ts"
import { isById, orderOf, type SortKey } from "../ListOrder.ts"
import { endOfPrefix } from "../Utf8Order.ts"
import { bytesOfUuid } from "./rows.ts"

export type Value = string | number | Uint8Array

export interface Walk {
  readonly table: "timers" | "history" | "dead"
  readonly index: string
  /** The two columns rows are sorted by, within the range; the second is constant for pending ids. */
  readonly key: readonly [string, string]
  readonly range: ReadonlyArray<string>
  /** What the index does not bound: looked up row by row. */
  readonly rest: ReadonlyArray<string>
  readonly values: Array<Value>
}

export type Walked = ListFilter & Pick<ListQuery, "namespace" | "state">

/** Parameters are numbered in the order in which they are added. */
export const walkOf = (query: Walked): Walk => {
  const walk = { range: [] as Array<string>, rest: [] as Array<string>, values: [] as Array<Value> }
  const bind = (value: Value): string => `?${walk.values.push(value)}`
  const order = orderOf(query)
  const isPending = query.state === "pending"
  const time = isPending ? "fire_at" : "finished_at"
  walk.range.push(`namespace = ${bind(query.namespace)}`)
  if (query.state === "delivered" || query.state === "cancelled") {
    const isState = `state = ${bind(query.state)}`
    if (order === "end") walk.range.push(isState)
    else walk.rest.push(isState)
  }
  const times = isById(query) ? walk.rest : walk.range
  if (query.inclusiveFromMs !== undefined) times.push(`${time} >= ${bind(query.inclusiveFromMs)}`)
  if (query.exclusiveUntilMs !== undefined) times.push(`${time} < ${bind(query.exclusiveUntilMs)}`)
  if (query.timerId !== undefined) walk.range.push(`timer_id = ${bind(query.timerId)}`)
  if (query.idPrefix !== undefined) {
    walk.range.push(`timer_id >= ${bind(query.idPrefix)}`)
    const end = endOfPrefix(query.idPrefix)
    if (end !== undefined) walk.range.push(`timer_id < ${bind(end)}`)
  }
  if (query.correlationId !== undefined) walk.rest.push(`correlation_id = ${bind(query.correlationId)}`)
  const table = isPending ? "timers" : query.state === "dead" ? "dead" : "history"
  switch (order) {
    case "due":
      return { ...walk, table, index: "timers_by_namespace", key: ["fire_at", "fire_id"] }
    case "pendingId":
      return { ...walk, table, index: "timers_by_key", key: ["timer_id", "0"] }
    case "end":
      return { ...walk, table, index: `${table}_by_end`, key: ["finished_at", "id"] }
    case "finishedId":
      return { ...walk, table, index: `${table}_by_key`, key: ["timer_id", "revision"] }
  }
}

/** Rows of (id, first key, second key, whether it matches). */
export const pageSql = (walk: Walk, after: SortKey | undefined, isDescending: boolean): string => {
  const [first, second] = walk.key
  const direction = isDescending ? "DESC" : "ASC"
  const range = [...walk.range]
  if (after !== undefined) range.push(cursorSql(walk, after, isDescending ? "<" : ">"))
  const shown = second === "fire_id" ? "lower(hex(fire_id))" : second
  const order = second === "0" ? `${first} ${direction}` : `${first} ${direction}, ${second} ${direction}`
  return `SELECT id, ${first}, ${shown}, ${restSql(walk)} FROM ${walk.table} INDEXED BY ${walk.index}
    WHERE ${range.join(" AND ")} ORDER BY ${order} LIMIT ?${walk.values.length + 1}`
}

export const countSql = (walk: Walk): string =>
  `SELECT count(*), total(hit) FROM (SELECT ${restSql(walk)} AS hit FROM ${walk.table} INDEXED BY ${walk.index}
    WHERE ${walk.range.join(" AND ")} LIMIT ?${walk.values.length + 1})`

const restSql = (walk: Walk): string => (walk.rest.length === 0 ? "1" : walk.rest.join(" AND "))

const cursorSql = (walk: Walk, [first, second]: SortKey, comparison: "<" | ">"): string => {
  const bind = (value: Value): string => `?${walk.values.push(value)}`
  const left = bind(first)
  if (second === undefined) return `${walk.key[0]} ${comparison} ${left}`
  const right = bind(typeof second === "string" ? bytesOfUuid(second) : second)
  return `(${walk.key[0]}, ${walk.key[1]}) ${comparison} (${left}, ${right})`
}
