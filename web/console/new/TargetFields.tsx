/** Where a timer goes: a webhook with its details, or an event on the bus. */
import { Field } from "../../kit/Field.tsx"
import { HeaderRows } from "../../kit/HeaderRows.tsx"
import { Fold } from "./Fold.tsx"
import type { ErrorAt } from "./fieldErrors.ts"
import type { TargetDraft } from "./TimerDraft.ts"

const methods = ["POST", "PUT", "PATCH", "GET", "DELETE"]
const headersMax = 32

export interface WebhookFieldsProps {
  readonly target: TargetDraft
  /** The pointer of the target in the request. */
  readonly at: "/target" | "/onDead"
  readonly errorAt: ErrorAt
  readonly onChange: (target: TargetDraft) => void
}

export const WebhookFields = ({ target, at, errorAt, onChange }: WebhookFieldsProps) => {
  const change = (changes: Partial<TargetDraft>) => onChange({ ...target, ...changes })
  const details = detailsText(target)
  const detailErrors = ["/headers", "/timeout", "/method", "/body"].some((field) => errorAt(`${at}${field}`))
  return (
    <>
      <Field label="URL" isRequired error={errorAt(`${at}/url`)}>
        {(attributes) => (
          <input
            {...attributes}
            inputMode="url"
            placeholder="such as https://example.com/hook"
            value={target.url}
            spellCheck={false}
            autoComplete="off"
            onChange={(event) => change({ url: event.target.value })}
          />
        )}
      </Field>
      <Fold title="Method, headers, timeout and body" summary={details} isForced={detailErrors}>
        <div className="form-row">
          <Field label="Method" error={errorAt(`${at}/method`)}>
            {(attributes) => (
              <select
                {...attributes}
                value={target.method}
                onChange={(event) => change({ method: event.target.value })}
              >
                {methods.map((method) => (
                  <option key={method}>{method}</option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Timeout" hint="15s when empty." error={errorAt(`${at}/timeout`)}>
            {(attributes) => (
              <input
                {...attributes}
                value={target.timeout}
                placeholder="15s"
                spellCheck={false}
                autoComplete="off"
                onChange={(event) => change({ timeout: event.target.value })}
              />
            )}
          </Field>
        </div>
        <Field label="Body" error={errorAt(`${at}/body`)}>
          {(attributes) => (
            <select
              {...attributes}
              value={target.body}
              onChange={(event) => change({ body: event.target.value })}
            >
              <option value="envelope">The timer with its payload</option>
              <option value="payload">The payload alone</option>
            </select>
          )}
        </Field>
        <HeaderRows
          headers={target.headers}
          headersMax={headersMax}
          error={errorAt(`${at}/headers`)}
          onChange={(headers) => change({ headers })}
        />
      </Fold>
    </>
  )
}

const detailsText = ({ method, timeout, body, headers }: TargetDraft): string => {
  const named = headers.filter(({ name }) => name !== "").length
  return [
    method,
    timeout === "" ? "15s" : timeout,
    body === "payload" ? "payload alone" : "timer with payload",
    named === 0 ? "no headers" : named === 1 ? "1 header" : `${named} headers`,
  ].join(" · ")
}
