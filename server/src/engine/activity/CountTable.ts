// Counts by name, in memory. The number of names is limited: further ones share a row.
import { type ActivityRows, addCounts, otherName } from "../../domain/ActivityRecord.ts"

export class CountTable {
  readonly #columns: number
  readonly #namesMax: number
  readonly #rows = new Map<string, Array<number>>()
  #lastName: string | undefined
  #lastRow: Array<number> = []

  constructor(columns: number, namesMax: number) {
    this.#columns = columns
    this.#namesMax = namesMax
  }

  get isEmpty(): boolean {
    return this.#rows.size === 0
  }

  count(name: string, column: number): void {
    // Many events in a row have the same name.
    if (name !== this.#lastName) {
      this.#lastRow = this.#rowOf(name)
      this.#lastName = name
    }
    this.#lastRow[column] = (this.#lastRow[column] ?? 0) + 1
  }

  add({ names, counts }: ActivityRows): void {
    for (const [place, name] of names.entries()) addCounts(this.#rowOf(name), counts[place] ?? [])
  }

  /** The busiest names, at most so many, and the rest together. */
  busiest(most: number): ActivityRows {
    const named = [...this.#rows].filter(([name]) => name !== otherName)
    const rest = this.#rows.get(otherName)
    const sorted = named.map(([name, row]) => ({ name, row, sum: sumOf(row) })).sort((a, b) => b.sum - a.sum)
    const other = rest === undefined ? this.#newRow() : [...rest]
    for (const { row } of sorted.slice(most)) addCounts(other, row)
    const kept = sorted.slice(0, most)
    const hasOther = other.some((count) => count > 0)
    return {
      names: [...kept.map(({ name }) => name), ...(hasOther ? [otherName] : [])],
      counts: [...kept.map(({ row }) => row), ...(hasOther ? [other] : [])],
    }
  }

  #rowOf(name: string): Array<number> {
    const known = this.#rows.get(name)
    if (known !== undefined) return known
    if (this.#rows.size >= this.#namesMax && name !== otherName) return this.#rowOf(otherName)
    const row = this.#newRow()
    this.#rows.set(name, row)
    return row
  }

  #newRow(): Array<number> {
    return new Array<number>(this.#columns).fill(0)
  }
}

const sumOf = (row: ReadonlyArray<number>): number => row.reduce((sum, count) => sum + count, 0)
