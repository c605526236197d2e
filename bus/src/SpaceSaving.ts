// Who is counted most, among more names than are worth remembering: the space-saving sketch of Metwally,
// Agrawal and El Abbadi. It holds a fixed number of names; a new one takes the place of the one counted least,
// and its count from there on, so that whoever is counted often enough stays.

interface Candidate {
  count: number
  /** How much of the count may belong to names that were here before. */
  readonly inherited: number
}

export class SpaceSaving {
  readonly #candidates = new Map<string, Candidate>()
  readonly #atMost: number

  constructor(atMost: number) {
    this.#atMost = atMost
  }

  /** Names that `isKept` says are not given up for others. */
  count(name: string, isKept: (name: string) => boolean): void {
    const known = this.#candidates.get(name)
    if (known !== undefined) {
      known.count++
      return
    }
    const inherited = this.#candidates.size < this.#atMost ? 0 : this.#giveUpLeast(isKept)
    this.#candidates.set(name, { count: inherited + 1, inherited })
  }

  /** It was counted at least this often since it came here. */
  countAtLeast(name: string): number {
    const known = this.#candidates.get(name)
    return known === undefined ? 0 : known.count - known.inherited
  }

  /** It was counted at most this often. */
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
