import type { Timer } from "../api.ts"
import type { Selection } from "./useSelection.ts"

export interface SelectBoxProps {
  readonly label: string
  readonly timers: ReadonlyArray<Timer>
  readonly selection: Selection
}

/** Selects one row or several. It shows a dash if some of them are selected. */
export const SelectBox = ({ label, timers, selection }: SelectBoxProps) => {
  const count = timers.filter(selection.has).length
  const isAll = count > 0 && count === timers.length
  return (
    <label className="select-box">
      <input
        ref={(box) => {
          if (box !== null) box.indeterminate = count > 0 && !isAll
        }}
        type="checkbox"
        aria-label={label}
        checked={isAll}
        onChange={() => selection.toggle(timers)}
      />
    </label>
  )
}
