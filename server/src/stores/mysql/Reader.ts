// The reads of the port. They wait for no lock.
import { literal, literals } from "@punctual/documents/mysql/mysqlText"
import type { Buckets } from "../../domain/bucketOf.ts"
import { type Tally, tallyNames } from "../../domain/Decision.ts"
import type { TimerHead } from "../../domain/Timer.ts"
import { duePageBytes } from "../../ports/duePageBytes.ts"
import type { Scan, ScannedHead } from "../../ports/ShardStorage.ts"
import type { DuePage, DueQuery } from "../../ports/TimerStore.ts"
import { type HeadRow, headOf, keyOfColumns, timerOfColumns } from "../columnRows.ts"
import { headOfColumns, type ScannedRow } from "../headOfColumns.ts"
import type { Session } from "./MysqlSessions.ts"
import {
  fireIdColumn,
  idLiteral,
  keyColumns,
  numberColumn,
  type PendingRow,
  timerColumns,
  withBodies,
  withFireId,
} from "./rows.ts"
import { afterSql, bucketsSql, countSql, scanSql } from "./scans.ts"

/** The rows of a page of due timers, as timers AS t. */
const dueRows = (query: DueQuery, join: string): string => {
  const { shard, exclusiveAfter, inclusiveUntilMs, limit, only, except = [] } = query
  const after = [literal(exclusiveAfter.fireAt), idLiteral(exclusiveAfter.fireId)]
  const conditions = [
    `t.shard = ${shard}`,
    `t.fire_at <= ${inclusiveUntilMs}`,
    afterSql(["t.fire_at", "t.fire_id"], after, false),
    ...(only === undefined ? [] : [`t.namespace = ${literal(only)}`]),
    ...(only !== undefined || except.length === 0 ? [] : [`t.namespace NOT IN (${literals(except)})`]),
  ]
  return `FROM timers AS t FORCE INDEX (${only === undefined ? "PRIMARY" : "timers_by_namespace"}) ${join}
    WHERE ${conditions.join(" AND ")} ORDER BY t.fire_at, t.fire_id LIMIT ${limit}`
}

/** The size of a row. Payloads are not read for it. */
const rowBytes =
  "(COALESCE(LENGTH(b.spec), 0) + COALESCE(b.payload_bytes, 0) + COALESCE(LENGTH(t.last_attempt), 0))"

/** A page ends with the row that brings it to the limit of bytes. */
const dueSql = (query: DueQuery): string =>
  `SELECT ${timerColumns}, b.payload, p.so_far >= ${duePageBytes} AS reaches_limit FROM (
      SELECT shard, fire_at, fire_id, bytes,
        SUM(bytes) OVER (ORDER BY fire_at, fire_id ROWS UNBOUNDED PRECEDING) AS so_far
      FROM (SELECT t.shard, t.fire_at, t.fire_id, ${rowBytes} AS bytes ${dueRows(query, withBodies)}) AS page
    ) AS p STRAIGHT_JOIN timers AS t ON t.shard = p.shard AND t.fire_at = p.fire_at AND t.fire_id = p.fire_id
    ${withBodies} WHERE p.so_far - p.bytes < ${duePageBytes} ORDER BY p.fire_at, p.fire_id`

const readDue = async (session: Session, query: DueQuery): Promise<DuePage> => {
  const rows = await session.rows<PendingRow & { readonly reaches_limit: number }>(dueSql(query))
  const timers = rows.map(withFireId).map((row) => timerOfColumns(keyOfColumns(row), row, row.payload))
  return { timers, isLast: rows.length < query.limit && rows.at(-1)?.reaches_limit !== 1 }
}

const readHeads = async (session: Session, query: DueQuery): Promise<ReadonlyArray<TimerHead>> => {
  const columns = `${keyColumns("t")}, ${fireIdColumn("t")}, ${numberColumn("t", "fire_at")}`
  const rows = await session.rows<HeadRow>(`SELECT ${columns} ${dueRows(query, "")}`)
  return rows.map(withFireId).map(headOf)
}

