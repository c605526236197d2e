// Scans as statements. Each follows one index, so that a page can stop anywhere and continue later.
import type { Scan } from "../../ports/ShardStorage.ts"
import type { ScannedRow } from "../headOfColumns.ts"

type Value = string | number

/** Adds a value to the parameters and returns the SQL that refers to it. */
type Bind = (value: Value, type: string) => string

interface ScanText {
  readonly text: string
  readonly values: ReadonlyArray<Value>
}

interface Walk {
  readonly table: "timers" | "history"
  /** The columns by which rows are sorted within the range, their types, and their names in a row of the result. */
  readonly place: ReadonlyArray<readonly [column: string, type: string, name: keyof ScannedRow]>
}

const walkOf = ({ order, state }: Scan): Walk => {
  switch (order) {
    case "due":
      return {
        table: "timers",
        place: [
          ["r.fire_at", "bigint", "at_ms"],
          ["r.fire_id", "uuid", "fire_id"],
        ],
      }
    case "pendingId":
      return { table: "timers", place: [["r.timer_id", "text", "timer_id"]] }
    case "end":
      return {
        table: "history",
        place: [
          ["r.finished_at", "bigint", "at_ms"],
          ["r.id", "bigint", "entry"],
        ],
      }
    case "finishedId":
      return {
        table: "history",
        place: [
          ["r.timer_id", "text", "timer_id"],
          ["r.revision", "bigint", "revision"],
        ],
      }
    case "word":
      return {
        table: state === undefined ? "timers" : "history",
        place: [
          ["l.at", "bigint", "at_ms"],
          ["l.fire_id", "uuid", "fire_id"],
        ],
      }
  }
}

/** The source of the rows. By word, these are the rows that have the word and still exist. */
const fromOf = ({ order }: Scan, { table }: Walk): string =>
  order === "word"
    ? `lookups AS l JOIN ${table} AS r ON r.namespace = l.namespace AND r.timer_id = l.timer_id
      AND r.revision = l.revision AND r.fire_id = l.fire_id
      AND ${table === "timers" ? "r.fire_at = l.at" : "r.finished_at = l.at AND r.state = l.state"}`
    : `${table} AS r`

export const scanSql = (scan: Scan): ScanText => {
  const values: Array<Value> = []
  const text = pageSql(scan, (value, type) => `$${values.push(value)}::${type}`)
  return { text, values }
}

/** Several scans with the same SQL as one statement. `lane` of a row is the number of its scan, starting from 1. */
export interface ScanGroup {
  readonly text: string
  readonly columns: ReadonlyArray<ReadonlyArray<Value>>
  /** The indexes of the scans in the whole list. */
  readonly scans: ReadonlyArray<number>
}

/**
 * Each scan is a row of parameters. Its page is read along the same index as if the scan ran alone. A join does not
 * keep the order of a page, so the statement sorts the rows of each lane again.
 */
export const scanGroups = (scans: ReadonlyArray<Scan>): ReadonlyArray<ScanGroup> =>
  groupsOf(scans, pageSql, (lanes, page, _last, scan) => {
    const order = walkOf(scan).place.map(([, , name]) => `p.${name} ${directionOf(scan)}`)
    return `SELECT p.*, lane.n::integer AS lane FROM ${lanes} CROSS JOIN LATERAL (${page}) AS p
      ORDER BY lane.n, ${order.join(", ")}`
  })

/**
 * The last parameter is the limit for the sum of all counts. Each scan also has its own limit; without it the planner
 * would treat the scans as one join.
 */
export const countGroups = (scans: ReadonlyArray<Scan>): ReadonlyArray<ScanGroup> =>
  groupsOf(
    scans,
    rowsSql,
    (lanes, rows, last) => `SELECT count(*)::float8 AS count FROM (
      SELECT FROM ${lanes} CROSS JOIN LATERAL (${rows}) AS p LIMIT $${last + 1}::integer) AS counted`,
  )

