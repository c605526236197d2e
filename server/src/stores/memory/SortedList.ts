// An ordered set in chunks of an array: inserting moves at most one chunk, finding is two binary
// searches. Enough for hundreds of thousands of entries, and simple enough to be trusted in a
// simulation.

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

  /** Removes the entry that compares equal, if there is one. */
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

  /** Upwards from the first entry of which `isReached` holds; it must hold for all after that one. */
  *upFrom(isReached: (item: T) => boolean): Generator<T> {
    const first = firstIndex(this.#chunks, (chunk) => isReached(lastOf(chunk)))
    for (let at = first; at < this.#chunks.length; at++) {
      const chunk = this.#chunks[at] ?? []
      for (let index = at === first ? firstIndex(chunk, isReached) : 0; index < chunk.length; index++) {
        yield chunk[index] as T
      }
    }
  }

  /** Downwards from the last entry of which `isPast` does not hold; it must hold for all after it. */
  *downFrom(isPast: (item: T) => boolean): Generator<T> {
    const last = firstIndex(this.#chunks, (chunk) => isPast(lastOf(chunk)))
    for (let at = Math.min(last, this.#chunks.length - 1); at >= 0; at--) {
      const chunk = this.#chunks[at] ?? []
      const from = at === last ? firstIndex(chunk, isPast) : chunk.length
      for (let index = from - 1; index >= 0; index--) yield chunk[index] as T
    }
  }

  /** The chunk the item is in, or belongs into; the last one takes what is beyond all. */
  #chunkFor(item: T): number {
    const at = firstIndex(this.#chunks, (chunk) => this.#compare(lastOf(chunk), item) >= 0)
    return at === this.#chunks.length && at > 0 ? at - 1 : at
  }
}

/** The first index of which `holds`, or the length; it must hold for all after that one. */
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
