/** Buttons of which one is pressed: another view of the same thing. For a field of a form use Segments. */
export interface SwitchProps<Value extends string> {
  /** For screen readers. */
  readonly label: string
  /** Another value presses no button. */
  readonly value: string
  readonly options: ReadonlyArray<{ readonly value: Value; readonly label: string }>
  readonly onChange: (value: Value) => void
}

export const Switch = <Value extends string>({ label, value, options, onChange }: SwitchProps<Value>) => (
  <fieldset className="switch">
    <legend className="visually-hidden">{label}</legend>
    {options.map((option) => (
      <button
        key={option.value}
        type="button"
        aria-pressed={option.value === value}
        onClick={() => onChange(option.value)}
      >
        {option.label}
      </button>
    ))}
  </fieldset>
)
