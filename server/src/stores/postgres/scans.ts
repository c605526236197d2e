// Scans as statements: each walks one index, so that a page can stop anywhere and go on later.
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
  /** Of finished lives only. */
  readonly entry: number
}

interface Walk {
  readonly table: "timers" | "history"
  /** The columns that rows are sorted by, within the range, and their types. */
  readonly place: ReadonlyArray<readonly [column: string, type: string]>
}

const walks: { readonly [order in Scan["order"]]: Walk } = {
  due: {
    table: "timers",
    place: [
      ["fire_at", "bigint"],
      ["fire_id", "uuid"],
    ],
  },
  pendingId: { table: "timers", place: [["timer_id", "text"]] },
  end: {
    table: "history",
    place: [
      ["finished_at", "bigint"],
      ["id", "bigint"],
    ],
  },
  finishedId: {
    table: "history",
    place: [
      ["timer_id", "text"],
      ["revision", "bigint"],
    ],
  },
}

export const scanSql = (scan: Scan): ScanText => {
  const { table, place } = walks[scan.order]
  const { conditions, values } = rangeOf(scan)
  const isPending = table === "timers"
  const columns = `uuid, namespace, timer_id, fire_id, revision::float8 AS revision, correlation_id, tags,
    ${isPending ? "fire_at" : "finished_at"}::float8 AS at_ms, ${isPending ? "'pending'" : "state"} AS state,
    ${isPending ? "0::float8" : "id::float8"} AS entry`
  // The order is also what makes the planner take the index that was meant.
  const text = `SELECT ${columns} FROM ${table} AS r WHERE ${conditions.join(" AND ")}
    ORDER BY ${orderSql(place, scan)} LIMIT $${values.push(scan.limit)}::integer`
  return { text, values }
}

export const countSql = (scan: Scan): ScanText => {
  const { table, place } = walks[scan.order]
  const { conditions, values } = rangeOf(scan)
  const text = `SELECT count(*)::float8 AS count FROM (SELECT FROM ${table} AS r WHERE ${conditions.join(" AND ")}
    ORDER BY ${orderSql(place, scan)} LIMIT $${values.push(scan.limit)}::integer) AS counted`
  return { text, values }
}

export const scannedHead = ({ order }: Scan, row: ScannedRow): ScannedHead => {
  const places: { readonly [order in Scan["order"]]: SortKey } = {
    due: [row.at_ms, row.fire_id],
    pendingId: [row.timer_id],
    end: [row.at_ms, row.entry],
    finishedId: [row.timer_id, row.revision],
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

const orderSql = (place: Walk["place"], { isDescending }: Scan): string =>
  place.map(([column]) => `r.${column} ${isDescending ? "DESC" : "ASC"}`).join(", ")

/** Parameters are numbered in the order in which they are added. */
const rangeOf = (scan: Scan) => {
  const { place } = walks[scan.order]
  const values: Array<Value> = []
  const bind = (value: Value, type: string): string => `$${values.push(value)}::${type}`
  const time = scan.order === "due" ? "fire_at" : "finished_at"
  // The index of pending timers by due time goes by this name of the order; see migrations/0007-schema.sql.
  const namespace = scan.order === "due" ? 'namespace COLLATE "POSIX"' : "namespace"
  const conditions = [`${namespace} = ${bind(scan.namespace, "text")}`]
  if (scan.order === "end") conditions.push(`state = ${bind(scan.state ?? "", "text")}`)
  if (scan.inclusiveFromMs !== undefined)
    conditions.push(`${time} >= ${bind(scan.inclusiveFromMs, "bigint")}`)
  if (scan.exclusiveUntilMs !== undefined)
    conditions.push(`${time} < ${bind(scan.exclusiveUntilMs, "bigint")}`)
  if (scan.timerId !== undefined) conditions.push(`timer_id = ${bind(scan.timerId, "text")}`)
  if (scan.inclusiveFromId !== undefined) conditions.push(`timer_id >= ${bind(scan.inclusiveFromId, "text")}`)
  if (scan.exclusiveUntilId !== undefined)
    conditions.push(`timer_id < ${bind(scan.exclusiveUntilId, "text")}`)
  if (scan.exclusiveAfter !== undefined) {
    const after = scan.exclusiveAfter.map((value, index) => bind(value, place[index]?.[1] ?? "text"))
    const columns = place.slice(0, after.length).map(([column]) => column)
    conditions.push(`(${columns.join(", ")}) ${scan.isDescending ? "<" : ">"} (${after.join(", ")})`)
  }
  return { conditions, values }
}
