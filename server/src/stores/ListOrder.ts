// The order of a list, which depends only on its query, and the limits for the rows that one call may read. This is
// separate from the cursors, so that a store's threads load little code.
import { wordOfCorrelation, wordOfTag } from "../domain/words.ts"
import type { ScanOrder } from "../ports/ShardStorage.ts"
import type { ListQuery } from "../ports/TimerStore.ts"

/** A rare match must not scan without a bound. A page ends after this many rows, with a cursor. */
export const mostRowsExamined = 10_000

/** Counting reads little more than an index, so it may read more rows than a list. */
export const mostRowsCounted = 100_000

export const orderOf = (query: Pick<ListQuery, "state" | "idPrefix" | "timerId">): ScanOrder =>
  isById(query)
    ? query.state === "pending"
      ? "pendingId"
      : "finishedId"
    : query.state === "pending"
      ? "due"
      : "end"

/** The word by which the index finds the rows of the query. `undefined` without a word, or if ids bound the scan. */
export const wordOf = (
  query: Pick<ListQuery, "idPrefix" | "timerId" | "tag" | "correlationId">,
): string | undefined => {
  if (isById(query)) return undefined
  if (query.tag !== undefined) return wordOfTag(query.tag)
  return query.correlationId === undefined ? undefined : wordOfCorrelation(query.correlationId)
}

/** Whether ids bound the scan instead of times. */
export const isById = (query: Pick<ListQuery, "idPrefix" | "timerId">): boolean =>
  query.idPrefix !== undefined || query.timerId !== undefined

/** Finished lives are listed latest first by default, everything else earliest first. */
export const isDescending = (query: ListQuery): boolean => (orderOf(query) === "end") !== query.reversed
