// Decides which rows a filter selects, from the data that a scan returns for each row.
import { errorClassOf } from "../domain/errorClassOf.ts"
import { isOnHost } from "../domain/isOnHost.ts"
import type { RowDetails, Scan, ScannedHead } from "../ports/ShardStorage.ts"
import type { Listed, ListedState, ListFilter } from "../ports/TimerStore.ts"
import { isById } from "./ListOrder.ts"

export type MatchedRow = Pick<ScannedHead, "state" | "atMs" | "correlationId" | "tags" | "details">

/** Whether the row matches. Its state must be one that the query asks for. */
export const rowMatches = (row: MatchedRow, filter: ListFilter): boolean => {
  const { atMs, correlationId, tags } = row
  const { inclusiveFromMs, exclusiveUntilMs } = timesOf(filter, row.state)
  return (
    (inclusiveFromMs === undefined || atMs >= inclusiveFromMs) &&
    (exclusiveUntilMs === undefined || atMs < exclusiveUntilMs) &&
    (filter.correlationId === undefined || correlationId === filter.correlationId) &&
    (filter.tag === undefined || (tags?.includes(filter.tag) ?? false)) &&
    (!needsDetails(filter, row.state) || detailsMatch(row.details ?? {}, filter, row.state))
  )
}

/** The bounds of fireAt or finishedAt. For pending timers, `minLateness` is a bound of fireAt. */
export const timesOf = (
  filter: ListFilter,
  state: ListedState,
): Pick<ListFilter, "inclusiveFromMs" | "exclusiveUntilMs"> => {
  const { inclusiveFromMs, exclusiveUntilMs, minLateness } = filter
  const from = inclusiveFromMs === undefined ? {} : { inclusiveFromMs }
  if (state !== "pending" || minLateness === undefined)
    return exclusiveUntilMs === undefined ? from : { ...from, exclusiveUntilMs }
  const overdue = minLateness.nowMs - minLateness.ms + 1
  return { ...from, exclusiveUntilMs: Math.min(exclusiveUntilMs ?? overdue, overdue) }
}

/** Whether a filter without an index is given. */
export const isUnindexed = ({ host, error, reason, minLateness }: ListFilter): boolean =>
  host !== undefined || error !== undefined || reason !== undefined || minLateness !== undefined

/** Whether the filter needs the details of rows in this state. The lateness of pending timers is in the index. */
export const needsDetails = (filter: ListFilter, state: ListedState): boolean =>
  filter.host !== undefined ||
  filter.error !== undefined ||
  filter.reason !== undefined ||
  (filter.minLateness !== undefined && state !== "pending")

const detailsMatch = (row: RowDetails, filter: ListFilter, state: ListedState): boolean => {
  const { host, error, reason, minLateness } = filter
  if (reason !== undefined && row.reason !== reason) return false
  if (minLateness !== undefined && state !== "pending" && (row.latenessMs ?? -1) < minLateness.ms)
    return false
  if (error !== undefined && (row.lastAttempt === undefined || errorClassOf(row.lastAttempt) !== error))
    return false
  return host === undefined || (row.target !== undefined && isOnHost(row.target, host))
}

/** Whether the scan finds only matches. */
export const isExact = (filter: ListFilter, state: ListedState, { order }: Scan): boolean => {
  if (needsDetails(filter, state)) return false
  if (order === "word") return filter.correlationId === undefined || filter.tag === undefined
  if (filter.correlationId !== undefined || filter.tag !== undefined) return false
  if (!isById(filter)) return true
  const { inclusiveFromMs, exclusiveUntilMs } = timesOf(filter, state)
  return state === "pending" && inclusiveFromMs === undefined && exclusiveUntilMs === undefined
}

/** Converts a row that was read in full to the form that a scan returns. */
export const matchedRow = (listed: Listed): MatchedRow => {
  const isPending = listed.state === "pending"
  const row = isPending ? listed.timer : listed.life
  const { correlationId, tags, spec, attemptLog } = row
  const lastAttempt = attemptLog?.at(-1)
  const { reason, latenessMs } = isPending ? {} : listed.life
  return {
    state: listed.state,
    atMs: isPending ? listed.timer.fireAt : listed.life.finishedAt,
    correlationId,
    ...(tags === undefined ? {} : { tags }),
    details: {
      target: spec.target,
      ...(lastAttempt === undefined ? {} : { lastAttempt }),
      ...(reason === undefined ? {} : { reason }),
      ...(latenessMs === undefined ? {} : { latenessMs }),
    },
  }
}
