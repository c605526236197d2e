// Scans as statements. Each follows one index, so that a page can stop anywhere and continue later.
import type { Buckets } from "../../domain/bucketOf.ts"
import type { FinishedState } from "../../domain/Timer.ts"
import type { Scan, ScannedHead, SortKey } from "../../ports/ShardStorage.ts"
import { tagsOfHead } from "../addedValues.ts"
import { type DetailColumns, rowDetails } from "../rowDetails.ts"
import { hasOneLevel, type Levels, type PendingOrder, unionOfLevels } from "./level0/orders.ts"
import { bytesOfUuid, dashed } from "./rows.ts"

type Value = string | number | Uint8Array

interface ScanText {
  readonly text: string
  readonly values: ReadonlyArray<Value>
}

interface Walk {
  readonly table: "timers" | "history" | "dead"
  /** The order of pending timers, if the rows come from it. */
  readonly pending?: PendingOrder
  /** The source of the index, given the source of entries of pending timers. */
  readonly index: (entries: string) => string
  /** The source of the rows, in the order of an index. Their alias is `r`. */
  readonly from: (entries: string) => string
  /** The alias of the columns that conditions name: of entries, or of rows. */
  readonly of: "e" | "r"
  /** The columns by which rows are sorted within the range. */
  readonly place: readonly [string] | readonly [string, string]
  readonly time: string
}

const walkOf = ({ order, state, namespace }: Scan, levels: Levels): Walk => {
  const table = state === undefined ? "timers" : state === "dead" ? "dead" : "history"
  const indexedBy = (index: string) => {
    const from = () => `${table} AS r INDEXED BY ${index}`
    return { table, index: from, from, of: "r" } as const
  }
  const entries = (pending: PendingOrder) =>
    ({ table, pending, index: (source: string) => source, from: withRows, of: "e" }) as const
  switch (order) {
    case "due":
      return {
        ...entries(typeof namespace === "number" ? "dues" : "times"),
        place: ["e.fire_at", "e.fire_id"],
        time: "e.fire_at",
      }
    case "pendingId":
      return { ...entries("keys"), place: ["e.timer_id"], time: "r.fire_at" }
    case "end":
      return { ...indexedBy(`${table}_by_end`), place: ["r.finished_at", "r.id"], time: "r.finished_at" }
    case "finishedId":
      return { ...indexedBy(`${table}_by_key`), place: ["r.timer_id", "r.revision"], time: "r.finished_at" }
    case "word": {
      const from = () => (table === "timers" ? timersOfWords(levels) : livesOfWords(table))
      return { table, index: from, from, of: "r", place: ["l.at", "l.fire_id"], time: "l.at" }
    }
  }
}

/** CROSS JOIN keeps the order of the loops: first the entries, then their rows. */
const withRows = (entries: string): string => `${entries} CROSS JOIN main.timers AS r ON r.id = e.id`

/** First the words, then the rows that have them and still exist. Each word is read once, and its key looked for in all levels. */
const timersOfWords = (levels: Levels): string => {
  const id = unionOfLevels(levels, "keys", (entries, further) => {
    const conditions = ["e.namespace = l.namespace", "e.timer_id = l.timer_id", ...further]
    return `SELECT e.id FROM ${entries} WHERE ${conditions.join(" AND ")}`
  })
  return `lookups AS l CROSS JOIN main.timers AS r ON r.id = (${id} LIMIT 1)
    AND r.revision = l.revision AND r.fire_id = l.fire_id AND r.fire_at = l.at`
}

const livesOfWords = (table: Walk["table"]): string =>
  `lookups AS l CROSS JOIN ${table} AS r INDEXED BY ${table}_by_key ON r.namespace = l.namespace
    AND r.timer_id = l.timer_id AND r.revision = l.revision AND r.fire_id = l.fire_id AND r.finished_at = l.at`

/** One SELECT, or for pending timers one for each level. */
const selected = (
  { pending }: Walk,
  levels: Levels,
  conditions: ReadonlyArray<string>,
  select: (entries: string, where: string) => string,
): string => {
  const where = (further: ReadonlyArray<string>) => [...conditions, ...further].join(" AND ")
  if (pending === undefined) return select("", where([]))
  return unionOfLevels(levels, pending, (entries, further) => select(entries, where(further)))
}

/**
 * Selects rows of (uuid, timerId, fireId, revision, time, correlationId, state, number of the entry, tags, namespace).
 * If details are requested, (spec, log of attempts, reason, lateness) follow.
 */
