// How much happened in a span of time: counts by namespace, and how late attempts were. Records are stored as JSON in
// columns, because a day has many of them. Counts of namespaces that have no row of their own are in the row `_other`.
import type { TimerEventType } from "./TimerEvent.ts"

/** What is counted, in the order of the columns. */
export const activityTypes = [
  "created",
  "delivered",
  "retried",
  "dead",
  "cancelled",
] as const satisfies ReadonlyArray<TimerEventType>

/** An attempt belongs to the first bucket that it does not exceed. The last bucket has no bound. */
export const latenessBoundsMs = [10, 50, 100, 500, 1_000, 5_000, 30_000, 300_000]
export const latenessBuckets = latenessBoundsMs.length + 1

/** No namespace can have this name. */
export const otherName = "_other"

/** Rows by name: one array of counts for each name. */
export interface ActivityRows {
  readonly names: ReadonlyArray<string>
  readonly counts: ReadonlyArray<ReadonlyArray<number>>
}

export interface ActivityRecord {
  /** When the span begins. */
  readonly atMs: number
  /** One count for each of `activityTypes`. */
  readonly namespaces: ActivityRows
  /** Of all namespaces, by bucket. */
  readonly lateness: ReadonlyArray<number>
  /** The lateness of the busiest namespaces and hosts. Absent if there was no attempt. */
  readonly late?: {
    readonly namespaces: ActivityRows
    readonly hosts: ActivityRows
  }
}

export const latenessBucketOf = (latenessMs: number): number => {
  let bucket = 0
  while (bucket < latenessBoundsMs.length && latenessMs > (latenessBoundsMs[bucket] ?? 0)) bucket++
  return bucket
}

/** Adds the counts to those in `sums`, place by place. */
export const addCounts = (sums: Array<number>, counts: ReadonlyArray<number>): void => {
  for (const [place, count] of counts.entries()) sums[place] = (sums[place] ?? 0) + count
}

/** The record in a value that was read; `undefined` if there is none. */
export const activityRecordOf = (value: unknown): ActivityRecord | undefined => {
  if (!isObject(value)) return undefined
  const { atMs, namespaces, lateness, late } = value
  if (!isCount(atMs) || !isRows(namespaces, activityTypes.length) || !isCounts(lateness, latenessBuckets)) {
    return undefined
  }
  const record = { atMs, namespaces, lateness }
  if (late === undefined) return record
  if (!isObject(late)) return undefined
  const { namespaces: lateNamespaces, hosts } = late
  return isRows(lateNamespaces, latenessBuckets) && isRows(hosts, latenessBuckets)
    ? { ...record, late: { namespaces: lateNamespaces, hosts } }
    : undefined
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

const isCounts = (value: unknown, length: number): value is ReadonlyArray<number> =>
  Array.isArray(value) && value.length === length && value.every(isCount)

const isRows = (value: unknown, columns: number): value is ActivityRows =>
  isObject(value) &&
  Array.isArray(value["names"]) &&
  Array.isArray(value["counts"]) &&
  value["names"].length === value["counts"].length &&
  value["names"].every((name) => typeof name === "string") &&
  value["counts"].every((counts) => isCounts(counts, columns))
