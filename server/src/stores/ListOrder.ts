// The order of a list follows from its query alone, and every store walks in the same; so do the bounds
// on how far one call may walk. Apart from the cursors, so that a store's threads load little.
import type { ListQuery } from "../ports/TimerStore.ts"

/** A rare match must not scan without bound: a page ends after this many rows, with a cursor. */
export const mostRowsExamined = 10_000

/** Counting touches an index only, or little more, so it may look at more rows than a list. */
export const mostRowsCounted = 100_000

/**
 * `due`: pending by (fireAt, fireId). `end`: finished by (finishedAt, entry number). With an id prefix
 * both go by timerId, bytewise, finished lives then by revision.
 */
export type ListOrder = "due" | "pendingId" | "end" | "finishedId"

export type SortKey =
  | readonly [number, string]
  | readonly [string]
  | readonly [number, number]
  | readonly [string, number]

export const orderOf = (query: Pick<ListQuery, "state" | "idPrefix" | "timerId">): ListOrder =>
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
