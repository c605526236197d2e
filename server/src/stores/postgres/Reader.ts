// The reads of the port. They wait for no lock. A read of due timers is one statement, so it sees one instant. A scan or
// count of several lanes needs one statement for each shape of a lane, so its lanes can differ by a few instants.
import type { Buckets } from "../../domain/bucketOf.ts"
import type { Tally } from "../../domain/Decision.ts"
import type { TimerHead } from "../../domain/Timer.ts"
import type { Scan, ScannedHead } from "../../ports/ShardStorage.ts"
import type { DuePage, DueQuery } from "../../ports/TimerStore.ts"
import {
  type HeadRow,
  headOf,
  type KeyColumns,
  keyOfColumns,
  type TimerColumns,
  timerOfColumns,
} from "../columnRows.ts"
import { headOfColumns, type ScannedRow } from "../headOfColumns.ts"
import { bucketGroups, countGroups, scanGroups, scanSql } from "./scans.ts"
import { clockSql, readerSql } from "./statements.ts"

interface Payload {
  readonly payload: Uint8Array | null
}

interface Cut {
  /** With this row the page has as many bytes as a page may have. */
  readonly reaches_limit: boolean
}

export const readDue = async (sql: Bun.SQL, query: DueQuery): Promise<DuePage> => {
  const rows: ReadonlyArray<KeyColumns & TimerColumns & Payload & Cut> = await duePage(
    sql,
    readerSql.due,
    query,
  )
  const timers = rows.map((row) => timerOfColumns(keyOfColumns(row), row, row.payload))
  return { timers, isLast: rows.length < query.limit && rows.at(-1)?.reaches_limit !== true }
}

export const readHeads = async (sql: Bun.SQL, query: DueQuery): Promise<ReadonlyArray<TimerHead>> => {
  const rows: ReadonlyArray<HeadRow> = await duePage(sql, readerSql.heads, query)
  return rows.map(headOf)
}

export const readScan = async (
  sql: Bun.SQL,
  scans: ReadonlyArray<Scan>,
): Promise<ReadonlyArray<ReadonlyArray<ScannedHead>>> => {
  const [only] = scans
  if (only !== undefined && scans.length === 1) {
    const { text, values } = scanSql(only)
    const rows: ReadonlyArray<ScannedRow> = await sql.unsafe(text, [...values])
    return [rows.map((row) => headOfColumns(only, row))]
  }
  const pages = scans.map((): Array<ScannedHead> => [])
  for (const group of scanGroups(scans)) {
    const rows: ReadonlyArray<ScannedRow> = await sql.unsafe(group.text, [...group.columns])
    for (const row of rows) {
      const index = group.scans[(row.lane ?? 0) - 1] ?? -1
      const scan = scans[index]
      if (scan !== undefined) pages[index]?.push(headOfColumns(scan, row))
    }
  }
  return pages
}

export const readCount = async (sql: Bun.SQL, scans: ReadonlyArray<Scan>, limit: number): Promise<number> => {
  let count = 0
  for (const { text, columns } of countGroups(scans)) {
    if (count === limit) break
    const rows: ReadonlyArray<{ readonly count: number }> = await sql.unsafe(text, [
      ...columns,
      limit - count,
    ])
    count += rows[0]?.count ?? 0
  }
  return count
}

export const readCountByTime = async (
  sql: Bun.SQL,
  scans: ReadonlyArray<Scan>,
  { from, until, buckets }: Buckets,
  limit: number,
): Promise<ReadonlyArray<number> | undefined> => {
  const counts = new Array<number>(buckets).fill(0)
  let rows = 0
  for (const { text, columns } of bucketGroups(scans)) {
    const found: ReadonlyArray<{ readonly bucket: number; readonly count: number }> = await sql.unsafe(text, [
      ...columns,
      limit + 1 - rows,
      from,
      buckets,
      until - from,
    ])
    for (const { bucket, count } of found) {
      counts[bucket] = (counts[bucket] ?? 0) + count
      rows += count
    }
    if (rows > limit) return undefined
  }
  return counts
}

export const readTallies = (sql: Bun.SQL): Promise<ReadonlyArray<Tally>> => sql.unsafe(readerSql.tallies)

type Pages = (typeof readerSql)["due" | "heads"]

/** Rows with the columns that the statement names. */
const duePage = (sql: Bun.SQL, pages: Pages, query: DueQuery) => {
  const { shard, exclusiveAfter, inclusiveUntilMs, limit, only, except } = query
  const values = [shard, exclusiveAfter.fireAt, exclusiveAfter.fireId, inclusiveUntilMs, limit]
  if (only !== undefined) return sql.unsafe(pages.only, [...values, only])
  if (except === undefined || except.length === 0) return sql.unsafe(pages.all, values)
  return sql.unsafe(pages.except, [...values, except])
}

export const readClock = async (sql: Bun.SQL): Promise<number> => {
  const rows: ReadonlyArray<{ now_ms: number }> = await sql.unsafe(clockSql)
  return rows[0]?.now_ms ?? Number.NaN
}
