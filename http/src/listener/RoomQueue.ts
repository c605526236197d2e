// Says which address gives up a connection when all connections together are too many: the one that has the most of
// them. Only a connection that has waited since before the last sweep is given up. So no connection joins the candidates
// between two sweeps, and the queue is built once for each sweep. It examines an address once, and once more for each
// connection that the address gives up. A search through all addresses for every new connection would cost a
// millisecond each.

export class RoomQueue<Group extends { readonly open: number }> {
  /** The groups by the number of their connections. */
  readonly #bySize: Array<Array<Group> | undefined> = []

  constructor(groups: Iterable<Group>) {
    // Of groups with the same size, the last one goes first.
    for (const group of [...groups].reverse()) this.#add(group, group.open)
  }

  /** `giveUp` closes a connection of a group, and returns false if the group has none to give up. */
  makeRoom(giveUp: (group: Group) => boolean): boolean {
    while (this.#bySize.length > 0) {
      const size = this.#bySize.length - 1
      const group = this.#bySize[size]?.pop()
      if (group === undefined) this.#bySize.pop()
      else if (giveUp(group)) {
        this.#add(group, size - 1)
        return true
      }
    }
    return false
  }

  #add(group: Group, size: number): void {
    const groups = this.#bySize[size]
    if (groups !== undefined) groups.push(group)
    else if (size > 0) this.#bySize[size] = [group]
  }
}
