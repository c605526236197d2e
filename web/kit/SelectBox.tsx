/** Selects one row or several. It shows a dash if some of them are selected. */
import type { Selection } from "./useSelection.ts"

export interface SelectBoxProps<Row> {
  readonly label: string
  readonly rows: ReadonlyArray<Row>
  readonly selection: Selection<Row>
}

export const SelectBox = <Row,>({ label, rows, selection }: SelectBoxProps<Row>) => {
  const count = rows.filter(selection.has).length
  const isAll = count > 0 && count === rows.length
  return (
    <label className="select-box">
      <input
        ref={(box) => {
          if (box !== null) box.indeterminate = count > 0 && !isAll
        }}
        type="checkbox"
        aria-label={label}
        checked={isAll}
        onChange={() => selection.toggle(rows)}
      />
    </label>
  )
}
