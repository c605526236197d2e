// Merges ranges of several partitions into one order. Each range is read in small pages, because most callers need few
// items of each. A page can be empty although more items follow, so a range is read on until it has one or ends.
import type { DynamoItem, TaggedItem } from "./DynamoItem.ts"
import type { DynamoTables, RangeQuery } from "./DynamoTables.ts"
import { forAll } from "./forAll.ts"

export interface RangeLane {
  readonly query: RangeQuery
  /** The attribute by which its items are sorted. */
  readonly sortKey: string
}

export interface MergeTerms {
  /** How many items a page has. */
  readonly rows: number
  readonly isDescending: boolean
  /** Leaves out an item by its sort key. */
  isLeftOut(sortKey: string): boolean
  /** Compares sort keys by their bytes. */
  compare(a: string, b: string): number
}

export async function* mergedRanges(
  tables: DynamoTables,
  lanes: ReadonlyArray<RangeLane>,
  terms: MergeTerms,
): AsyncGenerator<DynamoItem> {
  const readers = lanes.map((lane) => new LaneReader(lane))
  for (;;) {
    const empty = readers.filter(({ needsMore }) => needsMore)
    if (empty.length > 0) await forAll(empty, (reader) => reader.fill(tables, terms))
    let best: LaneReader | undefined
    for (const reader of readers) {
      if (reader.sortKey === undefined) continue
      const order = best?.sortKey === undefined ? -1 : terms.compare(reader.sortKey, best.sortKey)
      if (best === undefined || (terms.isDescending ? order > 0 : order < 0)) best = reader
    }
    const item = best?.take()
    if (item === undefined) return
    yield item
  }
}

class LaneReader {
  readonly #lane: RangeLane
  #items: ReadonlyArray<DynamoItem> = []
  #place = 0
  #next: TaggedItem | undefined
  #isBegun = false

  constructor(lane: RangeLane) {
    this.#lane = lane
  }

  get needsMore(): boolean {
    return this.#place >= this.#items.length && (!this.#isBegun || this.#next !== undefined)
  }

  get sortKey(): string | undefined {
    const item = this.#items[this.#place]
    return item === undefined ? undefined : String(item[this.#lane.sortKey])
  }

  take(): DynamoItem | undefined {
    return this.#items[this.#place++]
  }

  async fill(tables: DynamoTables, { rows, isLeftOut }: MergeTerms): Promise<void> {
    while (this.needsMore) {
      const { items, next } = await tables.page(this.#lane.query, rows, this.#next)
      this.#isBegun = true
      this.#next = next
      this.#place = 0
      this.#items = items.filter((item) => !isLeftOut(String(item[this.#lane.sortKey])))
    }
  }
}
