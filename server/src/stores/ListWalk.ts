// Lists and counts as scans along one order of a storage, in bounded slices. `scan` returns the heads of rows in order,
// filters are applied here, and whole rows are read only for matches. The code is plain and synchronous, like
// Deciding.ts: the SQLite store runs it inside its reader thread, and other stores through Effect. Other work runs
// between the steps, so two steps can see different instants.
import type { Known } from "../domain/Decision.ts"
import type { Look, Scan, ScannedHead } from "../ports/ShardStorage.ts"
import type { Listed, ListFilter, ListQuery } from "../ports/TimerStore.ts"
import { LaneHeap } from "./LaneHeap.ts"
import { type ListLane, lanesOf, takeLanes, type WalkPlace } from "./ListLane.ts"
import { isDescending, mostRowsExamined, namesOf, statesOf } from "./ListOrder.ts"
import { isUnindexed, matchedRow, rowMatches } from "./rowMatches.ts"

/** How many heads are read at once if not every row matches. Few enough to filter quickly. */
const sliceRows = 1_000
/** The same with details, which take longer to read and to decode. */
const detailedRows = 250

export const sliceRowsOf = (query: ListFilter): number => (isUnindexed(query) ? detailedRows : sliceRows)

/**
 * A page with payloads ends when its payloads and the answers of receivers have this many bytes. A page of a thousand
 * large payloads would hold the engine's thread while it is copied and written as JSON.
 */
const pageBytesMax = 4 * 1024 * 1024
/** How many rows with payloads are read at once. */
const payloadRows = 64

type ListStep =
  | { readonly kind: "scan"; readonly scans: ReadonlyArray<Scan> }
  | { readonly kind: "look"; readonly looks: ReadonlyArray<Look> }
  | { readonly kind: "done" }

/** One page of a list. */
export class ListWalk {
  readonly #query: ListQuery
  readonly #sliceRows: number
  /** Lanes that must be filled before they have a row. */
  #empty: Array<ListLane>
  #asked: ReadonlyArray<ListLane> = []
  readonly #merge: LaneHeap
  readonly #matched: Array<MatchedHead> = []
  /** How many of the matched rows have been read, and the bytes that the page has so far. */
  #lookedRows = 0
  #pageBytes = 0
  #examined = 0
  #last: WalkPlace | undefined
  #isExact = false
  #isScanned = false
  #hasMore = false
  readonly #items: Array<Listed> = []

  constructor(query: ListQuery, from: WalkPlace | undefined) {
    this.#query = query
    this.#last = from
    this.#sliceRows = sliceRowsOf(query)
    this.#merge = new LaneHeap(isDescending(query))
    this.#empty = this.#lanes()
  }

  step(): ListStep {
    if (!this.#isScanned && this.#empty.length > 0) {
      this.#asked = takeLanes(this.#empty, this.#sliceRows)
      // One row more than a page holds shows whether there is another page.
      const most = Math.min(this.#mostRows - this.#examined + 1, this.#fillRows)
      return { kind: "scan", scans: this.#asked.map((lane) => lane.scan(most)) }
    }
    const rows = this.#query.includePayload ? payloadRows : this.#matched.length
    const unread = this.#matched.slice(this.#lookedRows, this.#lookedRows + rows)
    if (unread.length === 0) return { kind: "done" }
    return { kind: "look", looks: unread.map(({ head }) => this.#lookOf(head)) }
  }

  scanned(pages: ReadonlyArray<ReadonlyArray<ScannedHead>>, asked: ReadonlyArray<Scan>): void {
    for (const [index, lane] of this.#asked.entries()) {
      const scan = asked[index]
      if (scan === undefined) throw new Error("a lane was filled without a scan")
      lane.filled(pages[index] ?? [], scan)
      if (lane.head !== undefined) this.#merge.add(lane)
      else if (!lane.isAtEnd) this.#empty.push(lane)
      if (!lane.isExact) this.#isExact = false
    }
    if (this.#empty.length === 0) this.#mergeRows()
  }

  /** A row that has changed since the scan is shown in its current state, if it still matches. */
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
      if (this.#query.includePayload) this.#pageBytes += shownBytes(item)
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
    for (let lane = this.#merge.top; lane !== undefined; lane = this.#merge.top) {
      const { head, namespace, state } = lane
      if (head === undefined) throw new Error("a lane without a row is merged")
      if (this.#matched.length === this.#query.limit || this.#examined === this.#mostRows) {
        this.#hasMore = true
        break
      }
      this.#examined++
      const place = { namespace, state, place: head.place }
      this.#last = place
      // A scan by id may also find lives of other states. Those belong to other lanes.
      if (head.state === state && rowMatches(head, this.#query)) this.#matched.push({ head, place })
      lane.advance()
      this.#merge.settleTop()
      if (lane.head === undefined && !lane.isAtEnd) {
        this.#empty.push(lane)
        return
      }
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
    this.#isExact = made.every(({ isExact }) => isExact)
    if (this.#isExact || lanes === 1) return made
    // If matches are rare, the walk examines many more rows than a page holds.
    const share = Math.ceil(mostRowsExamined / lanes) + 1
    for (const lane of made) lane.rows = Math.min(this.#sliceRows, Math.max(rows, share))
    return made
  }

  /** If there is nothing left to filter, every row is listed. */
  get #mostRows(): number {
    return this.#isExact ? this.#query.limit : mostRowsExamined
  }

  get #fillRows(): number {
    return this.#isExact ? this.#query.limit + 1 : this.#sliceRows
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

/** The bytes of the parts of a row that can be large. */
const shownBytes = (item: Listed): number => {
  const { payload, attemptLog = [] } = item.state === "pending" ? item.timer : item.life
  return attemptLog.reduce((bytes, { answer = "" }) => bytes + answer.length, payload?.byteLength ?? 0)
}
