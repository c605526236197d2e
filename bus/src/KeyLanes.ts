// Who is next among messages that wait: one at a time for each key, in the order they came, and the keys in
// turn. Waiting costs a place in an array, not a fibre.
//
// A lane is ready when something waits in it and nothing of it is at work. Ready lanes take turns, so that a
// key with many messages delays the others by one each.

interface Lane<Item> {
  readonly key: string
  readonly waiting: Array<Item>
  isBusy: boolean
}

export class KeyLanes<Item> {
  readonly #lanes = new Map<string, Lane<Item>>()
  /** In turn. */
  readonly #ready = new Set<Lane<Item>>()

  /** Keys with something to do. */
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

  /** The first item of the lane whose turn it is. Nothing more comes of that lane until `finish` or `putBack`. */
  next(): Item | undefined {
    const [lane] = this.#ready
    if (lane === undefined) return undefined
    this.#ready.delete(lane)
    lane.isBusy = true
    return lane.waiting.shift()
  }

  /** What was at work for the key is done with. */
  finish(key: string): void {
    const lane = this.#lanes.get(key)
    if (lane === undefined) return
    lane.isBusy = false
    if (lane.waiting.length > 0) this.#ready.add(lane)
    else this.#lanes.delete(key)
  }

  /** What was at work for the key is to be first in its lane again. */
  putBack(key: string, item: Item): void {
    this.#lanes.get(key)?.waiting.unshift(item)
    this.finish(key)
  }

  /** Whether something of the key is at work. */
  isBusy(key: string): boolean {
    return this.#lanes.get(key)?.isBusy === true
  }
}
