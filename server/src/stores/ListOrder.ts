// The order of a list, which depends only on its query, and the limits for the rows that one call may read. This is
// separate from the cursors, so that a store's threads load little code.
import { naturalOrder } from "../domain/naturalOrder.ts"
import { wordOfCorrelation, wordOfTag } from "../domain/words.ts"
import type { ScanOrder } from "../ports/ShardStorage.ts"
import type { ListedState, ListFilter, ListQuery, ListScope } from "../ports/TimerStore.ts"

/** A rare match must not scan without a bound. A page ends after this many rows, with a cursor. */
export const mostRowsExamined = 10_000

/** Counting reads little more than an index, so it may read more rows than a list. */
export const mostRowsCounted = 100_000

export const statesOf = ({ state }: Pick<ListScope, "state">): ReadonlyArray<ListedState> =>
  typeof state === "string" ? [state] : state

/** The names of the namespaces. For a list of all namespaces, the numbers of the shards. */
export const namesOf = ({ namespace }: Pick<ListScope, "namespace">): ReadonlyArray<string | number> => {
  if (typeof namespace === "string") return [namespace]
  const { names, shards } = namespace
  return shards === undefined ? names : Array.from({ length: shards }, (_, shard) => shard)
}

/** Whether the list is merged from several scans. Its cursors then name the namespace and the state of a row. */
export const isMerged = ({ namespace, state }: ListScope): boolean =>
  typeof namespace !== "string" || typeof state !== "string"

export const orderOf = (query: Pick<ListFilter, "idPrefix" | "timerId">, state: ListedState): ScanOrder =>
  isById(query) ? (state === "pending" ? "pendingId" : "finishedId") : state === "pending" ? "due" : "end"

/** The word by which the index finds the rows of the query. `undefined` without a word, or if ids bound the scan. */
export const wordOf = (
  query: Pick<ListFilter, "idPrefix" | "timerId" | "tag" | "correlationId">,
): string | undefined => {
  if (isById(query)) return undefined
  if (query.tag !== undefined) return wordOfTag(query.tag)
  return query.correlationId === undefined ? undefined : wordOfCorrelation(query.correlationId)
}

/** Whether ids bound the scan instead of times. */
export const isById = (query: Pick<ListFilter, "idPrefix" | "timerId">): boolean =>
  query.idPrefix !== undefined || query.timerId !== undefined

export const isDescending = (query: ListQuery): boolean =>
  (naturalOrder(statesOf(query), isById(query)) === "desc") !== query.reversed
