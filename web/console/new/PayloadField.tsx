/** The payload as JSON text. It is sent exactly as it is typed, so large numbers keep all their digits. */
import { Field } from "../../kit/Field.tsx"

export interface PayloadFieldProps {
  readonly payload: string
  readonly error: string | undefined
  readonly onChange: (payload: string) => void
}

const encoder = new TextEncoder()

export const PayloadField = ({ payload, error, onChange }: PayloadFieldProps) => {
  const bytes = encoder.encode(payload.trim()).length
  return (
    <Field
      label="Payload"
      hint={
        bytes === 0
          ? "Any JSON. It is delivered exactly as you type it."
          : `${bytes.toLocaleString("en")} bytes, delivered exactly as you typed them.`
      }
      error={error}
    >
      {(attributes) => (
        <textarea
          {...attributes}
          rows={Math.min(16, Math.max(5, payload.split("\n").length + 1))}
          placeholder='such as {"invoice": 4711}'
          value={payload}
          spellCheck={false}
          autoComplete="off"
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  )
}
