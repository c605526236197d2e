// Items that wait in groups. The groups take turns, so that a group with many items does not delay the others. Within a
// group, the items keep their order.

export class FairQueue<Item> {
  /** The first group has the next turn. No group is empty. */
  readonly #groups = new Map<string, Set<Item>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  sizeOf(group: string): number {
    return this.#groups.get(group)?.size ?? 0
  }

  /** If the item waits already, it keeps its place. */
  add(group: string, item: Item): void {
    const items = this.#groups.get(group)
    if (items?.has(item) === true) return
    if (items === undefined) this.#groups.set(group, new Set([item]))
    else items.add(item)
    this.#size++
  }

  /** Returns whether the item waited. */
  delete(group: string, item: Item): boolean {
    const items = this.#groups.get(group)
    if (items?.delete(item) !== true) return false
    this.#size--
    if (items.size === 0) this.#groups.delete(group)
    return true
  }

  /** Takes the next item out. Its group has its next turn after all other groups. */
  take(): Item | undefined {
    for (const [group, items] of this.#groups) {
      for (const item of items) {
        this.delete(group, item)
        if (items.size > 0) {
          this.#groups.delete(group)
          this.#groups.set(group, items)
        }
        return item
      }
    }
    return undefined
  }

  /** Takes out the last item of the group with the most items, if these are more than `count`. */
  takeFromLargest(count: number): Item | undefined {
    let [most, largest] = [count, ""]
    for (const [group, { size }] of this.#groups) if (size > most) [most, largest] = [size, group]
    if (most === count) return undefined
    const item = [...(this.#groups.get(largest) ?? [])].at(-1)
    if (item !== undefined) this.delete(largest, item)
    return item
  }
}
