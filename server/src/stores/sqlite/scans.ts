// Scans as statements: each walks one index, so that a page can stop anywhere and go on later.
import type { FinishedState } from "../../domain/Timer.ts"
import type { Scan, ScannedHead, SortKey } from "../../ports/ShardStorage.ts"
import { tagsOfHead } from "../addedValues.ts"
import { bytesOfUuid, dashed } from "./rows.ts"

type Value = string | number | Uint8Array

interface ScanText {
  readonly text: string
  readonly values: ReadonlyArray<Value>
}

interface Walk {
  readonly table: "timers" | "history" | "dead"
  readonly index: string
  /** The columns that rows are sorted by, within the range. */
  readonly place: readonly [string] | readonly [string, string]
  readonly time: "fire_at" | "finished_at"
}

const walkOf = ({ order, state }: Scan): Walk => {
  const table = state === undefined ? "timers" : state === "dead" ? "dead" : "history"
  switch (order) {
    case "due":
      return { table, index: "timers_by_namespace", place: ["fire_at", "fire_id"], time: "fire_at" }
    case "pendingId":
      return { table, index: "timers_by_key", place: ["timer_id"], time: "fire_at" }
    case "end":
      return { table, index: `${table}_by_end`, place: ["finished_at", "id"], time: "finished_at" }
    case "finishedId":
      return { table, index: `${table}_by_key`, place: ["timer_id", "revision"], time: "finished_at" }
  }
}

/** Rows of (uuid, timerId, fireId, revision, time, correlationId, state, second part of the place, tags). */
export const scanSql = (scan: Scan): ScanText => {
  const walk = walkOf(scan)
  const { table, index, place, time } = walk
  const { conditions, values } = rangeOf(scan, walk)
  const direction = scan.isDescending ? "DESC" : "ASC"
  const state = table === "timers" ? "'pending'" : table === "dead" ? "'dead'" : "state"
  const text = `SELECT lower(hex(uuid)), timer_id, lower(hex(fire_id)), revision, ${time}, correlation_id, ${state},
      ${place[1] === "id" ? "id" : "0"}, tags
    FROM ${table} INDEXED BY ${index} WHERE ${conditions.join(" AND ")}
    ORDER BY ${place.map((column) => `${column} ${direction}`).join(", ")} LIMIT ?${values.push(scan.limit)}`
  return { text, values }
}

export const countSql = (scan: Scan): ScanText => {
  const walk = walkOf(scan)
  const { conditions, values } = rangeOf(scan, walk)
  const text = `SELECT count(*) FROM (SELECT 1 FROM ${walk.table} INDEXED BY ${walk.index}
    WHERE ${conditions.join(" AND ")} LIMIT ?${values.push(scan.limit)})`
  return { text, values }
}

export const scannedHead = ({ namespace, order }: Scan, row: ReadonlyArray<unknown>): ScannedHead => {
  // The columns that `scanSql` names.
  const [uuid, timerId, fireId, revision, atMs, correlationId, state, entry, tags] = row as [
    string,
    string,
    string,
    number,
    number,
    string,
    "pending" | FinishedState,
    number,
    string | null,
  ]
  const places: { readonly [order in Scan["order"]]: SortKey } = {
    due: [atMs, dashed(fireId)],
    pendingId: [timerId],
    end: [atMs, entry],
    finishedId: [timerId, revision],
  }
  return {
    namespace,
    timerId,
    uuid,
    place: places[order],
    state,
    fireId: dashed(fireId),
    revision,
    atMs,
    correlationId,
    ...tagsOfHead(tags),
  }
}

/** Parameters are numbered in the order in which they are added. */
const rangeOf = (scan: Scan, { table, place, time }: Walk) => {
  const values: Array<Value> = []
  const bind = (value: Value): string => `?${values.push(value)}`
  const conditions = [`namespace = ${bind(scan.namespace)}`]
  if (scan.order === "end" && table === "history") conditions.push(`state = ${bind(scan.state ?? "")}`)
  if (scan.inclusiveFromMs !== undefined) conditions.push(`${time} >= ${bind(scan.inclusiveFromMs)}`)
  if (scan.exclusiveUntilMs !== undefined) conditions.push(`${time} < ${bind(scan.exclusiveUntilMs)}`)
  if (scan.timerId !== undefined) conditions.push(`timer_id = ${bind(scan.timerId)}`)
  if (scan.inclusiveFromId !== undefined) conditions.push(`timer_id >= ${bind(scan.inclusiveFromId)}`)
  if (scan.exclusiveUntilId !== undefined) conditions.push(`timer_id < ${bind(scan.exclusiveUntilId)}`)
  if (scan.exclusiveAfter !== undefined) {
    const [first, second] = scan.exclusiveAfter
    const comparison = scan.isDescending ? "<" : ">"
    if (second === undefined) conditions.push(`${place[0]} ${comparison} ${bind(first)}`)
    else {
      const right = bind(typeof second === "string" ? bytesOfUuid(second) : second)
      conditions.push(`(${place.join(", ")}) ${comparison} (${bind(first)}, ${right})`)
    }
  }
  return { conditions, values }
}
