// An ordered set in chunks of an array. An insert moves at most one chunk, and a search is two binary searches. This is
// enough for hundreds of thousands of entries, and simple enough to trust in a simulation.

const mostInChunk = 512

export class SortedList<T> {
  readonly #compare: (a: T, b: T) => number
  readonly #chunks: Array<Array<T>> = []
  #size = 0

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare
  }

  get size(): number {
    return this.#size
  }

  add(item: T): void {
    const at = this.#chunkFor(item)
    const chunk = this.#chunks[at]
    this.#size++
    if (chunk === undefined) {
      this.#chunks.push([item])
      return
    }
    chunk.splice(
      firstIndex(chunk, (other) => this.#compare(other, item) >= 0),
      0,
      item,
    )
    if (chunk.length > mostInChunk) this.#chunks.splice(at + 1, 0, chunk.splice(mostInChunk / 2))
  }

  /** Removes the equal entry, if there is one. */
  remove(item: T): void {
    const at = this.#chunkFor(item)
    const chunk = this.#chunks[at]
    if (chunk === undefined) return
    const index = firstIndex(chunk, (other) => this.#compare(other, item) >= 0)
    const found = chunk[index]
    if (found === undefined || this.#compare(found, item) !== 0) return
    chunk.splice(index, 1)
    this.#size--
    if (chunk.length === 0) this.#chunks.splice(at, 1)
  }

  /** Iterates upwards from the first entry for which `isReached` is true. It must be true for all later entries. */
  *upFrom(isReached: (item: T) => boolean): Generator<T> {
    const first = firstIndex(this.#chunks, (chunk) => isReached(lastOf(chunk)))
    for (let at = first; at < this.#chunks.length; at++) {
      const chunk = this.#chunks[at] ?? []
      for (let index = at === first ? firstIndex(chunk, isReached) : 0; index < chunk.length; index++) {
        yield chunk[index] as T
      }
    }
  }

  /** Iterates downwards from the last entry for which `isPast` is false. It must be true for all later entries. */
  *downFrom(isPast: (item: T) => boolean): Generator<T> {
    const last = firstIndex(this.#chunks, (chunk) => isPast(lastOf(chunk)))
    for (let at = Math.min(last, this.#chunks.length - 1); at >= 0; at--) {
      const chunk = this.#chunks[at] ?? []
      const from = at === last ? firstIndex(chunk, isPast) : chunk.length
      for (let index = from - 1; index >= 0; index--) yield chunk[index] as T
    }
  }

  /**
   * The index of the chunk that contains the item or should contain it. The last chunk takes items beyond all others.
   */
  #chunkFor(item: T): number {
    const at = firstIndex(this.#chunks, (chunk) => this.#compare(lastOf(chunk), item) >= 0)
    return at === this.#chunks.length && at > 0 ? at - 1 : at
  }
}

/** The first index for which `holds` is true, or the length. It must be true for all later indexes. */
const firstIndex = <T>(items: ReadonlyArray<T>, holds: (item: T) => boolean): number => {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(items[middle] as T)) high = middle
    else low = middle + 1
  }
  return low
}

/** Chunks are never empty. */
const lastOf = <T>(chunk: ReadonlyArray<T>): T => chunk[chunk.length - 1] as T
