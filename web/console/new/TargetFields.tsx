/** Where a timer goes: a webhook with its details, or an event on the bus. */
import { Button } from "../../kit/Button.tsx"
import { Field } from "../../kit/Field.tsx"
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
      <Field label="URL" error={errorAt(`${at}/url`)}>
        {(attributes) => (
          <input
            {...attributes}
            inputMode="url"
            placeholder="https://example.com/hook"
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
        <HeaderRows target={target} error={errorAt(`${at}/headers`)} onChange={change} />
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

interface HeaderRowsProps {
  readonly target: TargetDraft
  readonly error: string | undefined
  readonly onChange: (changes: Partial<TargetDraft>) => void
}

const HeaderRows = ({ target: { headers }, error, onChange }: HeaderRowsProps) => {
  const edit = (row: number, changes: { readonly name?: string; readonly value?: string }) =>
    onChange({ headers: headers.map((header) => (header.row === row ? { ...header, ...changes } : header)) })
  return (
    <fieldset className="headers">
      <legend>Headers</legend>
      {headers.map(({ row, name, value }, index) => (
        <div key={row} className="header-row">
          <input
            aria-label={`Name of header ${index + 1}`}
            placeholder="x-name"
            value={name}
            spellCheck={false}
            autoComplete="off"
            onChange={({ target }) => edit(row, { name: target.value })}
          />
          <input
            aria-label={`Value of header ${index + 1}`}
            placeholder="value"
            value={value}
            spellCheck={false}
            autoComplete="off"
            onChange={({ target }) => edit(row, { value: target.value })}
          />
          <Button
            look="quiet"
            icon="close"
            label={`Remove header ${index + 1}`}
            onClick={() => onChange({ headers: headers.filter((header) => header.row !== row) })}
          />
        </div>
      ))}
      {error !== undefined && (
        <p className="field-error" role="alert">
          {error}
        </p>
      )}
      {headers.length < headersMax && (
        <Button
          isSmall
          icon="plus"
          onClick={() =>
            onChange({
              headers: [
                ...headers,
                { row: Math.max(-1, ...headers.map(({ row }) => row)) + 1, name: "", value: "" },
              ],
            })
          }
        >
          Add a header
        </Button>
      )}
    </fieldset>
  )
}
