/** A labelled field of a form, with a hint and with what is wrong with it. */
import { type ReactNode, useId } from "react"

export interface FieldProps {
  readonly label: string
  readonly hint?: ReactNode
  readonly error?: string | undefined
  /** Gets the attributes that connect the field to its label, hint and error. */
  readonly children: (attributes: {
    readonly id: string
    readonly "aria-describedby"?: string
    readonly "aria-invalid"?: true
  }) => ReactNode
}

export const Field = ({ label, hint, error, children }: FieldProps) => {
  const id = useId()
  const described = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean)
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        ...(described.length > 0 ? { "aria-describedby": described.join(" ") } : {}),
        ...(error === undefined ? {} : { "aria-invalid": true as const }),
      })}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="field-hint">
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p id={`${id}-error`} className="field-error" role="alert">
          {error}
        </p>
      )}
    </div>
  )
}
