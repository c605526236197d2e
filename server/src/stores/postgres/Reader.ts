// What the port reads: each call one statement, so that it sees one instant, and waits for no lock.
import { emptyTally, type Tally } from "../../domain/decide.ts"
import type { Timer, TimerHead, TimerKey } from "../../domain/Timer.ts"
import type { DueQuery, Found, Listed, ListPage, ListQuery } from "../../ports/TimerStore.ts"
import { encodeCursor } from "../ListCursor.ts"
import { isDescending, mostRowsCounted, mostRowsExamined, type SortKey } from "../ListOrder.ts"
import {
  type HeadRow,
  headOf,
  type KeyRow,
  keyOfRow,
  type LifeRow,
  lifeOf,
  type TimerRow,
  timerOf,
} from "./rows.ts"
import { readerSql } from "./statements.ts"
import { countSql, pageSql, type Walked, type WalkedRow, walkOf } from "./walks.ts"

interface Payload {
  readonly payload: Uint8Array | null
}

interface FoundRow {
  readonly pending: TimerRow | null
  readonly pending_payload: Uint8Array | null
  readonly last: LifeRow | null
  readonly last_payload: Uint8Array | null
}

type ListedRow = KeyRow & Payload & WalkedRow & (TimerRow | LifeRow)

export const readDue = async (sql: Bun.SQL, query: DueQuery): Promise<ReadonlyArray<Timer>> => {
  const rows: ReadonlyArray<KeyRow & TimerRow & Payload> = await duePage(sql, readerSql.due, query)
  return rows.map((row) => timerOf(keyOfRow(row), row, row.payload))
}

export const readHeads = async (sql: Bun.SQL, query: DueQuery): Promise<ReadonlyArray<TimerHead>> => {
  const rows: ReadonlyArray<HeadRow> = await duePage(sql, readerSql.heads, query)
  return rows.map(headOf)
}

export const readFound = async (sql: Bun.SQL, key: TimerKey): Promise<Found> => {
  const rows: ReadonlyArray<FoundRow> = await sql.unsafe(readerSql.find, [key.namespace, key.timerId])
  const row = rows[0]
  return {
    pending: row?.pending ? timerOf(key, row.pending, row.pending_payload) : undefined,
    last: row?.last ? lifeOf(key, row.last, row.last_payload) : undefined,
  }
}

export const readPage = async (
  sql: Bun.SQL,
  query: ListQuery,
  after: SortKey | undefined,
): Promise<ListPage> => {
  const walk = walkOf(query)
  const { limit, includePayload } = query
  // With nothing left to filter, every row examined is listed.
  const examined = walk.rest.length === 0 ? limit : mostRowsExamined
  const text = pageSql(walk, { after, isDescending: isDescending(query), includePayload, limit, examined })
  const rows: ReadonlyArray<ListedRow> = await sql.unsafe(text, walk.values)
  const hits = rows.filter((row) => row.is_hit && row.number <= examined)
  const items = hits.slice(0, limit).map((row) => listedOf(query, row))
  const isFull = hits.length > limit || (hits.length === limit && rows.some((row) => row.number > examined))
  const last = isFull
    ? hits[limit - 1]
    : rows.some((row) => row.number > examined)
      ? rows.find((row) => row.number === examined)
      : undefined
  return last === undefined ? { items } : { items, next: encodeCursor(query, sortKeyOf(last)) }
}

export const readCount = async (
  sql: Bun.SQL,
  query: Walked & { readonly limit: number },
): Promise<{ readonly count: number; readonly capped: boolean }> => {
  const walk = walkOf(query)
  const examined = walk.rest.length === 0 ? query.limit : Math.max(query.limit, mostRowsCounted)
  const rows: ReadonlyArray<{ seen: number; hits: number }> = await sql.unsafe(
    countSql(walk, examined),
    walk.values,
  )
  const { seen, hits } = rows[0] ?? { seen: 0, hits: 0 }
  return { count: Math.min(hits, query.limit), capped: hits > query.limit || seen > examined }
}

export const readTally = async (sql: Bun.SQL): Promise<Tally> => {
  const rows: ReadonlyArray<Tally> = await sql.unsafe(readerSql.tally)
  return { ...emptyTally, ...rows[0] }
}

type Pages = (typeof readerSql)["due" | "heads"]

/** Rows whose columns the statement names. */
const duePage = (sql: Bun.SQL, pages: Pages, query: DueQuery) => {
  const { shard, exclusiveAfter, inclusiveUntilMs, limit, only, except } = query
  const values = [shard, exclusiveAfter.fireAt, exclusiveAfter.fireId, inclusiveUntilMs, limit]
  if (only !== undefined) return sql.unsafe(pages.only, [...values, only])
  if (except === undefined || except.length === 0) return sql.unsafe(pages.all, values)
  return sql.unsafe(pages.except, [...values, except])
}

const listedOf = ({ state }: ListQuery, row: ListedRow): Listed =>
  state === "pending"
    ? { state, timer: timerOf(keyOfRow(row), row as TimerRow, row.payload) }
    : { state, life: lifeOf(keyOfRow(row), row as LifeRow, row.payload) }

const sortKeyOf = ({ key_1, key_2 }: WalkedRow): SortKey =>
  // The columns that the walk's own statement sorts by.
  (key_2 === null
    ? [key_1]
    : [key_1, typeof key_2 === "string" ? key_2.replaceAll("-", "") : key_2]) as unknown as SortKey