export const scanSql = (scan: Scan, levels: Levels): ScanText => {
  const walk = walkOf(scan, levels)
  const { table, place, time } = walk
  const { conditions, values } = rangeOf(scan, walk)
  const direction = scan.isDescending ? "DESC" : "ASC"
  const state = table === "timers" ? "'pending'" : table === "dead" ? "'dead'" : "r.state"
  const { columns, join } = scan.withDetails ? detailed(walk) : { columns: "", join: "" }
  const shown = `lower(hex(r.uuid)), r.timer_id, lower(hex(r.fire_id)), r.revision, ${time}, r.correlation_id, ${state},
      ${scan.order === "end" ? "r.id" : "0"}, r.tags, r.namespace${columns}`
  const limit = `LIMIT ?${values.push(scan.limit)}`
  const sorted = (by: ReadonlyArray<string>) =>
    `ORDER BY ${by.map((column) => `${column} ${direction}`).join(", ")} ${limit}`
  if (walk.pending === undefined || hasOneLevel(levels)) {
    const text = selected(
      walk,
      levels,
      conditions,
      (entries, where) =>
        `SELECT ${shown} FROM ${walk.from(entries)} ${join} WHERE ${where} ${sorted(place)}`,
    )
    return { text, values }
  }
  // As in `pageOfLevels`.
  const places = place.map((column, index) => [column, `place${index}`] as const)
  const rows = selected(
    walk,
    levels,
    conditions,
    (entries, where) => `SELECT ${numbered(shown)}, ${places.map((pair) => pair.join(" AS ")).join(", ")}
      FROM ${walk.from(entries)} ${join} WHERE ${where}`,
  )
  const names = Array.from({ length: columnsIn(shown) }, (_, index) => `c${index}`).join(", ")
  return { text: `SELECT ${names} FROM (${rows} ${sorted(places.map(([, name]) => name))})`, values }
}

/** Gives each column a name: c0, c1, … */
const numbered = (columns: string): string =>
  splitColumns(columns)
    .map((column, index) => `${column} AS c${index}`)
    .join(", ")

const columnsIn = (columns: string): number => splitColumns(columns).length

/** No column of a scan has a comma in it. */
const splitColumns = (columns: string): ReadonlyArray<string> =>
  columns.split(",").map((column) => column.trim())

/** The specs of pending timers are in a separate table. Pending timers have no reason and no lateness. */
const detailed = ({ table }: Walk): { readonly columns: string; readonly join: string } => {
  switch (table) {
    case "timers":
      return {
        columns: ", b.spec, r.last_attempt, NULL, NULL",
        join: "CROSS JOIN main.bodies AS b ON b.id = r.id",
      }
    case "history":
    case "dead":
      return { columns: ", r.spec, r.last_attempt, r.reason, r.lateness_ms", join: "" }
  }
}

export const countSql = (scan: Scan, levels: Levels): ScanText => {
  const walk = walkOf(scan, levels)
  const { conditions, values } = rangeOf(scan, walk)
  const rows = selected(
    walk,
    levels,
    conditions,
    (entries, where) => `SELECT 1 FROM ${walk.index(entries)} WHERE ${where}`,
  )
  return { text: `SELECT count(*) FROM (${rows} LIMIT ?${values.push(scan.limit)})`, values }
}

/** Selects rows of (number of the bucket, how many rows are in it), for the buckets that have any. */
export const bucketsSql = (scan: Scan, { from, until, buckets }: Buckets, levels: Levels): ScanText => {
  const walk = walkOf(scan, levels)
  const { conditions, values } = rangeOf(scan, walk)
  const rows = selected(
    walk,
    levels,
    conditions,
    (entries, where) => `SELECT ${walk.time} AS at FROM ${walk.index(entries)} WHERE ${where}`,
  )
  const limited = `${rows} LIMIT ?${values.push(scan.limit)}`
  const [start, many, span] = [from, buckets, until - from].map((value) => `?${values.push(value)}`)
  const text = `SELECT (at - ${start}) * ${many} / ${span} AS bucket, count(*) FROM (${limited}) GROUP BY bucket`
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
const unreserved = (of: string): string => `(${of}.namespace < '_' OR ${of}.namespace >= '\`')`

/** Parameters are numbered in the order in which they are added. */
const rangeOf = (scan: Scan, { table, place, time, of }: Walk) => {
  const values: Array<Value> = []
  const bind = (value: Value): string => `?${values.push(value)}`
  const isByWord = scan.order === "word"
  const conditions =
    typeof scan.namespace === "number"
      ? [`${of}.shard = ${bind(scan.namespace)}`, unreserved(of)]
      : [`${isByWord ? "l" : of}.namespace = ${bind(scan.namespace)}`]
  if (isByWord) {
    conditions.push(`l.word = ${bind(scan.word ?? "")}`, `l.state = ${bind(scan.state ?? "pending")}`)
  }
  if (scan.order === "end" && table === "history") conditions.push(`r.state = ${bind(scan.state ?? "")}`)
  if (scan.inclusiveFromMs !== undefined) conditions.push(`${time} >= ${bind(scan.inclusiveFromMs)}`)
  if (scan.exclusiveUntilMs !== undefined) conditions.push(`${time} < ${bind(scan.exclusiveUntilMs)}`)
  if (scan.timerId !== undefined) conditions.push(`${of}.timer_id = ${bind(scan.timerId)}`)
  if (scan.inclusiveFromId !== undefined) conditions.push(`${of}.timer_id >= ${bind(scan.inclusiveFromId)}`)
  if (scan.exclusiveUntilId !== undefined) conditions.push(`${of}.timer_id < ${bind(scan.exclusiveUntilId)}`)
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