/** The number of each bucket that has rows, and how many. The last parameters are limit, from, buckets and span. */
export const bucketGroups = (scans: ReadonlyArray<Scan>): ReadonlyArray<ScanGroup> =>
  groupsOf(
    scans,
    (scan, bind) => selectSql(`${timeOf(scan)} AS at`, scan, bind),
    (
      lanes,
      rows,
      last,
    ) => `SELECT ((at - $${last + 2}::bigint) * $${last + 3}::bigint / $${last + 4}::bigint)::integer AS bucket,
        count(*)::float8 AS count FROM (
      SELECT p.at FROM ${lanes} CROSS JOIN LATERAL (${rows}) AS p LIMIT $${last + 1}::integer) AS counted
      GROUP BY bucket`,
  )

const groupsOf = (
  scans: ReadonlyArray<Scan>,
  oneSql: (scan: Scan, bind: Bind) => string,
  allSql: (lanes: string, one: string, last: number, like: Scan) => string,
): ReadonlyArray<ScanGroup> => {
  const groups = new Map<
    string,
    { like: Scan; types: Array<string>; columns: Array<Array<Value>>; scans: Array<number> }
  >()
  for (const [index, scan] of scans.entries()) {
    const [values, types]: [Array<Value>, Array<string>] = [[], []]
    const one = oneSql(scan, (value, type) => {
      types.push(type)
      return `lane.v${values.push(value)}`
    })
    const group = groups.get(one) ?? { like: scan, types, columns: types.map(() => []), scans: [] }
    groups.set(one, group)
    for (const [column, value] of values.entries()) group.columns[column]?.push(value)
    group.scans.push(index)
  }
  return [...groups].map(([one, { like, types, columns, scans }]) => {
    const arrays = types.map((type, index) => `$${index + 1}::${type}[]`)
    const names = types.map((_, index) => `v${index + 1}`)
    const lanes = `unnest(${arrays.join(", ")}) WITH ORDINALITY AS lane (${names.join(", ")}, n)`
    return { text: allSql(lanes, one, types.length, like), columns, scans }
  })
}

const pageSql = (scan: Scan, bind: Bind): string => {
  const isPending = walkOf(scan).table === "timers"
  const columns = `r.uuid, r.namespace, r.timer_id, r.fire_id, r.revision::float8 AS revision, r.correlation_id, r.tags,
    ${isPending ? "r.fire_at" : "r.finished_at"}::float8 AS at_ms, ${isPending ? "'pending'" : "r.state"} AS state,
    ${isPending ? "0::float8" : "r.id::float8"} AS entry${scan.withDetails ? detailColumns(isPending) : ""}`
  return selectSql(columns, scan, bind)
}

const detailColumns = (isPending: boolean): string =>
  `, r.spec, r.last_attempt, ${isPending ? "NULL::text AS reason" : "r.reason"},
    ${isPending ? "NULL::float8" : "r.lateness_ms::float8"} AS lateness_ms`

const rowsSql = (scan: Scan, bind: Bind): string => selectSql("", scan, bind)

/** The order also makes the planner use the intended index. */
const selectSql = (columns: string, scan: Scan, bind: Bind): string => {
  const walk = walkOf(scan)
  const conditions = rangeOf(scan, walk, bind)
  return `SELECT ${columns} FROM ${fromOf(scan, walk)} WHERE ${conditions.join(" AND ")}
    ORDER BY ${orderSql(walk, scan)} LIMIT ${bind(scan.limit, "integer")}`
}

const orderSql = ({ place }: Walk, scan: Scan): string =>
  place.map(([column]) => `${column} ${directionOf(scan)}`).join(", ")

const directionOf = ({ isDescending }: Scan): string => (isDescending ? "DESC" : "ASC")

/** Reserved names begin with _, and ` is the character after it. */
const unreserved = "(r.namespace < '_' OR r.namespace >= '`')"

const timeOf = ({ order }: Scan): string =>
  order === "word" ? "l.at" : order === "due" ? "r.fire_at" : "r.finished_at"

const rangeOf = (scan: Scan, { place }: Walk, bind: Bind): ReadonlyArray<string> => {
  const isByWord = scan.order === "word"
  const time = timeOf(scan)
  // The index of pending timers by due time uses this name of the order; see migrations/0007-schema.sql.
  const namespace = scan.order === "due" ? 'r.namespace COLLATE "POSIX"' : `${isByWord ? "l" : "r"}.namespace`
  const conditions =
    typeof scan.namespace === "number"
      ? [`r.shard = ${bind(scan.namespace, "integer")}`, unreserved]
      : [`${namespace} = ${bind(scan.namespace, "text")}`]
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
  return conditions
}
