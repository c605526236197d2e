// Scans as statements. Each follows one index, so that a page can stop anywhere and continue later.
import type { Buckets } from "../../domain/bucketOf.ts"
import type { FinishedState } from "../../domain/Timer.ts"
import type { Scan, ScannedHead, SortKey } from "../../ports/ShardStorage.ts"
import { tagsOfHead } from "../addedValues.ts"
import { type DetailColumns, rowDetails } from "../rowDetails.ts"
import { bytesOfUuid, dashed } from "./rows.ts"

type Value = string | number | Uint8Array

interface ScanText {
  readonly text: string
  readonly values: ReadonlyArray<Value>
}

interface Walk {
  readonly table: "timers" | "history" | "dead"
  /** The source of the rows, in the order of an index. Their alias is `r`. */
  readonly from: string
  /** The columns by which rows are sorted within the range. */
  readonly place: readonly [string] | readonly [string, string]
  readonly time: string
}

const walkOf = ({ order, state, namespace }: Scan): Walk => {
  const table = state === undefined ? "timers" : state === "dead" ? "dead" : "history"
  const indexedBy = (index: string) => `${table} AS r INDEXED BY ${index}`
  switch (order) {
    case "due":
      return {
        table,
        from: indexedBy(typeof namespace === "number" ? "timers_by_due" : "timers_by_namespace"),
        place: ["r.fire_at", "r.fire_id"],
        time: "r.fire_at",
      }
    case "pendingId":
      return { table, from: indexedBy("timers_by_key"), place: ["r.timer_id"], time: "r.fire_at" }
    case "end":
      return {
        table,
        from: indexedBy(`${table}_by_end`),
        place: ["r.finished_at", "r.id"],
        time: "r.finished_at",
      }
    case "finishedId":
      return {
        table,
        from: indexedBy(`${table}_by_key`),
        place: ["r.timer_id", "r.revision"],
        time: "r.finished_at",
      }
    case "word":
      return { table, from: wordsOf(table), place: ["l.at", "l.fire_id"], time: "l.at" }
  }
}

/** CROSS JOIN keeps the order of the loops: first the words, then the rows that have them and still exist. */
const wordsOf = (table: Walk["table"]): string =>
  `lookups AS l CROSS JOIN ${table} AS r INDEXED BY ${table}_by_key ON r.namespace = l.namespace
    AND r.timer_id = l.timer_id AND r.revision = l.revision AND r.fire_id = l.fire_id
    AND r.${table === "timers" ? "fire_at" : "finished_at"} = l.at`

/**
 * Selects rows of (uuid, timerId, fireId, revision, time, correlationId, state, number of the entry, tags, namespace).
 * If details are requested, (spec, log of attempts, reason, lateness) follow.
 */
export const scanSql = (scan: Scan): ScanText => {
  const walk = walkOf(scan)
  const { table, place, time } = walk
  const { conditions, values } = rangeOf(scan, walk)
  const direction = scan.isDescending ? "DESC" : "ASC"
  const state = table === "timers" ? "'pending'" : table === "dead" ? "'dead'" : "r.state"
  const { columns, from } = scan.withDetails ? detailed(walk) : { columns: "", from: walk.from }
  const text = `SELECT lower(hex(r.uuid)), r.timer_id, lower(hex(r.fire_id)), r.revision, ${time}, r.correlation_id, ${state},
      ${scan.order === "end" ? "r.id" : "0"}, r.tags, r.namespace${columns}
    FROM ${from} WHERE ${conditions.join(" AND ")}
    ORDER BY ${place.map((column) => `${column} ${direction}`).join(", ")} LIMIT ?${values.push(scan.limit)}`
  return { text, values }
}

/** The specs of pending timers are in a separate table. Pending timers have no reason and no lateness. */
const detailed = ({ table, from }: Walk): { readonly columns: string; readonly from: string } => {
  switch (table) {
    case "timers":
      return {
        columns: ", b.spec, r.last_attempt, NULL, NULL",
        from: `${from} CROSS JOIN bodies AS b ON b.id = r.id`,
      }
    case "history":
    case "dead":
      return { columns: ", r.spec, r.last_attempt, r.reason, r.lateness_ms", from }
  }
}

