/** A choice between a few things, all of them visible. */
import { useId } from "react"

export interface SegmentsProps<Value extends string> {
  readonly label: string
  readonly value: Value
  readonly options: ReadonlyArray<{ readonly value: Value; readonly label: string }>
  readonly onChange: (value: Value) => void
}

export const Segments = <Value extends string>({ label, value, options, onChange }: SegmentsProps<Value>) => {
  const name = useId()
  return (
    <fieldset className="segments">
      <legend>{label}</legend>
      <div className="segments-row">
        {options.map((option) => (
          <label key={option.value} className="segment">
            <input
              type="radio"
              name={name}
              checked={option.value === value}
              onChange={() => onChange(option.value)}
            />
            <span>{option.label}</span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}
