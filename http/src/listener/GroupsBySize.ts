// Knows at any time which of many groups is the largest, while groups grow and shrink by one. It examines only the group
// that changes. A search through all groups takes tens of microseconds, and during a flood each new connection would
// need one.

export interface SizedGroup {
  readonly size: number
  /** Its place among the groups of the same size. Only `GroupsBySize` changes it. */
  slot: number
}

export class GroupsBySize<Group extends SizedGroup> {
  /** The groups with one item, with two, and so on. The last list is never empty. */
  readonly #bySize: Array<Array<Group>> = []

  /** Of groups with the same size, any one. */
  get largest(): Group | undefined {
    return this.#bySize.at(-1)?.at(-1)
  }

  grown(group: Group): void {
    const { size } = group
    this.#remove(group, size - 1)
    this.#add(group, size)
  }

  shrunk(group: Group): void {
    const { size } = group
    this.#remove(group, size + 1)
    if (size > 0) this.#add(group, size)
    while (this.#bySize.at(-1)?.length === 0) this.#bySize.pop()
  }

  #add(group: Group, size: number): void {
    const groups = this.#bySize[size - 1] ?? []
    this.#bySize[size - 1] = groups
    group.slot = groups.length
    groups.push(group)
  }

  /** The last group of the list takes the free place. */
  #remove(group: Group, size: number): void {
    const groups = this.#bySize[size - 1]
    const last = groups?.pop()
    if (groups === undefined || last === undefined || last === group) return
    groups[group.slot] = last
    last.slot = group.slot
  }
}
