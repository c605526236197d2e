/** All rows of a search. Only the visible ones are drawn, so a long list stays fast. */
import { classes } from "../../kit/classes.ts"
import { useRowWindow } from "../../kit/useRowWindow.ts"
import type { Timer } from "../api.ts"
import { timerHref } from "../timers/timerHref.ts"
import { rowKey } from "../timers/useTimerPages.ts"
import { DeadHead, DeadRow, type RowTools } from "./DeadRow.tsx"

export interface DeadRowsProps {
  readonly timers: ReadonlyArray<Timer>
  readonly tools: RowTools
}

const rowTerms = { heights: { wide: 44, narrow: 88 }, keyOf: rowKey, hrefOf: timerHref }

export const DeadRows = ({ timers, tools }: DeadRowsProps) => {
  const { list, at, height, visible, offset } = useRowWindow(timers, rowTerms, (current) => ({
    x: () => {
      if (current !== undefined && tools.maySelect(current)) tools.selection.toggle([current])
    },
    r: () => tools.onKey("replay", current),
    d: () => tools.onKey("discard", current),
  }))
  return (
    <div className="dead-rows" role="table" aria-label="Dead letters" aria-rowcount={timers.length + 1}>
      <div role="rowgroup">
        <DeadHead timers={timers} tools={tools} label="Select all rows" />
      </div>
      <div ref={list} className="rows-body" role="rowgroup" style={{ height }}>
        {visible.map(({ index, key, start, size }) => {
          const timer = timers[index]
          if (timer === undefined) return null
          return (
            <div
              key={key}
              role="row"
              aria-rowindex={index + 2}
              className={classes(
                "dead-row",
                "dead-row-placed",
                index === at && "row-at",
                tools.selection.has(timer) && "dead-selected",
                tools.newStateOf(timer) !== undefined && "row-gone",
              )}
              style={{ height: size, transform: `translateY(${start - offset}px)` }}
            >
              <DeadRow timer={timer} tools={tools} />
            </div>
          )
        })}
      </div>
    </div>
  )
}
