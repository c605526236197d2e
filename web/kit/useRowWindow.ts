/** The visible rows of a long list, and the row that the reader has reached with j and k. */
import { useWindowVirtualizer } from "@tanstack/react-virtual"
import { useLayoutEffect, useRef, useState } from "react"
import { goTo } from "./places.ts"
import { leaveControls, type Shortcuts, useShortcuts } from "./shortcuts.ts"

/** In pixels. */
export interface RowHeights {
  readonly wide: number
  readonly narrow: number
}

export interface RowTerms<Row> {
  readonly heights: RowHeights
  readonly keyOf: (row: Row) => string
  /** The page of the row. */
  readonly hrefOf: (row: Row) => string
}

const isNarrow = (): boolean => matchMedia("(max-width: 900px)").matches

/** `more`: keys that act on the row that the reader has reached. */
export const useRowWindow = <Row>(
  listed: ReadonlyArray<Row>,
  { heights, keyOf, hrefOf }: RowTerms<Row>,
  more: (current: Row | undefined, leave: () => void) => Shortcuts,
) => {
  const list = useRef<HTMLDivElement>(null)
  const [offset, setOffset] = useState(0)
  const [at, setAt] = useState<number>()
  const rows = useWindowVirtualizer({
    count: listed.length,
    estimateSize: () => (isNarrow() ? heights.narrow : heights.wide),
    overscan: 12,
    scrollMargin: offset,
    getItemKey: (index) => {
      const row = listed[index]
      return row === undefined ? index : keyOf(row)
    },
  })
  useLayoutEffect(() => {
    // What stands above the list may have changed. An equal value draws nothing again.
    setOffset(Math.round((list.current?.getBoundingClientRect().top ?? 0) + scrollY))
  })
  useLayoutEffect(() => {
    const measure = () => rows.measure()
    addEventListener("resize", measure)
    return () => removeEventListener("resize", measure)
  }, [rows])
  const move = (step: number) => {
    const next = Math.max(0, Math.min(listed.length - 1, (at ?? -1) + step))
    leaveControls()
    setAt(next)
    rows.scrollToIndex(next)
  }
  const current = at === undefined ? undefined : listed[at]
  useShortcuts({
    j: () => move(1),
    k: () => move(-1),
    Enter: () => {
      if (current !== undefined) goTo(hrefOf(current))
    },
    ...more(current, () => setAt(undefined)),
  })
  return { list, at, height: rows.getTotalSize(), visible: rows.getVirtualItems(), offset }
}
