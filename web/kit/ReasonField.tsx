/** Asks why somebody does something that others will wonder about. */
import { Field } from "./Field.tsx"

export interface ReasonFieldProps {
  /** Who sees it. */
  readonly hint: string
  readonly value: string
  readonly error?: string | undefined
  readonly placeholder?: string
  readonly isRequired?: boolean
  readonly onChange: (value: string) => void
}

const charsMax = 500

export const ReasonField = ({ hint, value, error, placeholder, isRequired, onChange }: ReasonFieldProps) => (
  <Field
    label="Reason"
    hint={isRequired === true ? hint : `${hint} You may leave it empty.`}
    error={error}
    isRequired={isRequired === true}
  >
    {(attributes) => (
      <input
        {...attributes}
        autoComplete="off"
        maxLength={charsMax}
        placeholder={placeholder}
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
    )}
  </Field>
)

/** The field of a request, without one that is empty. */
export const reasonGiven = <Name extends string>(
  name: Name,
  value: string,
): { readonly [_ in Name]?: string } =>
  value.trim() === "" ? {} : ({ [name]: value.trim() } as { readonly [_ in Name]?: string })
