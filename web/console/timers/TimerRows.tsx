/** The rows of a list of timers. Only the visible ones are drawn, so a long list stays fast. */
import { useEffect } from "react"
import { classes } from "../../kit/classes.ts"
import { Link } from "../../kit/Link.tsx"
import { Moment } from "../../kit/Moment.tsx"
import { durationText } from "../../kit/times.ts"
import { useRowWindow } from "../../kit/useRowWindow.ts"
import type { Timer } from "../api.ts"
import { withStatusWords } from "../statusWords.ts"
import { usePausedAmong } from "../useNamespace.ts"
import { StateBadge } from "./StateBadge.tsx"
import { targetText } from "./targetText.ts"
import { timerHref } from "./timerHref.ts"
import { rowKey } from "./useTimerPages.ts"

export interface TimerRowsProps {
  readonly timers: ReadonlyArray<Timer>
  readonly fresh: {
    readonly changed: ReadonlyMap<string, Timer>
    readonly isGone: (timer: Timer) => boolean
  }
  /** The rows are those of the last search, until those of the new one have come. */
  readonly isOld?: boolean
  /** Called when the reader is near the end. */
  readonly onEnd: () => void
}

const rowTerms = { heights: { wide: 44, narrow: 68 }, keyOf: rowKey, hrefOf: timerHref }
const nearEnd = 20

export const TimerRows = ({ timers, fresh, isOld = false, onEnd }: TimerRowsProps) => {
  const { list, at, height, visible, offset } = useRowWindow(timers, rowTerms, (_, leave) => ({
    Escape: leave,
  }))
  const paused = usePausedAmong(visible.flatMap(({ index }) => timers[index]?.namespace ?? []))
  const last = visible.at(-1)?.index ?? 0
  useEffect(() => {
    if (last >= timers.length - nearEnd) onEnd()
  }, [last, timers.length, onEnd])
  return (
    <div
      className={classes("rows", isOld && "rows-old")}
      role="table"
      aria-label="Timers"
      aria-rowcount={timers.length}
      aria-busy={isOld}
    >
      <div className="row row-head" role="row">
        {["State", "Timer", "Due", "Target", "Attempts", "Lateness"].map((name) => (
          <span key={name} role="columnheader">
            {name}
          </span>
        ))}
      </div>
      <div ref={list} className="rows-body" role="rowgroup" style={{ height }}>
        {visible.map(({ index, key, start, size }) => {
          const listed = timers[index]
          if (listed === undefined) return null
          const timer = fresh.changed.get(rowKey(listed)) ?? listed
          return (
            <div
              key={key}
              role="row"
              aria-rowindex={index + 1}
              className={classes("row", index === at && "row-at", fresh.isGone(listed) && "row-gone")}
              style={{ height: size, transform: `translateY(${start - offset}px)` }}
            >
              <TimerCells
                timer={timer}
                isGone={fresh.isGone(listed)}
                isPaused={paused.includes(timer.namespace)}
              />
            </div>
          )
        })}
      </div>
    </div>
  )
}

interface TimerCellsProps {
  readonly timer: Timer
  readonly isGone: boolean
  /** Its namespace is paused. */
  readonly isPaused: boolean
}

const TimerCells = ({ timer, isGone, isPaused }: TimerCellsProps) => (
  <>
    <span role="cell" className="cell-state">
      {isGone ? (
        <span className="badge">no longer here</span>
      ) : (
        <StateBadge timer={timer} isPaused={isPaused} />
      )}
    </span>
    <span role="cell" className="cell-id">
      <Link href={timerHref(timer)} className="timer-link">
        <span className="muted">{timer.namespace}</span>
        <span className="muted"> / </span>
        {timer.timerId}
      </Link>
      {timer.tags?.map((tag) => (
        <span key={tag} className="tag">
          {tag}
        </span>
      ))}
    </span>
    <span role="cell" className="cell-due">
      <Moment at={timer.finishedAt ?? timer.fireAt ?? timer.executeAt} show="short" />
    </span>
    <span role="cell" className="cell-target" title={targetText(timer)}>
      {targetText(timer)}
    </span>
    <span role="cell" className="cell-number figures">
      <span className="cell-attempts">{timer.attempts === 0 ? "" : timer.attempts}</span>
      {timer.lastAttempt?.error !== undefined && (
        <span className="cell-error" title={withStatusWords(timer.lastAttempt.error)}>
          {timer.lastAttempt.status ?? "failed"}
        </span>
      )}
    </span>
    <span role="cell" className="cell-number figures">
      {timer.latenessMs === undefined ? "" : durationText(timer.latenessMs)}
    </span>
  </>
)
