/** Which rows the reader has selected. Only the reader changes it. */
import { useState } from "react"

export interface Selection<Row> {
  /** Those of the list. */
  readonly rows: ReadonlyArray<Row>
  /** All rows that match the filter, also those that are not in the list. */
  readonly isEverything: boolean
  readonly has: (row: Row) => boolean
  /** Selects all of them, or none of them if all were selected. */
  readonly toggle: (rows: ReadonlyArray<Row>) => void
  readonly selectEverything: () => void
  readonly clear: () => void
}

export const useSelection = <Row>(
  listed: ReadonlyArray<Row>,
  keyOf: (row: Row) => string,
): Selection<Row> => {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set())
  const [isEverything, setEverything] = useState(false)
  const has = (row: Row) => keys.has(keyOf(row))
  const change = (next: ReadonlySet<string>, everything = false) => {
    setKeys(next)
    setEverything(everything)
  }
  return {
    rows: listed.filter(has),
    isEverything,
    has,
    toggle: (rows) => {
      const names = new Set(rows.map(keyOf))
      const others = new Set([...keys].filter((key) => !names.has(key)))
      change(keys.size - others.size === names.size ? others : new Set([...others, ...names]))
    },
    selectEverything: () => change(new Set(listed.map(keyOf)), true),
    clear: () => change(new Set()),
  }
}
