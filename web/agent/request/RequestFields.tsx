/** The form: what to call, with what, and when. */
import { Button } from "../../kit/Button.tsx"
import { copyText } from "../../kit/copyText.ts"
import { Field } from "../../kit/Field.tsx"
import { HeaderRows } from "../../kit/HeaderRows.tsx"
import { Menu } from "../../kit/Menu.tsx"
import { useSelf } from "../../kit/self.ts"
import { toast } from "../../kit/toasts.tsx"
import { WordsField } from "../../kit/WordsField.tsx"
import { useZone } from "../../kit/zone.ts"
import { callMethodNames } from "../calls/callSearch.ts"
import { requestCurl, submissionCurl } from "../curlTexts.ts"
import { DueField } from "../DueField.tsx"
import { BodyField } from "./BodyField.tsx"
import { emptyDraft, requestToCopy, submissionText } from "./requestDraft.ts"
import type { RequestForm } from "./useRequestForm.ts"

const headersMax = 64

export interface RequestFieldsProps {
  readonly tenant: string
  readonly form: RequestForm
}

export const RequestFields = ({ tenant, form }: RequestFieldsProps) => {
  const { draft, errorAt, change, submit } = form
  return (
    <form
      ref={form.form}
      className="card request-form"
      noValidate
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event)
      }}
    >
      {form.refusal !== undefined && (
        <p className="banner banner-bad" role="alert">
          {form.refusal}
        </p>
      )}
      <div className="address">
        <Field label="Method" error={errorAt("/request/method")}>
          {(attributes) => (
            <select
              {...attributes}
              value={draft.method}
              onChange={({ target }) => change({ method: target.value })}
            >
              {callMethodNames.map((method) => (
                <option key={method}>{method}</option>
              ))}
            </select>
          )}
        </Field>
        <Field label="URL" error={errorAt("/request/url")}>
          {(attributes) => (
            <input
              {...attributes}
              className="mono"
              inputMode="url"
              placeholder="https://api.example.com/invoices"
              maxLength={8192}
              value={draft.url}
              spellCheck={false}
              autoComplete="off"
              autoCapitalize="off"
              onChange={({ target }) => change({ url: target.value })}
            />
          )}
        </Field>
      </div>
      <Field label="Name" error={errorAt("/name")}>
        {(attributes) => (
          <input
            {...attributes}
            placeholder="What it is for, for people"
            maxLength={200}
            value={draft.name}
            autoComplete="off"
            onChange={({ target }) => change({ name: target.value })}
          />
        )}
      </Field>
      <HeaderRows
        headers={draft.headers}
        headersMax={headersMax}
        error={errorAt("/request/headers")}
        onChange={(headers) => change({ headers: grown(headers) })}
      />
      <BodyField form={form} />
      <DueField
        due={draft.due}
        errorAt={errorAt}
        onChange={(changes) => change({ due: { ...draft.due, ...changes } })}
      />
      <WordsField
        label="Tags"
        hint="Enter or a comma ends a tag."
        words={draft.tags}
        error={errorAt("/tags")}
        onChange={(tags) => change({ tags })}
      />
      <Field
        label="Call id"
        hint="Made by the agent if it is empty. The same id never makes a second call."
        error={errorAt("/serviceCallId")}
      >
        {(attributes) => (
          <input
            {...attributes}
            className="short-input mono"
            maxLength={240}
            value={draft.serviceCallId}
            spellCheck={false}
            autoComplete="off"
            onChange={({ target }) => change({ serviceCallId: target.value })}
          />
        )}
      </Field>
      <FormEnd tenant={tenant} form={form} />
    </form>
  )
}

/** There is always an empty row at the end. */
const grown = (headers: RequestForm["draft"]["headers"]): RequestForm["draft"]["headers"] => {
  const last = headers.at(-1)
  const isFull = headers.length >= headersMax || (last !== undefined && last.name === "" && last.value === "")
  return isFull
    ? headers
    : [...headers, { row: Math.max(-1, ...headers.map(({ row }) => row)) + 1, name: "", value: "" }]
}

const submitWords = { now: "Send now", in: "Schedule", at: "Schedule" } as const

const FormEnd = ({ tenant, form }: RequestFieldsProps) => {
  const { draft } = form
  const zone = useZone()
  const needsKey = useSelf()?.keysRequired === true
  const copy = async (text: string) => {
    const isCopied = await copyText(text)
    toast(isCopied ? "Copied as curl." : "The browser did not allow the copy.", !isCopied)
  }
  return (
    <div className="request-end">
      <Button look="primary" type="submit" disabled={form.isBusy}>
        {submitWords[draft.due.when]}
      </Button>
      <span className="muted request-keys">
        <kbd>Ctrl</kbd> <kbd>Enter</kbd>
      </span>
      <Menu
        icon="copy"
        items={[
          {
            label: "The request itself",
            onChoose: () => void copy(requestCurl(requestToCopy(draft))),
          },
          {
            label: "The submission to the agent",
            onChoose: () => void copy(submissionCurl(tenant, submissionText(draft, zone), needsKey)),
          },
        ]}
      >
        Copy as curl
      </Menu>
      <Button look="quiet" onClick={() => form.change(emptyDraft)}>
        Clear
      </Button>
    </div>
  )
}
