// The coming events of a simulated world, ordered by true time. Events of the same instant keep the order in which they
// were added.
export interface SimEvent {
  readonly atUs: number
  readonly order: number
  run: (() => void) | undefined
}

export class EventQueue {
  readonly #heap: Array<SimEvent> = []
  #added = 0

  get nextAtUs(): number | undefined {
    return this.#heap[0]?.atUs
  }

  add(atUs: number, run: () => void): SimEvent {
    const event: SimEvent = { atUs, order: this.#added++, run }
    this.#heap.push(event)
    this.#raise(this.#heap.length - 1)
    return event
  }

  /** The next event, if there is one. The queue also returns cancelled events; the world skips them. */
  take(): SimEvent | undefined {
    const first = this.#heap[0]
    const last = this.#heap.pop()
    if (first === undefined || last === undefined || first === last) return first
    this.#heap[0] = last
    this.#lower(0)
    return first
  }

  #raise(index: number): void {
    for (let child = index; child > 0; ) {
      const parent = (child - 1) >> 1
      if (!this.#isSwapped(child, parent)) return
      child = parent
    }
  }

  #lower(index: number): void {
    for (let parent = index; ; ) {
      const left = 2 * parent + 1
      const right = left + 1
      const smaller = right < this.#heap.length && this.#isBefore(right, left) ? right : left
      if (smaller >= this.#heap.length || !this.#isSwapped(smaller, parent)) return
      parent = smaller
    }
  }

  /** Swaps the child with its parent if the child comes first. */
  #isSwapped(child: number, parent: number): boolean {
    if (!this.#isBefore(child, parent)) return false
    const [a, b] = [this.#heap[child], this.#heap[parent]]
    if (a === undefined || b === undefined) return false
    this.#heap[child] = b
    this.#heap[parent] = a
    return true
  }

  #isBefore(index: number, other: number): boolean {
    const [a, b] = [this.#heap[index], this.#heap[other]]
    if (a === undefined || b === undefined) return false
    return a.atUs < b.atUs || (a.atUs === b.atUs && a.order < b.order)
  }
}
