// Lists and counts, the same for every SQL database. The calls of a tenant in one state are a lane, sorted by an index.
// A list reads the lanes of the wanted states and merges them. A filter that no index supports reads a limited number
// of rows of each lane. If these rows do not fill the page, the page ends there and has a cursor. So the time of a list
// does not depend on the number of calls. This module does not use Effect.
import type { CallRecord } from "../domain/CallRecord.ts"
import type { CallState } from "../domain/ServiceCall.ts"
import type { ListAsked, ListedCalls, ListPlace, RowFilter } from "../ports/CallStore.ts"
import { folded, recordOf } from "./callRows.ts"

/** How many rows of a lane one list or count reads at most. */
export const scannedAtMost = 5_000

/** How a database writes what is not the same everywhere. */
export interface SqlDialect {
  /** The n-th parameter. The first is 1. */
  parameter(n: number, type: "text" | "number"): string
  /** Whether the JSON array in the column `tags` contains the text. */
  hasTag(parameter: string): string
  /** Whether the column `name_folded` contains the text. */
  hasInName(parameter: string): string
}

export interface SqlText {
  readonly sql: string
  readonly values: ReadonlyArray<string | number>
}

export interface LaneRow {
  /** Null for the row that only says where the reading stopped. */
  readonly record: string | null
  readonly at: number
  readonly service_call_id: string
}

class Parameters {
  readonly values: Array<string | number> = []
  readonly #dialect: SqlDialect

  constructor(dialect: SqlDialect) {
    this.#dialect = dialect
  }

  text(value: string): string {
    this.values.push(value)
    return this.#dialect.parameter(this.values.length, "text")
  }

  number(value: number): string {
    this.values.push(value)
    return this.#dialect.parameter(this.values.length, "number")
  }
}

/** The query of one lane. Its rows are LaneRows. */
export const laneQuery = (
  dialect: SqlDialect,
  tenantId: string,
  state: CallState,
  asked: ListAsked,
): SqlText => {
  const parameters = new Parameters(dialect)
  const column = asked.order === "due" ? "due_at" : "submitted_at"
  const direction = asked.isAscending ? "ASC" : "DESC"
  const sorted = `ORDER BY at ${direction}, service_call_id ${direction}`
  const bounds = [
    `tenant_id = ${parameters.text(tenantId)}`,
    `state = ${parameters.text(state)}`,
    ...(asked.order === "due" ? dueBounds(asked, parameters) : []),
    ...afterBounds(column, asked, parameters),
  ].join(" AND ")
  const filters = rowFilters(dialect, asked, parameters)
  if (asked.order === "submitted") filters.push(...dueBounds(asked, parameters))
  const columns = "record, due_at, name_folded, method, host, is_starred, tags, service_call_id"
  const rows = `SELECT ${columns}, ${column} AS at FROM calls WHERE ${bounds}
    ORDER BY ${column} ${direction}, service_call_id ${direction}`
  const page = parameters.number(asked.limit + 1)
  if (filters.length === 0) {
    return {
      sql: `SELECT record, at, service_call_id FROM (${rows} LIMIT ${page}) AS page ${sorted}`,
      values: parameters.values,
    }
  }
  const scanned = parameters.number(scannedAtMost)
  const last = parameters.number(scannedAtMost - 1)
  const sql = `WITH scanned AS (${rows} LIMIT ${scanned})
    SELECT record, at, service_call_id FROM (
      SELECT record, at, service_call_id FROM scanned WHERE ${filters.join(" AND ")} ${sorted} LIMIT ${page}
    ) AS page
    UNION ALL
    SELECT NULL, at, service_call_id FROM (
      SELECT at, service_call_id FROM scanned ${sorted} LIMIT 1 OFFSET ${last}
    ) AS stop`
  return { sql, values: parameters.values }
}