const readScan = async (
  session: Session,
  scans: ReadonlyArray<Scan>,
): Promise<ReadonlyArray<ReadonlyArray<ScannedHead>>> => {
  if (scans.length === 0) return []
  const results = await session.run<ScannedRow>(scans.map(scanSql))
  return scans.map((scan, index) => (results[index] ?? []).map((row) => headOfColumns(scan, withFireId(row))))
}

/** No scan counts more rows than all together may. */
const upTo = (limit: number) => (scan: Scan) => ({ ...scan, limit: Math.min(scan.limit, limit) })

const readCount = async (session: Session, scans: ReadonlyArray<Scan>, limit: number): Promise<number> => {
  if (scans.length === 0) return 0
  const results = await session.run<{ readonly count: number }>(scans.map(upTo(limit)).map(countSql))
  return Math.min(
    limit,
    results.reduce((sum, [row]) => sum + (row?.count ?? 0), 0),
  )
}

const readCountByTime = async (
  session: Session,
  scans: ReadonlyArray<Scan>,
  buckets: Buckets,
  limit: number,
): Promise<ReadonlyArray<number> | undefined> => {
  const counts = new Array<number>(buckets.buckets).fill(0)
  let rows = 0
  for (const scan of scans.map(upTo(limit + 1))) {
    const found = await session.rows<{ readonly bucket: number; readonly count: number }>(
      bucketsSql(scan, buckets),
    )
    for (const { bucket, count } of found) {
      counts[bucket] = (counts[bucket] ?? 0) + count
      rows += count
    }
    if (rows > limit) return undefined
  }
  return counts
}

/** A name that sorts after all others, because they are texts. */
const noName = "x'ff'"

const nextName = (table: string, index: string): string =>
  `COALESCE((SELECT MIN(n.namespace) FROM ${table} AS n FORCE INDEX (${index}) WHERE n.namespace > @after), ${noName})`

/** The smallest name after the last one. Reserved names are adjacent, and skipped in one step. */
const nextStatements: ReadonlyArray<string> = [
  "SET @after = IF(@name >= '_' AND @name < '`', '`', @name)",
  `SET @name = LEAST(${nextName("timers", "timers_by_id")}, ${nextName("history", "history_by_id")})`,
  `SELECT IF(@name = ${noName}, NULL, CONVERT(@name USING utf8mb4)) AS namespace`,
]

/** How many names one round trip finds. */
const namesTogether = 10

/** Steps from name to name, with one lookup in each index, and never scans the rows of a namespace. */
const readNames = async (
  session: Session,
  exclusiveAfter: string,
  limit: number,
): Promise<ReadonlyArray<string>> => {
  const names: Array<string> = []
  let last: string | null = exclusiveAfter
  while (last !== null && names.length < limit) {
    const results = await session.run<{ readonly namespace: string | null }>([
      `SET @name = CONVERT(${literal(last)}, BINARY)`,
      ...Array.from({ length: namesTogether }, () => nextStatements).flat(),
    ])
    const found: ReadonlyArray<string | null> = results.flatMap((rows) =>
      rows.map(({ namespace }) => namespace),
    )
    names.push(...found.filter((name) => name !== null && !name.startsWith("_")).map(String))
    last = found.at(-1) ?? null
  }
  return names.slice(0, limit)
}

/** By shard. */
export const readTallies = (session: Session): Promise<ReadonlyArray<Tally>> =>
  session.rows(
    `SELECT ${tallyNames.map((name) => numberColumn("s", name)).join(", ")} FROM shards AS s ORDER BY s.shard`,
  )

export const readClock = async (session: Session): Promise<number> => {
  const [row] = await session.rows<{ readonly now_ms: number }>(
    "SELECT UNIX_TIMESTAMP(NOW(6)) * 1e3 AS now_ms",
  )
  return row?.now_ms ?? Number.NaN
}

export const mysqlReads = {
  due: readDue,
  dueHeads: readHeads,
  scan: readScan,
  count: readCount,
  countByTime: readCountByTime,
  namespaces: readNames,
} as const
