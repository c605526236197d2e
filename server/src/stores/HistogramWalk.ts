// Counts rows by time in steps, like a list. The rows come in the order of their times, so that a walk that stops at its
// limit has complete counts up to an instant.
import { bucketOf } from "../domain/bucketOf.ts"
import type { Scan, ScannedHead } from "../ports/ShardStorage.ts"
import type { CountedBuckets, HistogramQuery } from "../ports/TimerStore.ts"
import { LaneMerge } from "./LaneMerge.ts"
import { lanesOf } from "./ListLane.ts"
import { isById, mostRowsCounted, mostRowsExamined } from "./ListOrder.ts"
import { sliceRowsOf } from "./ListWalk.ts"
import { isUnindexed, rowMatches } from "./rowMatches.ts"

/** How many rows of each lane are read at first. Many lanes have few rows, and a lane doubles this each time. */
const firstRows = 50

type HistogramStep =
  | { readonly kind: "scan"; readonly scans: ReadonlyArray<Scan> }
  | { readonly kind: "done" }

export class HistogramWalk {
  readonly #query: HistogramQuery
  readonly #merge: LaneMerge
  readonly #counts: Array<number>
  readonly #sliceRows: number
  readonly #mostExamined: number
  #examined = 0
  #stoppedAtMs: number | undefined

  constructor(query: HistogramQuery) {
    this.#query = query
    this.#merge = new LaneMerge(lanesOf(query, { isDescending: false, rows: firstRows }), false)
    this.#counts = new Array<number>(query.buckets).fill(0)
    this.#sliceRows = sliceRowsOf(query)
    this.#mostExamined = isUnindexed(query) ? mostRowsExamined : mostRowsCounted
  }

  step(): HistogramStep {
    if (this.#stoppedAtMs !== undefined || !this.#merge.mustScan) return { kind: "done" }
    return { kind: "scan", scans: this.#merge.scans(this.#sliceRows, this.#sliceRows) }
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
    const { inclusiveFromMs: from, exclusiveUntilMs: until, buckets } = this.#query
    const bucket = bucketOf(atMs, { from, until, buckets })
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
  }
}
