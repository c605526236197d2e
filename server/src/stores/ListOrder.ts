// The order of a list follows from its query alone, and so do the bounds on how far one call may walk. This is apart
// from the cursors, so that a store's threads load little.
import type { ScanOrder } from "../ports/ShardStorage.ts"
import type { ListQuery } from "../ports/TimerStore.ts"

/** A rare match must not scan without bound: a page ends after this many rows, with a cursor. */
export const mostRowsExamined = 10_000

/** Counting touches an index only, or little more, so it may look at more rows than a list. */
export const mostRowsCounted = 100_000

export const orderOf = (query: Pick<ListQuery, "state" | "idPrefix" | "timerId">): ScanOrder =>
  isById(query)
    ? query.state === "pending"
      ? "pendingId"
      : "finishedId"
    : query.state === "pending"
      ? "due"
      : "end"

/** Whether ids bound the walk, and not times. */
export const isById = (query: Pick<ListQuery, "idPrefix" | "timerId">): boolean =>
  query.idPrefix !== undefined || query.timerId !== undefined

/** Latest first is natural for finished lives, earliest first for everything else. */
export const isDescending = (query: ListQuery): boolean => (orderOf(query) === "end") !== query.reversed
