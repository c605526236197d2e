/** The visible rows of a long list of timers, and the row that the reader has reached with j and k. */
import { useWindowVirtualizer } from "@tanstack/react-virtual"
import { useLayoutEffect, useRef, useState } from "react"
import { type Shortcuts, useShortcuts } from "../../kit/shortcuts.ts"
import type { Timer } from "../api.ts"
import { goTo } from "../location.ts"
import { timerHref } from "./timerHref.ts"
import { rowKey } from "./useTimerPages.ts"

/** In pixels. */
export interface RowHeights {
  readonly wide: number
  readonly narrow: number
}

const isNarrow = (): boolean => matchMedia("(max-width: 900px)").matches

/** `more`: keys that act on the row that the reader has reached. */
export const useRowWindow = (
  timers: ReadonlyArray<Timer>,
  heights: RowHeights,
  more: (current: Timer | undefined, leave: () => void) => Shortcuts,
) => {
  const list = useRef<HTMLDivElement>(null)
  const [offset, setOffset] = useState(0)
  const [at, setAt] = useState<number>()
  const rows = useWindowVirtualizer({
    count: timers.length,
    estimateSize: () => (isNarrow() ? heights.narrow : heights.wide),
    overscan: 12,
    scrollMargin: offset,
    getItemKey: (index) => {
      const timer = timers[index]
      return timer === undefined ? index : rowKey(timer)
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
    const next = Math.max(0, Math.min(timers.length - 1, (at ?? -1) + step))
    setAt(next)
    rows.scrollToIndex(next)
  }
  const current = at === undefined ? undefined : timers[at]
  useShortcuts({
    j: () => move(1),
    k: () => move(-1),
    Enter: () => {
      if (current !== undefined) goTo(timerHref(current))
    },
    ...more(current, () => setAt(undefined)),
  })
  return { list, at, height: rows.getTotalSize(), visible: rows.getVirtualItems(), offset }
}
