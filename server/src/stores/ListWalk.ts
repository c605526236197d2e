// Lists and counts as scans along one order of a storage, in bounded slices. `scan` returns the heads of rows in order,
// filters are applied here, and whole rows are read only for matches. The code is plain and synchronous, like
// Deciding.ts: the SQLite store runs it inside its reader thread, and other stores through Effect. Other work runs
// between the steps, so two steps can see different instants.
import { pageBytesMax } from "@punctual/api/Limits"
import type { Known } from "../domain/Decision.ts"
import type { Look, Scan, ScannedHead } from "../ports/ShardStorage.ts"
import type { Listed, ListFilter, ListQuery } from "../ports/TimerStore.ts"
import { LaneMerge } from "./LaneMerge.ts"
import { type ListLane, lanesOf, type WalkPlace } from "./ListLane.ts"
import { isDescending, mostRowsExamined, namesOf, statesOf } from "./ListOrder.ts"
import { listedBytes } from "./listedBytes.ts"
import { isUnindexed, matchedRow, rowMatches } from "./rowMatches.ts"

/** How many heads are read at once if not every row matches. Few enough to filter quickly. */
const sliceRows = 1_000
/** The same with details, which take longer to read and to decode. */
const detailedRows = 250

export const sliceRowsOf = (query: ListFilter): number => (isUnindexed(query) ? detailedRows : sliceRows)

/**
 * How many rows are read at once. Their size is not known before, so a page begins with a few, and their average size
 * says how many more may fit.
 */
const rowsAtOnce = { first: 16, max: 64 } as const

type ListStep =
  | { readonly kind: "scan"; readonly scans: ReadonlyArray<Scan> }
  | { readonly kind: "look"; readonly looks: ReadonlyArray<Look> }
  | { readonly kind: "done" }

/** One page of a list. */
export class ListWalk {
  readonly #query: ListQuery
  readonly #sliceRows: number
  readonly #merge: LaneMerge
  readonly #matched: Array<MatchedHead> = []
  /** How many of the matched rows have been read, and the bytes that the page has so far. */
  #lookedRows = 0
  #pageBytes = 0
  #examined = 0
  #last: WalkPlace | undefined
  #isScanned = false
  #hasMore = false
  readonly #items: Array<Listed> = []

  constructor(query: ListQuery, from: WalkPlace | undefined) {
    this.#query = query
    this.#last = from
    this.#sliceRows = sliceRowsOf(query)
    this.#merge = new LaneMerge(this.#lanes(), isDescending(query))
  }

  step(): ListStep {
    if (!this.#isScanned && this.#merge.mustScan) {
      // One row more than a page holds shows whether there is another page.
      const most = Math.min(this.#mostRows - this.#examined + 1, this.#fillRows)
      return { kind: "scan", scans: this.#merge.scans(this.#sliceRows, most) }
    }
    const unread = this.#matched.slice(this.#lookedRows, this.#lookedRows + this.#rowsToLookAt)
    if (unread.length === 0) return { kind: "done" }
    return { kind: "look", looks: unread.map(({ head }) => this.#lookOf(head)) }
  }

  scanned(pages: ReadonlyArray<ReadonlyArray<ScannedHead>>, asked: ReadonlyArray<Scan>): void {
    this.#merge.scanned(pages, asked)
    if (!this.#merge.mustScan) this.#mergeRows()
  }

  /**
   * A row that has changed since the scan is shown in its current state, if it still matches. The row that reaches the
   * limit of bytes is still part of the page, so every page with a match has a row.
   */
  looked(found: ReadonlyArray<Known>): void {
    for (const { pending, lives } of found) {
      if (this.#pageBytes >= pageBytesMax) break
      const state = this.#matched[this.#lookedRows++]?.head.state
      const life = lives?.[0]
      const item: Listed | undefined =
        state === "pending"
          ? pending && { state, timer: pending }
          : state !== undefined && life?.state === state
            ? { state, life }
            : undefined
      if (item === undefined || !rowMatches(matchedRow(item), this.#query)) continue
      this.#items.push(item)
      this.#pageBytes += listedBytes(item)
    }
    if (this.#pageBytes >= pageBytesMax) this.#endHere()
  }

  /** Ends the page after the row that was read last. */
  #endHere(): void {
    const last = this.#matched[this.#lookedRows - 1]
    if (last === undefined || this.#lookedRows === this.#matched.length) return
    this.#hasMore = true
    this.#last = last.place
    this.#matched.length = this.#lookedRows
  }

  get items(): ReadonlyArray<Listed> {
    return this.#items
  }

  get examined(): number {
    return this.#examined
  }

  /** Where the next page begins. `undefined` after the last one. */
  get next(): WalkPlace | undefined {
    return this.#hasMore ? this.#last : undefined
  }

  /** Takes rows in their order until the page is full or a lane must be filled. */
  #mergeRows(): void {
    for (let next = this.#merge.next; next !== undefined; next = this.#merge.next) {
      const { head } = next
      const { namespace, state } = next.lane
      if (this.#matched.length === this.#query.limit || this.#examined === this.#mostRows) {
        this.#hasMore = true
        break
      }
      this.#examined++
      const place = { namespace, state, place: head.place }
      this.#last = place
      // A scan by id may also find lives of other states. Those belong to other lanes.
      if (head.state === state && rowMatches(head, this.#query)) this.#matched.push({ head, place })
      this.#merge.advance()
      if (this.#merge.mustScan) return
    }
    this.#isScanned = true
  }

  #lanes(): Array<ListLane> {
    const query = this.#query
    const walk = { isDescending: isDescending(query), from: this.#last }
    const lanes = namesOf(query).length * statesOf(query).length
    // Twice a lane's share of a page. A lane that has more rows is asked for twice as many each time.
    const rows = lanes === 1 ? mostRowsExamined : Math.ceil((2 * query.limit) / Math.max(1, lanes)) + 1
    const made = lanesOf(query, { ...walk, rows })
    if (lanes === 1 || made.every(({ isExact }) => isExact)) return made
    // If matches are rare, the walk examines many more rows than a page holds.
    const share = Math.ceil(mostRowsExamined / lanes) + 1
    for (const lane of made) lane.rows = Math.min(this.#sliceRows, Math.max(rows, share))
    return made
  }

  /** If there is nothing left to filter, every row is listed. */
  get #mostRows(): number {
    return this.#merge.isExact ? this.#query.limit : mostRowsExamined
  }

  get #fillRows(): number {
    return this.#merge.isExact ? this.#query.limit + 1 : this.#sliceRows
  }

  get #rowsToLookAt(): number {
    if (this.#items.length === 0) return rowsAtOnce.first
    const averageBytes = this.#pageBytes / this.#items.length
    const fitting = Math.ceil((pageBytesMax - this.#pageBytes) / averageBytes)
    return Math.max(1, Math.min(fitting, rowsAtOnce.max))
  }

  #lookOf({ namespace, timerId, uuid, state, fireId, revision }: ScannedHead): Look {
    const lives = state === "pending" ? {} : { lives: [{ fireId, minRevision: revision }] }
    return { key: { namespace, timerId, uuid }, ...lives, withPayload: this.#query.includePayload }
  }
}

interface MatchedHead {
  readonly head: ScannedHead
  readonly place: WalkPlace
}
