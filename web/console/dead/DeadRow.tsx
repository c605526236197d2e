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
  readonly isGone: (timer: Timer) => boolean
}

export interface DeadRowProps {
  readonly timer: Timer
  readonly tools: RowTools
}

const nameOf = ({ namespace, timerId }: Timer): string => `${namespace} / ${timerId}`

export const DeadRow = ({ timer, tools }: DeadRowProps) => {
  const { selection, may, maySelect, onDispose, isGone } = tools
  const error = errorText(timer)
  const reason = reasonText(timer.reason)
  const gone = isGone(timer)
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
      <span role="cell" className="dead-why" title={error === undefined ? reason : `${error} · ${reason}`}>
        {gone && <span className="badge">no longer here</span>}
        {!gone && error}
        {!gone && (
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

/** The names of the columns, above the rows. */
export const DeadHead = ({
  timers,
  tools,
}: {
  readonly timers: ReadonlyArray<Timer>
  readonly tools: RowTools
}) => (
  <div className="dead-row dead-head" role="row">
    <span role="columnheader" className="dead-select">
      {timers.some(tools.maySelect) && (
        <>
          <SelectBox label="Select all rows" rows={timers} selection={tools.selection} />
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
