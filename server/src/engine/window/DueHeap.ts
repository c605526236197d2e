// A binary heap in due order whose items know their index. So a cancelled or moved timer is removed in logarithmic
// time, and no dead items stay behind.
import { type Cursor, isBefore } from "../../domain/DueOrder.ts"

export interface HeapItem extends Cursor {
  /** The start of the fireId as two numbers. They order nearly all timers that are due in the same millisecond. */
  readonly rank: number
  readonly subrank: number
  /** The index in the one heap that holds the item; -1 outside. Only a heap writes it. */
  heapIndex: number
}

export class DueHeap<Item extends HeapItem> {
  readonly #items: Array<Item> = []

  get size(): number {
    return this.#items.length
  }

  peek(): Item | undefined {
    return this.#items[0]
  }

  push(item: Item): void {
    siftUp(this.#items, item, this.#items.length)
  }

  pop(): Item | undefined {
    const items = this.#items
    const first = items[0]
    if (first === undefined) return undefined
    const last = items.pop()
    first.heapIndex = -1
    if (last !== undefined && last !== first) siftDown(items, last, 0)
    return first
  }

  /** Does nothing if this heap does not hold the item. */
  remove(item: Item): boolean {
    const items = this.#items
    const index = item.heapIndex
    if (items[index] !== item) return false
    const last = items.pop()
    item.heapIndex = -1
    if (last !== undefined && last !== item) {
      siftDown(items, last, index)
      if (last.heapIndex === index) siftUp(items, last, index)
    }
    return true
  }

  /** The items in no particular order. */
  values(): IterableIterator<Item> {
    return this.#items.values()
  }
}

// These are functions and not private methods: in the runtime a loop that calls private methods is several times slower.

/** Puts the item at this index, or above it. */
const siftUp = <Item extends HeapItem>(items: Array<Item>, item: Item, start: number): void => {
  let index = start
  while (index > 0) {
    const parentIndex = (index - 1) >> 1
    const parent = items[parentIndex]
    if (parent === undefined || !precedes(item, parent)) break
    items[index] = parent
    parent.heapIndex = index
    index = parentIndex
  }
  items[index] = item
  item.heapIndex = index
}

/** Puts the item at this index, or below it. */
const siftDown = <Item extends HeapItem>(items: Array<Item>, item: Item, start: number): void => {
  const { length } = items
  let index = start
  for (;;) {
    let childIndex = 2 * index + 1
    let child = childIndex < length ? items[childIndex] : undefined
    if (child === undefined) break
    const right = childIndex + 1 < length ? items[childIndex + 1] : undefined
    if (right !== undefined && precedes(right, child)) {
      child = right
      childIndex++
    }
    if (!precedes(child, item)) break
    items[index] = child
    child.heapIndex = index
    index = childIndex
  }
  items[index] = item
  item.heapIndex = index
}

/** Compares in due order, by numbers as far as possible: in a burst, comparing strings would dominate the cost. */
const precedes = (a: HeapItem, b: HeapItem): boolean => {
  if (a.fireAt !== b.fireAt) return a.fireAt < b.fireAt
  if (a.rank !== b.rank) return a.rank < b.rank
  return a.subrank !== b.subrank ? a.subrank < b.subrank : isBefore(a, b)
}

/** The millisecond in which the id was made: 48 bits, which a number holds exactly. */
export const rankOf = (fireId: string): number =>
  Number.parseInt(fireId.slice(0, 8) + fireId.slice(9, 13), 16)

/** The next 32 bits. In ids of this service they count the ids made earlier in the same millisecond. */
export const subrankOf = (fireId: string): number =>
  Number.parseInt(fireId.slice(14, 18) + fireId.slice(19, 23), 16)
