// Counts rows by time in steps, like a list. If the scans find only matches, and not too many, the storage counts them.
// Otherwise the rows are scanned and filtered here. They come in the order of their times, so that a walk that stops at
// its limit has complete counts up to an instant.
import { type Buckets, bucketOf } from "../domain/bucketOf.ts"
import type { Scan, ScannedHead } from "../ports/ShardStorage.ts"
import type { CountedBuckets, HistogramQuery } from "../ports/TimerStore.ts"
import { LaneMerge } from "./LaneMerge.ts"
import { canBeUnindexed, type ListLane, lanesOf } from "./ListLane.ts"
import { isById, mostRowsCounted, mostRowsExamined } from "./ListOrder.ts"
import { sliceRowsOf } from "./ListWalk.ts"
import { isUnindexed, rowMatches } from "./rowMatches.ts"

/** How many rows of each lane are read at first. Many lanes have few rows, and a lane doubles this each time. */
const firstRows = 50

/** How many rows a storage counts at once. It takes about 20 ms. */
export const mostCountedAtOnce = 50_000

type HistogramStep =
  | {
      readonly kind: "count"
      readonly scans: ReadonlyArray<Scan>
      readonly buckets: Buckets
      readonly limit: number
    }
  | { readonly kind: "scan"; readonly scans: ReadonlyArray<Scan> }
  | { readonly kind: "done" }

export class HistogramWalk {
  readonly #query: HistogramQuery
  readonly #merge: LaneMerge
  #counts: Array<number>
  readonly #sliceRows: number
  readonly #mostExamined: number
  /** The scans of the lanes, if the storage may count their rows. */
  #countable: ReadonlyArray<Scan> | undefined
  #examined = 0
  #stoppedAtMs: number | undefined
  #isCounted = false

  constructor(query: HistogramQuery, canCount: boolean) {
    this.#query = query
    const lanes = lanesOf(query, { isDescending: false, rows: firstRows })
    this.#countable = canCount && isCountable(query, lanes) ? lanes.map(({ whole }) => whole) : undefined
    this.#merge = new LaneMerge(lanes, false)
    this.#counts = new Array<number>(query.buckets).fill(0)
    this.#sliceRows = sliceRowsOf(query)
    this.#mostExamined = isUnindexed(query) ? mostRowsExamined : mostRowsCounted
  }

  step(): HistogramStep {
    if (this.#isCounted || this.#stoppedAtMs !== undefined || !this.#merge.mustScan) return { kind: "done" }
    if (this.#countable !== undefined) {
      const scans = this.#countable.map((scan) => ({ ...scan, limit: mostCountedAtOnce + 1 }))
      return { kind: "count", scans, buckets: bucketsOf(this.#query), limit: mostCountedAtOnce }
    }
    return { kind: "scan", scans: this.#merge.scans(this.#sliceRows, this.#sliceRows) }
  }

  /** `undefined` if there are too many rows to count them at once. */
  counted(counts: ReadonlyArray<number> | undefined): void {
    this.#countable = undefined
    if (counts === undefined) return
    this.#counts = [...counts]
    this.#examined = counts.reduce((sum, count) => sum + count, 0)
    this.#isCounted = true
  }

  scanned(pages: ReadonlyArray<ReadonlyArray<ScannedHead>>, asked: ReadonlyArray<Scan>): void {
    this.#merge.scanned(pages, asked)
    for (let next = this.#merge.next; next !== undefined; next = this.#merge.next) {
      const { head, lane } = next
      if (this.#examined === this.#mostExamined) {
        this.#stoppedAtMs = head.atMs
        return
      }
      this.#examined++
      // A scan by id may also find lives of other states. Those belong to other lanes.
      if (head.state === lane.state && rowMatches(head, this.#query)) this.#count(head.atMs)
      this.#merge.advance()
    }
  }

  get result(): CountedBuckets {
    const counted = { counts: this.#counts, examined: this.#examined }
    if (this.#stoppedAtMs === undefined) return { ...counted, capped: false }
    // Rows that come by id are not in the order of their times.
    return isById(this.#query)
      ? { ...counted, capped: true }
      : { ...counted, capped: true, exclusiveCountedUntilMs: this.#stoppedAtMs }
  }

  #count(atMs: number): void {
    const bucket = bucketOf(atMs, bucketsOf(this.#query))
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
  }
}

const bucketsOf = ({ inclusiveFromMs: from, exclusiveUntilMs: until, buckets }: HistogramQuery): Buckets => ({
  from,
  until,
  buckets,
})

/** Whether the scans find only matches, by time. */
const isCountable = (query: HistogramQuery, lanes: ReadonlyArray<ListLane>): boolean =>
  !isById(query) && !canBeUnindexed(query) && lanes.every(({ isExact }) => isExact)
