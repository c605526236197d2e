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
    this.#place(item, this.#items.length)
    this.#siftUp(item.heapIndex)
  }

  pop(): Item | undefined {
    const first = this.#items[0]
    if (first !== undefined) this.remove(first)
    return first
  }

  /** Does nothing if this heap does not hold the item. */
  remove(item: Item): boolean {
    const index = item.heapIndex
    if (this.#items[index] !== item) return false
    const last = this.#items.pop()
    item.heapIndex = -1
    if (last !== undefined && last !== item) {
      this.#place(last, index)
      this.#siftDown(index)
      this.#siftUp(last.heapIndex)
    }
    return true
  }

  /** The items in no particular order. */
  values(): IterableIterator<Item> {
    return this.#items.values()
  }

  #place(item: Item, index: number): void {
    this.#items[index] = item
    item.heapIndex = index
  }

  #siftUp(start: number): void {
    let index = start
    const item = this.#items[index]
    if (item === undefined) return
    while (index > 0) {
      const parentIndex = (index - 1) >> 1
      const parent = this.#items[parentIndex]
      if (parent === undefined || !precedes(item, parent)) break
      this.#place(parent, index)
      index = parentIndex
    }
    this.#place(item, index)
  }

  #siftDown(start: number): void {
    let index = start
    const item = this.#items[index]
    if (item === undefined) return
    for (;;) {
      let childIndex = 2 * index + 1
      let child = this.#items[childIndex]
      if (child === undefined) break
      const right = this.#items[childIndex + 1]
      if (right !== undefined && precedes(right, child)) {
        child = right
        childIndex++
      }
      if (!precedes(child, item)) break
      this.#place(child, index)
      index = childIndex
    }
    this.#place(item, index)
  }
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
