/** A field in which the reader types how many timers are concerned, so that nobody removes many of them by habit. */
import { Field } from "../../kit/Field.tsx"
import { numberText } from "./bulkJob.ts"

/** Up to this many, the button alone is enough. */
const unconfirmedMax = 100

/** A count that stopped at its limit may stand for many more. */
export const needsConfirmation = (isFinal: boolean, count: number, isCapped = false): boolean =>
  isFinal && (count > unconfirmedMax || isCapped)

/** Digits may be grouped, as they are shown. */
export const isConfirmed = (typed: string, count: number): boolean =>
  typed.trim().replace(/(?<=\d)[,.\s](?=\d)/g, "") === String(count)

export interface CountConfirmationProps {
  readonly count: number
  readonly typed: string
  readonly error: string | undefined
  readonly onType: (typed: string) => void
}

export const CountConfirmation = ({ count, typed, error, onType }: CountConfirmationProps) => (
  <Field label={`Type ${numberText(count)} to confirm`} error={error}>
    {(attributes) => (
      <input
        {...attributes}
        inputMode="numeric"
        autoComplete="off"
        value={typed}
        onChange={({ target }) => onType(target.value)}
      />
    )}
  </Field>
)