export const countSql = (scan: Scan): ScanText => {
  const walk = walkOf(scan)
  const { conditions, values } = rangeOf(scan, walk)
  const text = `SELECT count(*) FROM (SELECT 1 FROM ${walk.from}
    WHERE ${conditions.join(" AND ")} LIMIT ?${values.push(scan.limit)})`
  return { text, values }
}

/** Selects rows of (number of the bucket, how many rows are in it), for the buckets that have any. */
export const bucketsSql = (scan: Scan, { from, until, buckets }: Buckets): ScanText => {
  const walk = walkOf(scan)
  const { conditions, values } = rangeOf(scan, walk)
  const rows = `SELECT ${walk.time} AS at FROM ${walk.from} WHERE ${conditions.join(" AND ")} LIMIT ?${values.push(scan.limit)}`
  const [start, many, span] = [from, buckets, until - from].map((value) => `?${values.push(value)}`)
  const text = `SELECT (at - ${start}) * ${many} / ${span} AS bucket, count(*) FROM (${rows}) GROUP BY bucket`
  return { text, values }
}

export const scannedHead = (
  { order, word = "", withDetails }: Scan,
  row: ReadonlyArray<unknown>,
): ScannedHead => {
  // The columns of `scanSql`.
  const [uuid, timerId, fireId, revision, atMs, correlationId, state, entry, tags, namespace, ...details] =
    row as [
      string,
      string,
      string,
      number,
      number,
      string,
      "pending" | FinishedState,
      number,
      string | null,
      string,
      ...DetailColumns,
    ]
  const places: { readonly [order in Scan["order"]]: SortKey } = {
    due: [atMs, dashed(fireId)],
    pendingId: [timerId],
    end: [atMs, entry],
    finishedId: [timerId, revision],
    word: [word, atMs, dashed(fireId)],
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
    ...(withDetails ? { details: rowDetails(...details) } : {}),
  }
}

/** Reserved names begin with _, and ` is the character after it. */
const unreserved = "(r.namespace < '_' OR r.namespace >= '`')"

/** Parameters are numbered in the order in which they are added. */
const rangeOf = (scan: Scan, { table, place, time }: Walk) => {
  const values: Array<Value> = []
  const bind = (value: Value): string => `?${values.push(value)}`
  const isByWord = scan.order === "word"
  const conditions =
    typeof scan.namespace === "number"
      ? [`r.shard = ${bind(scan.namespace)}`, unreserved]
      : [`${isByWord ? "l" : "r"}.namespace = ${bind(scan.namespace)}`]
  if (isByWord) {
    conditions.push(`l.word = ${bind(scan.word ?? "")}`, `l.state = ${bind(scan.state ?? "pending")}`)
  }
  if (scan.order === "end" && table === "history") conditions.push(`r.state = ${bind(scan.state ?? "")}`)
  if (scan.inclusiveFromMs !== undefined) conditions.push(`${time} >= ${bind(scan.inclusiveFromMs)}`)
  if (scan.exclusiveUntilMs !== undefined) conditions.push(`${time} < ${bind(scan.exclusiveUntilMs)}`)
  if (scan.timerId !== undefined) conditions.push(`r.timer_id = ${bind(scan.timerId)}`)
  if (scan.inclusiveFromId !== undefined) conditions.push(`r.timer_id >= ${bind(scan.inclusiveFromId)}`)
  if (scan.exclusiveUntilId !== undefined) conditions.push(`r.timer_id < ${bind(scan.exclusiveUntilId)}`)
  if (scan.exclusiveAfter !== undefined) {
    const [first, second] = isByWord ? scan.exclusiveAfter.slice(1) : scan.exclusiveAfter
    const comparison = scan.isDescending ? "<" : ">"
    if (second === undefined) conditions.push(`${place[0]} ${comparison} ${bind(first ?? "")}`)
    else {
      const right = bind(typeof second === "string" ? bytesOfUuid(second) : second)
      conditions.push(`(${place.join(", ")}) ${comparison} (${bind(first ?? "")}, ${right})`)
    }
  }
  return { conditions, values }
}
