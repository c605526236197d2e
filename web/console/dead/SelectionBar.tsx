/** What can be done with the selected rows. It lies over the page, so that nothing moves when it comes. */
import { Button } from "../../kit/Button.tsx"
import { countText } from "../../kit/countText.ts"
import type { Selection } from "../../kit/useSelection.ts"
import type { Timer } from "../api.ts"
import { numberText } from "../bulk/bulkJob.ts"
import type { CountAnswer } from "../timers/useTimerCount.ts"
import type { DisposeDeed } from "./dispose.ts"

export interface SelectionBarProps {
  readonly selection: Selection<Timer>
  readonly total: CountAnswer | undefined
  readonly may: (deed: DisposeDeed) => boolean
  /** Whether the reader may act on all that match. */
  readonly mayBulk: (deed: DisposeDeed) => boolean
  readonly onAct: (deed: DisposeDeed) => void
}

export const SelectionBar = ({ selection, total, may, mayBulk, onAct }: SelectionBarProps) => {
  const { rows: timers, isEverything } = selection
  if (timers.length === 0) return null
  const isMore = total !== undefined && total.count > timers.length
  return (
    <section className="selection-bar" aria-label="Selected dead letters">
      <span className="figures selection-count" role="status">
        {isEverything && total !== undefined
          ? `All ${countText(total)} that match are selected`
          : `${numberText(timers.length)} selected`}
      </span>
      {!isEverything && isMore && (mayBulk("replay") || mayBulk("discard")) && (
        <Button look="quiet" className="selection-all" onClick={selection.selectEverything}>
          Select all {countText(total)} that match
        </Button>
      )}
      <span className="selection-actions">
        {may("replay") && (
          <Button look="primary" icon="replay" title="Replay (r)" onClick={() => onAct("replay")}>
            Replay
          </Button>
        )}
        {may("discard") && (
          <Button icon="trash" title="Discard (d)" onClick={() => onAct("discard")}>
            Discard
          </Button>
        )}
        <Button look="quiet" icon="close" label="Clear the selection (Esc)" onClick={selection.clear} />
      </span>
    </section>
  )
}
