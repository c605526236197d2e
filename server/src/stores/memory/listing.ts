// Lists and counts over a namespace's indexes in memory: the same orders, bounds and cursors as the
// SQL stores have.
import { compareDue } from "../../domain/DueOrder.ts"
import type { Listed, ListFilter, ListPage, ListQuery } from "../../ports/TimerStore.ts"
import { encodeCursor } from "../ListCursor.ts"
import {
  isById,
  isDescending,
  mostRowsCounted,
  mostRowsExamined,
  orderOf,
  type SortKey,
} from "../ListOrder.ts"
import { compareUtf8, endOfPrefix } from "../Utf8Order.ts"
import type { Ended, NamespaceIndex, Pending } from "./MemoryDatabase.ts"
import type { SortedList } from "./SortedList.ts"

interface Row {
  readonly item: Listed
  readonly key: SortKey
}

export const listFrom = (index: NamespaceIndex, query: ListQuery, after: SortKey | undefined): ListPage => {
  const items: Array<Listed> = []
  let examined = 0
  let last: SortKey | undefined
  for (const { item, key } of rows(index, query, after)) {
    if ((items.length === query.limit || examined === mostRowsExamined) && last !== undefined) {
      return { items, next: encodeCursor(query, last) }
    }
    examined++
    last = key
    if (matches(item, query)) items.push(query.includePayload ? item : stripPayload(item))
  }
  return { items }
}

export const countIn = (
  index: NamespaceIndex,
  query: ListFilter & Pick<ListQuery, "namespace" | "state"> & { readonly limit: number },
): { readonly count: number; readonly capped: boolean } => {
  const list: ListQuery = { ...query, reversed: false, includePayload: false }
  let count = 0
  let examined = 0
  for (const { item } of rows(index, list, undefined)) {
    if (examined++ === mostRowsCounted) return { count, capped: true }
    if (!matches(item, list)) continue
    if (count === query.limit) return { count, capped: true }
    count++
  }
  return { count, capped: false }
}

const rows = (index: NamespaceIndex, query: ListQuery, after: SortKey | undefined): Iterable<Row> => {
  switch (orderOf(query)) {
    case "due":
      return walk(index.pendingByDue, query, after, pendingRow("due"))
    case "pendingId":
      return walk(index.pendingById, query, after, pendingRow("pendingId"))
    default:
      return endedRows(index, query, after)
  }
}

const endedRows = (index: NamespaceIndex, query: ListQuery, after: SortKey | undefined): Iterable<Row> => {
  if (query.state === "pending") return []
  const { byTime, byId } = index.ended[query.state]
  return isById(query)
    ? walk(byId, query, after, endedRow("finishedId"))
    : walk(byTime, query, after, endedRow("end"))
}

function* walk<T>(
  list: SortedList<T>,
  query: ListQuery,
  after: SortKey | undefined,
  rowOf: (entry: T) => Row,
): Generator<Row> {
  // A prefix and the time bounds of a time order begin the walk; the filter below ends it.
  const descending = isDescending(query)
  const from = after ?? firstKey(query, descending)
  const isAtOrAfter = (entry: T): boolean => from === undefined || compareKeys(rowOf(entry).key, from) >= 0
  const entries = descending
    ? list.downFrom((entry) => from !== undefined && isAtOrAfter(entry))
    : list.upFrom((entry) => isAtOrAfter(entry))
  for (const entry of entries) {
    const row = rowOf(entry)
    if (after !== undefined && compareKeys(row.key, after) === 0) continue
    if (isBeyond(row, query, descending)) return
    yield row
  }
}

/** Where the index can begin instead of filtering. */
const firstKey = (query: ListQuery, descending: boolean): SortKey | undefined => {
  if (query.timerId !== undefined) return descending ? [query.timerId, Number.MAX_VALUE] : [query.timerId]
  if (query.idPrefix !== undefined) {
    const id = descending ? endOfPrefix(query.idPrefix) : query.idPrefix
    return id === undefined ? undefined : [id]
  }
  const bound = descending ? query.exclusiveUntilMs : query.inclusiveFromMs
  return bound === undefined ? undefined : orderOf(query) === "due" ? [bound, ""] : [bound, -1]
}

/** No later row of this walk can match. */
const isBeyond = ({ item, key }: Row, query: ListQuery, descending: boolean): boolean => {
  if (query.timerId !== undefined) return key[0] !== query.timerId
  if (query.idPrefix !== undefined) return !String(key[0]).startsWith(query.idPrefix)
  const at = timeOf(item)
  return descending
    ? query.inclusiveFromMs !== undefined && at < query.inclusiveFromMs
    : query.exclusiveUntilMs !== undefined && at >= query.exclusiveUntilMs
}

const matches = (item: Listed, query: ListQuery): boolean => {
  const { timerId, correlationId } = item.state === "pending" ? item.timer : item.life
  const at = timeOf(item)
  return (
    item.state === query.state &&
    (query.inclusiveFromMs === undefined || at >= query.inclusiveFromMs) &&
    (query.exclusiveUntilMs === undefined || at < query.exclusiveUntilMs) &&
    (query.correlationId === undefined || correlationId === query.correlationId) &&
    (query.timerId === undefined || timerId === query.timerId) &&
    (query.idPrefix === undefined || timerId.startsWith(query.idPrefix))
  )
}

const timeOf = (item: Listed): number => (item.state === "pending" ? item.timer.fireAt : item.life.finishedAt)

const stripPayload = (item: Listed): Listed => {
  if (item.state === "pending") {
    const { payload: _, ...timer } = item.timer
    return { state: "pending", timer }
  }
  const { payload: _, ...life } = item.life
  return { state: item.state, life }
}

const pendingRow =
  (order: "due" | "pendingId") =>
  ({ timer }: Pending): Row => ({
    item: { state: "pending", timer },
    key: order === "due" ? [timer.fireAt, timer.fireId] : [timer.timerId],
  })

const endedRow =
  (order: "end" | "finishedId") =>
  ({ life, entry }: Ended): Row => ({
    item: { state: life.state, life },
    key: order === "end" ? [life.finishedAt, entry] : [life.timerId, life.revision],
  })

/** Of two keys of one order; a shorter one comes before all that begin with it. */
const compareKeys = (a: SortKey, b: SortKey): number => {
  const [a0, a1] = a
  const [b0, b1] = b
  if (typeof a0 === "string" && typeof b0 === "string") {
    return compareUtf8(a0, b0) || Number(a1 ?? -1) - Number(b1 ?? -1)
  }
  if (typeof a1 === "string" && typeof b1 === "string") {
    return compareDue({ fireAt: Number(a0), fireId: a1 }, { fireAt: Number(b0), fireId: b1 })
  }
  return Number(a0) - Number(b0) || Number(a1) - Number(b1)
}
