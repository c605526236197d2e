/** How failed attempts are repeated, with a preview of the waits. */
import { Field } from "../../kit/Field.tsx"
import { Segments } from "../../kit/Segments.tsx"
import type { ErrorAt } from "./fieldErrors.ts"
import { planOf, planText } from "./retryWaits.ts"
import type { RetryDraft } from "./TimerDraft.ts"

export interface RetryFieldsProps {
  readonly retry: RetryDraft
  /** Whose policy it is. That of a namespace holds for timers that have none of their own. */
  readonly of?: "timer" | "namespace"
  /** The policy of the namespace, if it is known. */
  readonly usual: RetryDraft | undefined
  readonly errorAt: ErrorAt
  readonly onChange: (retry: RetryDraft) => void
}

const growing = [
  { name: "maxAttempts", label: "Attempts", usual: "10" },
  { name: "initialInterval", label: "First wait", usual: "5s" },
  { name: "backoffMultiplier", label: "Multiplied by", usual: "4" },
  { name: "maxInterval", label: "Longest wait", usual: "8h" },
  { name: "jitter", label: "Jitter (0 to 1)", usual: "0.2" },
] as const

export const RetryFields = ({ retry, of = "timer", usual, errorAt, onChange }: RetryFieldsProps) => {
  const change = (changes: Partial<RetryDraft>) => onChange({ ...retry, ...changes })
  return (
    <>
      <Segments
        label="Waits between attempts"
        value={retry.form}
        options={[
          { value: "default", label: of === "timer" ? "As the namespace" : "As the service" },
          { value: "growing", label: "Growing waits" },
          { value: "waits", label: "A list of waits" },
        ]}
        onChange={(form) => change({ form })}
      />
      {retry.form === "growing" && (
        <div className="form-grid">
          {growing.map(({ name, label, usual }) => (
            <Field key={name} label={label} error={errorAt(`/retryPolicy/${name}`)}>
              {(attributes) => (
                <input
                  {...attributes}
                  value={retry[name]}
                  placeholder={usual}
                  spellCheck={false}
                  autoComplete="off"
                  onChange={({ target }) => change({ [name]: target.value })}
                />
              )}
            </Field>
          ))}
          <MaxDuration retry={retry} errorAt={errorAt} onChange={change} />
        </div>
      )}
      {retry.form === "waits" && (
        <div className="form-row">
          <Field
            label="Waits"
            hint="The wait after each failed attempt."
            error={errorAt("/retryPolicy/waits")}
          >
            {(attributes) => (
              <input
                {...attributes}
                value={retry.waits}
                placeholder="1m, 1h, 1d"
                spellCheck={false}
                autoComplete="off"
                onChange={({ target }) => change({ waits: target.value })}
              />
            )}
          </Field>
          <MaxDuration retry={retry} errorAt={errorAt} onChange={change} />
        </div>
      )}
      <p className="note" aria-live="polite">
        {of === "timer" ? retryText(retry, usual) : planShown(retry)}
      </p>
    </>
  )
}

interface MaxDurationProps extends Pick<RetryFieldsProps, "retry" | "errorAt"> {
  readonly onChange: (changes: Partial<RetryDraft>) => void
}

const MaxDuration = ({ retry, errorAt, onChange }: MaxDurationProps) => (
  <Field label="Longest duration" hint="No attempt starts later." error={errorAt("/retryPolicy/maxDuration")}>
    {(attributes) => (
      <input
        {...attributes}
        value={retry.maxDuration}
        placeholder="no limit"
        spellCheck={false}
        autoComplete="off"
        onChange={({ target }) => onChange({ maxDuration: target.value })}
      />
    )}
  </Field>
)

const planShown = (retry: RetryDraft, usual?: RetryDraft): string => {
  const plan = planOf(retry, usual)
  return plan === undefined ? "The waits are shown here when the fields are right." : planText(plan)
}

export const retryText = (retry: RetryDraft, usual: RetryDraft | undefined): string => {
  const text = planShown(retry, usual)
  if (retry.form !== "default") return text
  return `${usual === undefined ? "Unless the namespace has its own policy" : "The policy of the namespace"}: ${text}`
}
