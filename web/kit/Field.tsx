/** A labelled field of a form, with a hint and with what is wrong with it. */
import { type ReactNode, useId } from "react"

export interface FieldProps {
  readonly label: string
  readonly hint?: ReactNode
  /** Without a subject (`is needed`, `must be …`), the label becomes its subject. */
  readonly error?: string | undefined
  readonly isRequired?: boolean
  /** Gets the attributes that connect the field to its label, hint and error. */
  readonly children: (attributes: {
    readonly id: string
    readonly "aria-describedby"?: string
    readonly "aria-invalid"?: true
    readonly "aria-required"?: true
  }) => ReactNode
}

export const Field = ({ label, hint, error, isRequired = false, children }: FieldProps) => {
  const id = useId()
  const described = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean)
  return (
    <div className="field">
      <label htmlFor={id} className={isRequired ? "label-required" : undefined}>
        {label}
      </label>
      {children({
        id,
        ...(described.length > 0 ? { "aria-describedby": described.join(" ") } : {}),
        ...(error === undefined ? {} : { "aria-invalid": true as const }),
        ...(isRequired ? { "aria-required": true as const } : {}),
      })}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="field-hint">
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p id={`${id}-error`} className="field-error" role="alert">
          {sentenceAbout(label, error)}
        </p>
      )}
    </div>
  )
}

/** `is needed` about `URL` is `The URL is needed.` */
export const sentenceAbout = (label: string, error: string): string => {
  if (!/^(?:is|must|cannot|needs|has|may|does) /.test(error)) return error
  const subject = /^[A-Z][a-z]/.test(label) ? label.charAt(0).toLowerCase() + label.slice(1) : label
  return `The ${subject} ${error}${/[.!?]$/.test(error) ? "" : "."}`
}