/** Counts the calls of a state: `scanned` rows were read, `matching` of them match. */
export const countQuery = (
  dialect: SqlDialect,
  tenantId: string,
  state: CallState,
  filter: RowFilter,
): SqlText => {
  const parameters = new Parameters(dialect)
  const bounds = [
    `tenant_id = ${parameters.text(tenantId)}`,
    `state = ${parameters.text(state)}`,
    ...dueBounds(filter, parameters),
  ].join(" AND ")
  const filters = rowFilters(dialect, filter, parameters)
  const isMatch = filters.length === 0 ? "1" : `CASE WHEN ${filters.join(" AND ")} THEN 1 ELSE 0 END`
  const limit = parameters.number(scannedAtMost + 1)
  const sql = `SELECT count(*) AS scanned, coalesce(sum(is_match), 0) AS matching FROM (
    SELECT ${isMatch} AS is_match FROM calls WHERE ${bounds} ORDER BY due_at LIMIT ${limit}) AS read`
  return { sql, values: parameters.values }
}

const dueBounds = (
  { inclusiveFrom, exclusiveUntil }: RowFilter,
  parameters: Parameters,
): ReadonlyArray<string> => [
  ...(inclusiveFrom === undefined ? [] : [`due_at >= ${parameters.number(inclusiveFrom)}`]),
  ...(exclusiveUntil === undefined ? [] : [`due_at < ${parameters.number(exclusiveUntil)}`]),
]

const afterBounds = (
  column: string,
  { after, isAscending }: ListAsked,
  parameters: Parameters,
): ReadonlyArray<string> => {
  if (after === undefined) return []
  const place = `(${parameters.number(after.at)}, ${parameters.text(after.serviceCallId)})`
  return [`(${column}, service_call_id) ${isAscending ? ">" : "<"} ${place}`]
}

const rowFilters = (
  dialect: SqlDialect,
  { tag, isStarred, name, method, host }: RowFilter,
  parameters: Parameters,
): Array<string> => [
  ...(tag === undefined ? [] : [dialect.hasTag(parameters.text(tag))]),
  ...(isStarred === undefined ? [] : [`is_starred = ${parameters.number(isStarred ? 1 : 0)}`]),
  ...(name === undefined ? [] : [dialect.hasInName(parameters.text(folded(name)))]),
  ...(method === undefined ? [] : [`method = ${parameters.text(method)}`]),
  ...(host === undefined ? [] : [`host = ${parameters.text(host)}`]),
]

/** Merges the rows of the lanes into a page. */
export const mergeLanes = (
  lanes: ReadonlyArray<ReadonlyArray<LaneRow>>,
  { limit, isAscending }: Pick<ListAsked, "limit" | "isAscending">,
): ListedCalls => {
  const sign = isAscending ? 1 : -1
  const compare = (a: ListPlace, b: ListPlace): number =>
    sign * (a.at - b.at || Buffer.compare(Buffer.from(a.serviceCallId), Buffer.from(b.serviceCallId)))
  const found: Array<{ readonly place: ListPlace; readonly record: CallRecord }> = []
  let stop: ListPlace | undefined
  for (const rows of lanes) {
    const matching = rows.flatMap(({ record, ...row }) =>
      record === null ? [] : [{ place: placeOf(row), record: recordOf(record) }],
    )
    found.push(...matching)
    const stopped = rows.find(({ record }) => record === null)
    // A lane that fills the page did not stop too early.
    if (stopped === undefined || matching.length > limit) continue
    const place = placeOf(stopped)
    if (stop === undefined || compare(place, stop) < 0) stop = place
  }
  const end = stop
  const known = found
    .toSorted((a, b) => compare(a.place, b.place))
    .filter(({ place }) => end === undefined || compare(place, end) <= 0)
  const page = known.slice(0, limit)
  const last = known.length > limit ? page.at(-1)?.place : end
  return { records: page.map(({ record }) => record), ...(last === undefined ? {} : { next: last }) }
}

const placeOf = ({ at, service_call_id }: Omit<LaneRow, "record">): ListPlace => ({
  at,
  serviceCallId: service_call_id,
})
