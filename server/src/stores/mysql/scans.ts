// Scans as statements. Each follows one index, so that a page can stop anywhere and continue later. Several scans are
// several statements of one packet.
import { literal, type SqlValue } from "@punctual/documents/mysql/mysqlText"
import type { Buckets } from "../../domain/bucketOf.ts"
import type { Scan } from "../../ports/ShardStorage.ts"
import { fireIdColumn, idLiteral, keyColumns, numberColumn, withBodies } from "./rows.ts"

interface Walk {
  readonly table: "timers" | "history"
  readonly index: string
  /** The columns by which rows are sorted within the range. */
  readonly place: ReadonlyArray<string>
  readonly time: string
}

const walkOf = ({ order, state, namespace }: Scan): Walk => {
  switch (order) {
    case "due": {
      const index = typeof namespace === "number" ? "PRIMARY" : "timers_by_namespace"
      return { table: "timers", index, place: ["r.fire_at", "r.fire_id"], time: "r.fire_at" }
    }
    case "pendingId":
      return { table: "timers", index: "timers_by_id", place: ["r.timer_id"], time: "r.fire_at" }
    case "end":
      return {
        table: "history",
        index: "history_by_end",
        place: ["r.finished_at", "r.id"],
        time: "r.finished_at",
      }
    case "finishedId":
      return {
        table: "history",
        index: "history_by_id",
        place: ["r.timer_id", "r.revision"],
        time: "r.finished_at",
      }
    case "word": {
      const table = state === undefined ? "timers" : "history"
      return { table, index: `${table}_by_id`, place: ["l.at", "l.fire_id"], time: "l.at" }
    }
  }
}

/** By word, these are the rows that have the word and still exist: first the words, then their rows. */
const fromOf = ({ order }: Scan, { table, index }: Walk): string => {
  const rows = `${table} AS r FORCE INDEX (${index})`
  if (order !== "word") return rows
  const place = table === "timers" ? "r.fire_at = l.at" : "r.finished_at = l.at AND r.state = l.state"
  return `lookups AS l FORCE INDEX (PRIMARY) STRAIGHT_JOIN ${rows} ON r.namespace = l.namespace
    AND r.timer_id = l.timer_id AND r.revision = l.revision AND r.fire_id = l.fire_id AND ${place}`
}

/** Selects ScannedRows. */
export const scanSql = (scan: Scan): string => {
  const walk = walkOf(scan)
  const isPending = walk.table === "timers"
  const details = isPending
    ? ", COALESCE(b.spec, '') AS spec, r.last_attempt, NULL AS reason, NULL AS lateness_ms"
    : `, r.spec, r.last_attempt, r.reason, ${numberColumn("r", "lateness_ms")}`
  const columns = `${keyColumns("r")}, ${fireIdColumn("r")}, ${numberColumn("r", "revision")}, r.correlation_id, r.tags,
    ${walk.time} + 0e0 AS at_ms, ${isPending ? "'pending'" : "r.state"} AS state, ${isPending ? "0" : "r.id"} + 0e0 AS entry`
  const bodies = scan.withDetails && isPending ? withBodies.replaceAll("t.", "r.") : ""
  return `${selectSql(`${columns}${scan.withDetails ? details : ""}`, scan, bodies)} LIMIT ${scan.limit}`
}

export const countSql = (scan: Scan): string =>
  `SELECT COUNT(*) AS count FROM (${selectSql("1", scan, "")} LIMIT ${scan.limit}) AS counted`

/** The number of each bucket that has rows, and how many. */
export const bucketsSql = (scan: Scan, { from, until, buckets }: Buckets): string =>
  `SELECT ((at_ms - ${from}) * ${buckets}) DIV ${until - from} AS bucket, COUNT(*) AS count
    FROM (${selectSql(`${walkOf(scan).time} AS at_ms`, scan, "")} LIMIT ${scan.limit}) AS counted GROUP BY bucket`

const selectSql = (columns: string, scan: Scan, more: string): string => {
  const walk = walkOf(scan)
  const direction = scan.isDescending ? "DESC" : "ASC"
  return `SELECT ${columns} FROM ${fromOf(scan, walk)} ${more} WHERE ${rangeOf(scan, walk).join(" AND ")}
    ORDER BY ${walk.place.map((column) => `${column} ${direction}`).join(", ")}`
}

/** Reserved names begin with _, and ` is the character after it. */
const unreserved = "(r.namespace < '_' OR r.namespace >= '`')"

const rangeOf = (scan: Scan, { place, time }: Walk): ReadonlyArray<string> => {
  const isByWord = scan.order === "word"
  const conditions =
    typeof scan.namespace === "number"
      ? [`r.shard = ${scan.namespace}`, unreserved]
      : [`${isByWord ? "l" : "r"}.namespace = ${literal(scan.namespace)}`]
  const add = (column: string, comparison: string, value: SqlValue) => {
    if (value !== undefined) conditions.push(`${column} ${comparison} ${literal(value)}`)
  }
  if (isByWord) {
    add("l.word", "=", scan.word ?? "")
    add("l.state", "=", scan.state ?? "pending")
  }
  if (scan.order === "end") add("r.state", "=", scan.state ?? "")
  add(time, ">=", scan.inclusiveFromMs)
  add(time, "<", scan.exclusiveUntilMs)
  add("r.timer_id", "=", scan.timerId)
  add("r.timer_id", ">=", scan.inclusiveFromId)
  add("r.timer_id", "<", scan.exclusiveUntilId)
  if (scan.exclusiveAfter !== undefined) {
    const parts: ReadonlyArray<string | number> = isByWord
      ? scan.exclusiveAfter.slice(1)
      : scan.exclusiveAfter
    conditions.push(afterSql(place, parts.map(placeLiteral(place)), scan.isDescending))
  }
  return conditions
}

const placeLiteral = (place: ReadonlyArray<string>) => (value: string | number, index: number) =>
  typeof value === "string" && place[index]?.endsWith(".fire_id") ? idLiteral(value) : literal(value)

/** MySQL plans no range for a comparison of rows, but one for this form. */
export const afterSql = (
  place: ReadonlyArray<string>,
  after: ReadonlyArray<string>,
  isDescending: boolean,
): string => {
  const comparison = isDescending ? "<" : ">"
  const conditions = after.map((value, index) => {
    const equal = place.slice(0, index).map((column, before) => `${column} = ${after[before]}`)
    return [...equal, `${place[index]} ${comparison} ${value}`].join(" AND ")
  })
  return `((${conditions.join(") OR (")}))`
}
