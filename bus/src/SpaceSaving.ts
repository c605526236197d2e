// Finds the names that are counted most, without remembering all names. This is the space-saving sketch of Metwally,
// Agrawal and El Abbadi. It holds a fixed number of names. A new name replaces the name with the lowest count and
// continues from that count. So names that are counted often enough stay.

interface Candidate {
  count: number
  /** How much of the count may belong to names that were replaced before. */
  readonly inherited: number
}

export class SpaceSaving {
  readonly #candidates = new Map<string, Candidate>()
  readonly #atMost: number

  constructor(atMost: number) {
    this.#atMost = atMost
  }

  /** Counts the name. A name for which `isKept` is true is never replaced. */
  count(name: string, isKept: (name: string) => boolean): void {
    const known = this.#candidates.get(name)
    if (known !== undefined) {
      known.count++
      return
    }
    const inherited = this.#candidates.size < this.#atMost ? 0 : this.#giveUpLeast(isKept)
    this.#candidates.set(name, { count: inherited + 1, inherited })
  }

  /** The name was counted at least this often since it entered the sketch. */
  countAtLeast(name: string): number {
    const known = this.#candidates.get(name)
    return known === undefined ? 0 : known.count - known.inherited
  }

  /** The name was counted at most this often. */
  countAtMost(name: string): number {
    return this.#candidates.get(name)?.count ?? 0
  }

  #giveUpLeast(isKept: (name: string) => boolean): number {
    let leastName: string | undefined
    let leastCount = Number.POSITIVE_INFINITY
    for (const [name, { count }] of this.#candidates) {
      if (count >= leastCount || isKept(name)) continue
      leastName = name
      leastCount = count
    }
    if (leastName === undefined) return 0
    this.#candidates.delete(leastName)
    return leastCount
  }
}
