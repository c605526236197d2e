// The rows of several lanes in one order. The walk fills the lanes that have no next row, in bounded scans, and then
// takes rows until a lane must be filled again.
import type { Scan, ScannedHead } from "../ports/ShardStorage.ts"
import { LaneHeap } from "./LaneHeap.ts"
import { type ListLane, takeLanes } from "./ListLane.ts"

export class LaneMerge {
  /** Lanes that must be filled before they have a row. */
  readonly #empty: Array<ListLane>
  #asked: ReadonlyArray<ListLane> = []
  readonly #lanes: ReadonlyArray<ListLane>
  #hasFound = false
  readonly #heap: LaneHeap
  #isExact: boolean

  constructor(lanes: ReadonlyArray<ListLane>, isDescending: boolean) {
    this.#lanes = lanes
    this.#empty = [...lanes]
    this.#heap = new LaneHeap(isDescending)
    this.#isExact = lanes.every(({ isExact }) => isExact)
  }

  /** Whether a lane must be filled before the next row is known. */
  get mustScan(): boolean {
    return this.#empty.length > 0
  }

  /** Whether the scans find only matches. */
  get isExact(): boolean {
    return this.#isExact
  }

  /** Scans that fill lanes: about `sliceRows` rows together, and at most `mostRows` of each lane. */
  scans(sliceRows: number, mostRows: number): ReadonlyArray<Scan> {
    this.#asked = takeLanes(this.#empty, sliceRows)
    return this.#asked.map((lane) => lane.scan(mostRows))
  }

  scanned(pages: ReadonlyArray<ReadonlyArray<ScannedHead>>, asked: ReadonlyArray<Scan>): void {
    for (const [index, lane] of this.#asked.entries()) {
      const scan = asked[index]
      if (scan === undefined) throw new Error("a lane was filled without a scan")
      lane.filled(pages[index] ?? [], scan)
      if (lane.head !== undefined) {
        this.#hasFound = true
        this.#heap.add(lane)
      } else if (!lane.isAtEnd) this.#empty.push(lane)
    }
    if (this.mustScan || this.#hasFound) return
    // The index of words has nothing for the query, in no lane. If rows may be missing there, the lanes begin again.
    this.#empty.push(...this.#lanes.filter((lane) => lane.leaveIndex()))
    if (this.mustScan) this.#isExact = false
  }

  /** The lane with the next row, and this row. `undefined` after the last row, or if a lane must be filled first. */
  get next(): { readonly lane: ListLane; readonly head: ScannedHead } | undefined {
    const lane = this.mustScan ? undefined : this.#heap.top
    if (lane === undefined) return undefined
    const { head } = lane
    if (head === undefined) throw new Error("a lane without a row is merged")
    return { lane, head }
  }

  /** Goes on after the next row. */
  advance(): void {
    const lane = this.#heap.top
    if (lane === undefined) return
    lane.advance()
    this.#heap.settleTop()
    if (lane.head === undefined && !lane.isAtEnd) this.#empty.push(lane)
  }
}
