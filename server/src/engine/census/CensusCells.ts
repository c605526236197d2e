// How many timers are pending in each namespace and hour. The number of cells is limited, whatever callers create. When
// few are left, timers in hours that have no cell yet count by day, then by 32 days, and at last timers of further
// namespaces count together. So the counts stay complete, and only their place gets less exact.
import type { Buckets } from "../../domain/bucketOf.ts"

const hourMs = 3_600_000

/** The widths of cells, and the share of all cells up to which cells of this width are made. */
const levels = [
  { widthMs: hourMs, share: 0.8 },
  { widthMs: 24 * hourMs, share: 0.95 },
  { widthMs: 32 * 24 * hourMs, share: 1 },
] as const

const coarsestMs = levels[2].widthMs

/** The key of a cell has the number of its namespace, its level and the index of its time, in this order. */
const indexes = 2 ** 30
const levelsInKey = 4

/** A slice takes about a millisecond. */
const cellsInSlice = 5_000

export interface CellCounts {
  readonly counts: ReadonlyArray<number>
  /** Timers of these namespaces may be among those that count together. */
  readonly lacksSome: boolean
}

export class CensusCells {
  readonly #mostCells: number
  readonly #cells = new Map<number, number>()
  /** Names that have cells, by number. Numbers without cells are used again. */
  readonly #numbers = new Map<string, number>()
  readonly #cellsOf: Array<number> = []
  readonly #freeNumbers: Array<number> = []
  /** Timers whose namespaces have no cells, by the index of the coarsest cells. */
  readonly #others = new Map<number, number>()

  constructor(mostCells: number) {
    this.#mostCells = mostCells
  }

  get size(): number {
    return this.#cells.size + this.#others.size
  }

  add(namespace: string, atMs: number): void {
    const number = this.#numbers.get(namespace)
    for (const [level, { widthMs, share }] of levels.entries()) {
      const index = indexOf(atMs, widthMs)
      const count = number === undefined ? undefined : this.#cells.get(keyOf(number, level, index))
      if (count !== undefined || this.#cells.size < this.#mostCells * share) {
        this.#set(number ?? this.#numberFor(namespace), level, index, (count ?? 0) + 1)
        return
      }
    }
    const index = indexOf(atMs, coarsestMs)
    this.#others.set(index, (this.#others.get(index) ?? 0) + 1)
  }

  /** Takes a timer out of the finest cell that has one. A timer that was never counted changes nothing. */
  remove(namespace: string, atMs: number): void {
    const number = this.#numbers.get(namespace)
    if (number !== undefined) {
      for (const [level, { widthMs }] of levels.entries()) {
        const index = indexOf(atMs, widthMs)
        const count = this.#cells.get(keyOf(number, level, index))
        if (count === undefined) continue
        this.#set(number, level, index, count - 1, namespace)
        return
      }
    }
    const index = indexOf(atMs, coarsestMs)
    const count = this.#others.get(index)
    if (count === undefined) return
    if (count === 1) this.#others.delete(index)
    else this.#others.set(index, count - 1)
  }

  /**
   * The counts of the buckets, for these namespaces or for all. The timers of a cell are spread evenly over its time.
   * `scale` multiplies the counts. All cells may take longer than the engine's thread may be held, so the work stops
   * after each slice. Changes in between may count or not.
   */
  *countsIn(
    span: Buckets,
    names: ReadonlyArray<string> | undefined,
    scale: number,
  ): Generator<void, CellCounts> {
    const chosen = names === undefined ? undefined : this.#numbersOf(names)
    const sums = levels.map(() => new Map<number, number>())
    let visited = 0
    for (const [key, count] of this.#cells) {
      if (++visited % cellsInSlice === 0) yield
      const rest = Math.floor(key / indexes)
      const number = Math.floor(rest / levelsInKey)
      if (chosen !== undefined && !chosen.has(number)) continue
      addTo(sums[rest - number * levelsInKey], key - rest * indexes, count)
    }
    if (names === undefined) for (const [index, count] of this.#others) addTo(sums[2], index, count)
    const amounts = new Float64Array(span.buckets)
    for (const [level, { widthMs }] of levels.entries()) {
      for (const [index, count] of sums[level] ?? []) {
        if (++visited % cellsInSlice === 0) yield
        spread(index * widthMs, widthMs, count * scale, span, amounts)
      }
    }
    return { counts: wholeNumbers(amounts), lacksSome: names !== undefined && this.#others.size > 0 }
  }

  #numbersOf(names: ReadonlyArray<string>): ReadonlySet<number> {
    return new Set(names.flatMap((name) => this.#numbers.get(name) ?? []))
  }

  #numberFor(namespace: string): number {
    const number = this.#freeNumbers.pop() ?? this.#cellsOf.push(0) - 1
    this.#numbers.set(namespace, number)
    return number
  }

  /** `namespace` is needed if the count may be 0. */
  #set(number: number, level: number, index: number, count: number, namespace = ""): void {
    const key = keyOf(number, level, index)
    const before = this.#cells.size
    if (count === 0) this.#cells.delete(key)
    else this.#cells.set(key, count)
    if (this.#cells.size === before) return
    const cells = (this.#cellsOf[number] ?? 0) + this.#cells.size - before
    this.#cellsOf[number] = cells
    if (cells > 0) return
    this.#numbers.delete(namespace)
    this.#freeNumbers.push(number)
  }
}

const keyOf = (number: number, level: number, index: number): number =>
  (number * levelsInKey + level) * indexes + index

/** Times before 1970 belong to the first cell. */
const indexOf = (atMs: number, widthMs: number): number => Math.max(0, Math.floor(atMs / widthMs))

const addTo = (sums: Map<number, number> | undefined, index: number, count: number): void => {
  sums?.set(index, (sums.get(index) ?? 0) + count)
}

/** Adds the part of the cell that is in each bucket. Parts outside the span are left out. */
const spread = (
  cellMs: number,
  widthMs: number,
  count: number,
  { from, until, buckets }: Buckets,
  amounts: Float64Array,
): void => {
  const begin = Math.max(cellMs, from)
  const end = Math.min(cellMs + widthMs, until)
  if (begin >= end) return
  const bucketMs = (until - from) / buckets
  const first = Math.floor((begin - from) / bucketMs)
  const last = Math.min(buckets - 1, Math.ceil((end - from) / bucketMs) - 1)
  for (let bucket = first; bucket <= last; bucket++) {
    const partMs = Math.min(end, from + (bucket + 1) * bucketMs) - Math.max(begin, from + bucket * bucketMs)
    amounts[bucket] = (amounts[bucket] ?? 0) + (count * Math.max(0, partMs)) / widthMs
  }
}

/** Rounds so that the sum of the numbers is the rounded sum of the amounts, even if every amount is below one half. */
const wholeNumbers = (amounts: Float64Array): ReadonlyArray<number> => {
  let sum = 0
  let given = 0
  return Array.from(amounts, (amount) => {
    sum += amount
    const count = Math.max(0, Math.round(sum) - given)
    given += count
    return count
  })
}
