// Counts rows in steps, like a list. If the scans find only matches, the storage counts them. Otherwise the rows are
// scanned in slices and filtered here.
import type { Scan, ScannedHead } from "../ports/ShardStorage.ts"
import type { Counted, CountQuery } from "../ports/TimerStore.ts"
import { canBeUnindexed, type ListLane, lanesOf, takeLanes } from "./ListLane.ts"
import { mostRowsCounted, mostRowsExamined, namesOf, statesOf } from "./ListOrder.ts"
import { sliceRowsOf } from "./ListWalk.ts"
import { isUnindexed, rowMatches } from "./rowMatches.ts"

/** How many rows of each lane are read at first if there are several lanes. Many lanes have few rows. */
const firstRows = 20

type CountStep =
  /** The storage may count by itself. Otherwise the rows are scanned. */
  | { readonly kind: "count"; readonly scans: ReadonlyArray<Scan>; readonly limit: number }
  | { readonly kind: "scan"; readonly scans: ReadonlyArray<Scan> }
  | { readonly kind: "done" }

export class CountWalk {
  readonly #query: CountQuery
  readonly #canCount: boolean
  readonly #sliceRows: number
  readonly #lanes: ReadonlyArray<ListLane>
  /** Lanes that are not counted yet, or only in part. */
  #waiting: Array<ListLane>
  #asked: ReadonlyArray<ListLane> = []
  #isExact: boolean
  #count = 0
  #examined = 0
  #isCapped = false

  constructor(query: CountQuery, canCount: boolean) {
    this.#query = query
    // If the index of words has nothing, the rows must be scanned.
    this.#canCount = canCount && !canBeUnindexed(query)
    this.#sliceRows = sliceRowsOf(query)
    this.#lanes = this.#lanesToCount()
    this.#isExact = this.#lanes.every(({ isExact }) => isExact)
    this.#waiting = [...this.#lanes]
  }

  step(): CountStep {
    if (this.#waiting.length === 0) return { kind: "done" }
    if (this.#canCount && this.#isExact) {
      const scans = this.#waiting.map(({ whole }) => ({ ...whole, limit: this.#query.limit + 1 }))
      return { kind: "count", scans, limit: this.#query.limit + 1 }
    }
    this.#asked = takeLanes(this.#waiting, this.#sliceRows)
    const most = Math.min(this.#mostExamined - this.#examined + 1, this.#sliceRows)
    return { kind: "scan", scans: this.#asked.map((lane) => lane.scan(most)) }
  }

  counted(rows: number): void {
    this.#waiting = []
    this.#count = rows
    this.#examined = rows
    this.#isCapped = rows > this.#query.limit
  }

  scanned(pages: ReadonlyArray<ReadonlyArray<ScannedHead>>, asked: ReadonlyArray<Scan>): void {
    const unfinished: Array<ListLane> = []
    for (const [index, lane] of this.#asked.entries()) {
      const [scan, heads = []] = [asked[index], pages[index]]
      if (scan === undefined) throw new Error("a lane was filled without a scan")
      lane.filled(heads, scan)
      this.#countIn(lane, heads)
      if (!lane.isAtEnd) unfinished.push(lane)
    }
    this.#waiting.unshift(...unfinished)
    if (this.#isCapped) this.#waiting = []
    if (this.#waiting.length > 0 || this.#examined > 0) return
    this.#waiting = this.#lanes.filter((lane) => lane.leaveIndex())
    if (this.#waiting.length > 0) this.#isExact = false
  }

  get result(): Counted {
    const count = Math.min(this.#count, this.#query.limit)
    const examined = isUnindexed(this.#query) ? { examined: this.#examined } : {}
    return { count, capped: this.#isCapped, ...examined }
  }

  #countIn({ state }: ListLane, heads: ReadonlyArray<ScannedHead>): void {
    for (const head of heads) {
      if (this.#examined === this.#mostExamined) {
        this.#isCapped = true
        return
      }
      this.#examined++
      if (head.state === state && rowMatches(head, this.#query)) this.#count++
      if (this.#count > this.#query.limit) this.#isCapped = true
    }
  }

  #lanesToCount(): ReadonlyArray<ListLane> {
    const isOne = namesOf(this.#query).length * statesOf(this.#query).length === 1
    const rows = isOne ? this.#sliceRows : firstRows
    return lanesOf(this.#query, { isDescending: false, rows })
  }

  get #mostExamined(): number {
    const { limit } = this.#query
    if (this.#isExact) return limit + 1
    return isUnindexed(this.#query) ? mostRowsExamined : Math.max(limit, mostRowsCounted)
  }
}
