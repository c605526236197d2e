/** The cells of one dead letter. */
import { Button } from "../../kit/Button.tsx"
import { Link } from "../../kit/Link.tsx"
import { Moment } from "../../kit/Moment.tsx"
import { SelectBox } from "../../kit/SelectBox.tsx"
import type { Selection } from "../../kit/useSelection.ts"
import type { Timer } from "../api.ts"
import { targetText } from "../timers/targetText.ts"
import { timerHref } from "../timers/timerHref.ts"
import type { DisposeDeed } from "./dispose.ts"
import { errorText, reasonText } from "./groups.ts"

export interface RowTools {
  readonly selection: Selection<Timer>
  readonly may: (deed: DisposeDeed, timer: Timer) => boolean
  /** Whether the reader may do anything with it. */
  readonly maySelect: (timer: Timer) => boolean
  readonly onDispose: (deed: DisposeDeed, timer: Timer) => void
  /** What the row is now, if it is no longer a dead letter. */
  readonly newStateOf: (timer: Timer) => string | undefined
  /** The keys `r` and `d`: for what is selected, or else for the row that the reader has reached. */
  readonly onKey: (deed: DisposeDeed, timer: Timer | undefined) => void
}

export interface DeadRowProps {
  readonly timer: Timer
  readonly tools: RowTools
}

const nameOf = ({ namespace, timerId }: Timer): string => `${namespace} / ${timerId}`

export const DeadRow = ({ timer, tools }: DeadRowProps) => {
  const { selection, may, maySelect, onDispose, newStateOf } = tools
  // The words of a status have room only in the tip.
  const error = timer.lastAttempt?.error
  const reason = reasonText(timer.reason)
  const newState = newStateOf(timer)
  return (
    <>
      <span role="cell" className="dead-select">
        {maySelect(timer) && (
          <SelectBox label={`Select ${nameOf(timer)}`} rows={[timer]} selection={selection} />
        )}
      </span>
      <span role="cell" className="dead-id">
        <Link href={timerHref(timer)} className="timer-link">
          <span className="muted">{timer.namespace} / </span>
          {timer.timerId}
        </Link>
        {timer.tags?.map((tag) => (
          <span key={tag} className="tag">
            {tag}
          </span>
        ))}
      </span>
      <span
        role="cell"
        className="dead-why"
        title={error === undefined ? reason : `${errorText(timer)} · ${reason}`}
      >
        {newState !== undefined && <span className="badge">{newState}</span>}
        {newState === undefined && error}
        {newState === undefined && (
          <span className={error === undefined ? undefined : "muted"}>
            {error === undefined ? reason : ` · ${reason}`}
          </span>
        )}
      </span>
      <span role="cell" className="dead-target muted" title={targetText(timer)}>
        {targetText(timer)}
      </span>
      <span role="cell" className="dead-when">
        {timer.finishedAt !== undefined && <Moment at={timer.finishedAt} show="short" />}
      </span>
      <span role="cell" className="dead-attempts figures">
        {timer.attempts}
      </span>
      <span role="cell" className="dead-actions">
        {may("replay", timer) && (
          <Button
            look="quiet"
            icon="replay"
            label={`Replay ${nameOf(timer)}`}
            onClick={() => onDispose("replay", timer)}
          />
        )}
        {may("discard", timer) && (
          <Button
            look="quiet"
            icon="trash"
            label={`Discard ${nameOf(timer)}`}
            onClick={() => onDispose("discard", timer)}
          />
        )}
      </span>
    </>
  )
}

export interface DeadHeadProps {
  readonly timers: ReadonlyArray<Timer>
  readonly tools: RowTools
  /** What its box selects. */
  readonly label: string
}

/** The names of the columns, above the rows. */
export const DeadHead = ({ timers, tools, label }: DeadHeadProps) => (
  <div className="dead-row dead-head" role="row">
    <span role="columnheader" className="dead-select">
      {timers.some(tools.maySelect) && (
        <>
          <SelectBox label={label} rows={timers.filter(tools.maySelect)} selection={tools.selection} />
          <span className="dead-select-all" aria-hidden="true">
            Select all
          </span>
        </>
      )}
    </span>
    {["Timer", "Why", "Target", "Died"].map((name) => (
      <span key={name} role="columnheader">
        {name}
      </span>
    ))}
    <span role="columnheader" className="dead-attempts">
      Attempts
    </span>
    <span role="columnheader" className="visually-hidden">
      Actions
    </span>
  </div>
)
