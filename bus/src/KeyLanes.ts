// Decides which waiting message is next: one at a time for each key, in the order of arrival, and the keys in turn. A
// waiting message costs a place in an array, not a fibre.
//
// A lane is ready when a message waits in it and none of its messages is being handled. Ready lanes take turns. So a
// key with many messages delays each other key by one message only.

interface Lane<Item> {
  readonly key: string
  readonly waiting: Array<Item>
  isBusy: boolean
}

export class KeyLanes<Item> {
  readonly #lanes = new Map<string, Lane<Item>>()
  /** In the order of their turns. */
  readonly #ready = new Set<Lane<Item>>()

  /** The number of keys that have messages waiting or being handled. */
  get size(): number {
    return this.#lanes.size
  }

  push(key: string, item: Item): void {
    let lane = this.#lanes.get(key)
    if (lane === undefined) {
      lane = { key, waiting: [], isBusy: false }
      this.#lanes.set(key, lane)
    }
    lane.waiting.push(item)
    if (!lane.isBusy) this.#ready.add(lane)
  }

  /** Returns the first item of the lane whose turn it is. The lane then pauses until `finish` or `putBack`. */
  next(): Item | undefined {
    const [lane] = this.#ready
    if (lane === undefined) return undefined
    this.#ready.delete(lane)
    lane.isBusy = true
    return lane.waiting.shift()
  }

  /** The item that was being handled for the key is done. */
  finish(key: string): void {
    const lane = this.#lanes.get(key)
    if (lane === undefined) return
    lane.isBusy = false
    if (lane.waiting.length > 0) this.#ready.add(lane)
    else this.#lanes.delete(key)
  }

  /** The item that was being handled for the key becomes the first in its lane again. */
  putBack(key: string, item: Item): void {
    this.#lanes.get(key)?.waiting.unshift(item)
    this.finish(key)
  }

  /** Takes out all items that wait for the key, in their order. The item that is being handled stays. */
  takeWaiting(key: string): ReadonlyArray<Item> {
    return this.#lanes.get(key)?.waiting.splice(0) ?? []
  }

  /** Takes out one waiting item. */
  remove(key: string, item: Item): void {
    const lane = this.#lanes.get(key)
    const at = lane?.waiting.indexOf(item) ?? -1
    if (lane === undefined || at < 0) return
    lane.waiting.splice(at, 1)
    if (lane.waiting.length > 0 || lane.isBusy) return
    this.#ready.delete(lane)
    this.#lanes.delete(key)
  }

  /** Whether an item of the key is being handled. */
  isBusy(key: string): boolean {
    return this.#lanes.get(key)?.isBusy === true
  }
}
