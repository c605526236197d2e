// A heap of lanes, sorted by their next rows. A merge over a thousand lanes takes only a few comparisons for each row.
import { compareHeads, type ListLane } from "./ListLane.ts"

export class LaneHeap {
  readonly #lanes: Array<ListLane> = []
  readonly #sign: 1 | -1

  constructor(isDescending: boolean) {
    this.#sign = isDescending ? -1 : 1
  }

  get top(): ListLane | undefined {
    return this.#lanes[0]
  }

  /** The lane must have a next row. */
  add(lane: ListLane): void {
    let at = this.#lanes.push(lane) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#isBefore(at, parent)) return
      this.#swap(at, parent)
      at = parent
    }
  }

  /** Must be called after the top lane has advanced to its next row, or has no more rows. */
  settleTop(): void {
    const last = this.#lanes.length - 1
    if (this.top?.head === undefined) {
      this.#swap(0, last)
      this.#lanes.pop()
    }
    for (let at = 0; ; ) {
      let first = at
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.#lanes.length && this.#isBefore(child, first)) first = child
      }
      if (first === at) return
      this.#swap(at, first)
      at = first
    }
  }

  #isBefore(a: number, b: number): boolean {
    const [left, right] = [this.#lanes[a], this.#lanes[b]]
    return left !== undefined && right !== undefined && this.#sign * compareHeads(left, right) < 0
  }

  #swap(a: number, b: number): void {
    const [left, right] = [this.#lanes[a], this.#lanes[b]]
    if (left === undefined || right === undefined) return
    this.#lanes[a] = right
    this.#lanes[b] = left
  }
}
