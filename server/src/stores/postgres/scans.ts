// Scans as statements. Each follows one index, so that a page can stop anywhere and continue later.
import type { FinishedState } from "../../domain/Timer.ts"
import type { Scan, ScannedHead, SortKey } from "../../ports/ShardStorage.ts"
import { tagsOfHead } from "../addedValues.ts"
import { type KeyRow, keyOfRow } from "./rows.ts"

type Value = string | number

interface ScanText {
  readonly text: string
  readonly values: ReadonlyArray<Value>
}

export interface ScannedRow extends KeyRow {
  readonly fire_id: string
  readonly revision: number
  readonly at_ms: number
  readonly correlation_id: string
  readonly tags: string | null
  readonly state: "pending" | FinishedState
  /** Only for finished lives. */
  readonly entry: number
}

interface Walk {
  readonly table: "timers" | "history"
  /** The columns by which rows are sorted within the range, and their types. */
  readonly place: ReadonlyArray<readonly [column: string, type: string]>
}

const walkOf = ({ order, state }: Scan): Walk => {
  switch (order) {
    case "due":
      return {
        table: "timers",
        place: [
          ["r.fire_at", "bigint"],
          ["r.fire_id", "uuid"],
        ],
      }
    case "pendingId":
      return { table: "timers", place: [["r.timer_id", "text"]] }
    case "end":
      return {
        table: "history",
        place: [
          ["r.finished_at", "bigint"],
          ["r.id", "bigint"],
        ],
      }
    case "finishedId":
      return {
        table: "history",
        place: [
          ["r.timer_id", "text"],
          ["r.revision", "bigint"],
        ],
      }
    case "word":
      return {
        table: state === undefined ? "timers" : "history",
        place: [
          ["l.at", "bigint"],
          ["l.fire_id", "uuid"],
        ],
      }
  }
}

/** By word: the rows that have the word and still exist. */
const fromOf = ({ order }: Scan, { table }: Walk): string =>
  order === "word"
    ? `lookups AS l JOIN ${table} AS r ON r.namespace = l.namespace AND r.timer_id = l.timer_id
      AND r.revision = l.revision AND r.fire_id = l.fire_id
      AND ${table === "timers" ? "r.fire_at = l.at" : "r.finished_at = l.at AND r.state = l.state"}`
    : `${table} AS r`

export const scanSql = (scan: Scan): ScanText => {
  const walk = walkOf(scan)
  const { conditions, values } = rangeOf(scan, walk)
  const isPending = walk.table === "timers"
  const columns = `r.uuid, r.namespace, r.timer_id, r.fire_id, r.revision::float8 AS revision, r.correlation_id, r.tags,
    ${isPending ? "r.fire_at" : "r.finished_at"}::float8 AS at_ms, ${isPending ? "'pending'" : "r.state"} AS state,
    ${isPending ? "0::float8" : "r.id::float8"} AS entry`
  // The order also makes the planner use the intended index.
  const text = `SELECT ${columns} FROM ${fromOf(scan, walk)} WHERE ${conditions.join(" AND ")}
    ORDER BY ${orderSql(walk, scan)} LIMIT $${values.push(scan.limit)}::integer`
  return { text, values }
}

export const countSql = (scan: Scan): ScanText => {
  const walk = walkOf(scan)
  const { conditions, values } = rangeOf(scan, walk)
  const text = `SELECT count(*)::float8 AS count FROM (SELECT FROM ${fromOf(scan, walk)} WHERE ${conditions.join(" AND ")}
    ORDER BY ${orderSql(walk, scan)} LIMIT $${values.push(scan.limit)}::integer) AS counted`
  return { text, values }
}

export const scannedHead = ({ order, word = "" }: Scan, row: ScannedRow): ScannedHead => {
  const places: { readonly [order in Scan["order"]]: SortKey } = {
    due: [row.at_ms, row.fire_id],
    pendingId: [row.timer_id],
    end: [row.at_ms, row.entry],
    finishedId: [row.timer_id, row.revision],
    word: [word, row.at_ms, row.fire_id],
  }
  return {
    ...keyOfRow(row),
    place: places[order],
    state: row.state,
    fireId: row.fire_id,
    revision: row.revision,
    atMs: row.at_ms,
    correlationId: row.correlation_id,
    ...tagsOfHead(row.tags),
  }
}

const orderSql = ({ place }: Walk, { isDescending }: Scan): string =>
  place.map(([column]) => `${column} ${isDescending ? "DESC" : "ASC"}`).join(", ")

/** Parameters are numbered in the order in which they are added. */
const rangeOf = (scan: Scan, { place }: Walk) => {
  const values: Array<Value> = []
  const bind = (value: Value, type: string): string => `$${values.push(value)}::${type}`
  const isByWord = scan.order === "word"
  const time = isByWord ? "l.at" : scan.order === "due" ? "r.fire_at" : "r.finished_at"
  // The index of pending timers by due time uses this name of the order; see migrations/0007-schema.sql.
  const namespace = scan.order === "due" ? 'r.namespace COLLATE "POSIX"' : `${isByWord ? "l" : "r"}.namespace`
  const conditions = [`${namespace} = ${bind(scan.namespace, "text")}`]
  if (isByWord) {
    conditions.push(`l.word = ${bind(scan.word ?? "", "text")}`)
    conditions.push(`l.state = ${bind(scan.state ?? "pending", "text")}`)
  }
  if (scan.order === "end") conditions.push(`r.state = ${bind(scan.state ?? "", "text")}`)
  if (scan.inclusiveFromMs !== undefined)
    conditions.push(`${time} >= ${bind(scan.inclusiveFromMs, "bigint")}`)
  if (scan.exclusiveUntilMs !== undefined)
    conditions.push(`${time} < ${bind(scan.exclusiveUntilMs, "bigint")}`)
  if (scan.timerId !== undefined) conditions.push(`r.timer_id = ${bind(scan.timerId, "text")}`)
  if (scan.inclusiveFromId !== undefined)
    conditions.push(`r.timer_id >= ${bind(scan.inclusiveFromId, "text")}`)
  if (scan.exclusiveUntilId !== undefined)
    conditions.push(`r.timer_id < ${bind(scan.exclusiveUntilId, "text")}`)
  if (scan.exclusiveAfter !== undefined) {
    const parts = isByWord ? scan.exclusiveAfter.slice(1) : scan.exclusiveAfter
    const after = parts.map((value, index) => bind(value, place[index]?.[1] ?? "text"))
    const columns = place.slice(0, after.length).map(([column]) => column)
    conditions.push(`(${columns.join(", ")}) ${scan.isDescending ? "<" : ">"} (${after.join(", ")})`)
  }
  return { conditions, values }
}
