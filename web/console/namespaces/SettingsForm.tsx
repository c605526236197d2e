/** Changes the settings of a namespace. The service checks them, and the form shows what it says beside each field. */
import { useEffect, useRef, useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { Field } from "../../kit/Field.tsx"
import { type FormErrors, formErrors } from "../../kit/formErrors.ts"
import { Segments } from "../../kit/Segments.tsx"
import { useMay } from "../../kit/self.ts"
import { toast } from "../../kit/toasts.tsx"
import type { NamespaceView } from "../api.ts"
import { RetryFields } from "../new/RetryFields.tsx"
import { WebhookFields } from "../new/TargetFields.tsx"
import { emptyDraft, type RetryDraft, type TargetDraft } from "../new/TimerDraft.ts"
import "../new/new.css"
import { changesOf, type SettingsDraft, settingsDraftOf } from "./settingsDraft.ts"
import { usePutNamespace } from "./usePutNamespace.ts"

export interface SettingsFormProps {
  /** The settings when the reader began. Later changes by others do not touch the form. */
  readonly view: NamespaceView
  readonly onClose: () => void
}

const quotaFields = [
  {
    name: "maxPending",
    label: "Pending timers, at most",
    usual: "as the service",
    hint: "Further creates are refused with 429.",
  },
  {
    name: "maxInFlight",
    label: "Attempts at once, at most",
    usual: "as the service",
    hint: "Further due timers wait.",
  },
  {
    name: "createsPerSecond",
    label: "Creates a second, at most",
    usual: "no limit",
    hint: "Further creates are refused with 429.",
  },
] as const

const pointers = [
  ...quotaFields.map(({ name }) => `/${name}`),
  "/retryPolicy",
  ...Object.keys(emptyDraft.retry).map((name) => `/retryPolicy/${name}`),
  "/onDead",
  ...["url", "method", "headers", "timeout", "body"].map((name) => `/onDead/${name}`),
]

export const SettingsForm = ({ view, onClose }: SettingsFormProps) => {
  const [began] = useState(view)
  const [draft, setDraft] = useState(() => settingsDraftOf(view))
  const put = usePutNamespace(began.namespace)
  const errors = formErrors(put.error, pointers)
  const changes = changesOf(draft, began)
  const count = Object.keys(changes).length
  const change = (changed: Partial<SettingsDraft>) => setDraft({ ...draft, ...changed })
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (put.error !== null) form.current?.querySelector<HTMLElement>("[aria-invalid]")?.focus()
  }, [put.error])
  const save = async () => {
    await put.mutateAsync(changes)
    toast(`The settings of ${began.namespace} are saved.`)
    onClose()
  }
  return (
    <form
      ref={form}
      className="settings-form"
      aria-label="Settings"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        // A failure is shown in the form.
        void save().catch(() => undefined)
      }}
    >
      <fieldset className="form-part">
        <legend>Quotas</legend>
        <div className="form-columns">
          {quotaFields.map(({ name, label, usual, hint }) => (
            <Field key={name} label={label} hint={hint} error={errors.at(`/${name}`)}>
              {(attributes) => (
                <input
                  {...attributes}
                  inputMode="numeric"
                  autoComplete="off"
                  placeholder={usual}
                  value={draft[name]}
                  onChange={({ target }) => change({ [name]: target.value })}
                />
              )}
            </Field>
          ))}
        </div>
      </fieldset>
      <RetryPart retry={draft.retry} errors={errors} onChange={(retry) => change({ retry })} />
      <OnDeadPart
        namespace={began.namespace}
        onDead={draft.onDead}
        errors={errors}
        onChange={(onDead) => change({ onDead })}
      />
      {errors.others.map((text) => (
        <ErrorText key={text} text={text} />
      ))}
      <div className="form-actions">
        <Button look="primary" type="submit" disabled={count === 0 || put.isPending}>
          {count > 1 ? `Save ${count} changes` : "Save"}
        </Button>
        <Button onClick={onClose}>Discard the changes</Button>
      </div>
    </form>
  )
}

const ErrorText = ({ text }: { readonly text: string | undefined }) =>
  text !== undefined && (
    <p className="field-error" role="alert">
      {text}
    </p>
  )

interface PartProps<A> {
  readonly errors: FormErrors
  readonly onChange: (value: A) => void
}

const RetryPart = ({ retry, errors, onChange }: PartProps<RetryDraft> & { readonly retry: RetryDraft }) => (
  <fieldset className="form-part">
    <legend>Retries</legend>
    <RetryFields retry={retry} of="namespace" usual={undefined} errorAt={errors.at} onChange={onChange} />
    <p className="field-hint">
      For timers that have no policy of their own, and for fields that their own policy leaves out.
    </p>
    <ErrorText text={errors.at("/retryPolicy")} />
  </fieldset>
)

interface OnDeadPartProps extends PartProps<TargetDraft> {
  readonly namespace: string
  readonly onDead: TargetDraft
}

const OnDeadPart = ({ namespace, onDead, errors, onChange }: OnDeadPartProps) => {
  const may = useMay()
  // Whoever chooses the target can read the payloads of dead timers there.
  const mayChoose = may("payload.read", namespace)
  return (
    <fieldset className="form-part" disabled={!mayChoose}>
      <legend>When a timer dies</legend>
      <Segments
        label="Who is called"
        value={onDead.type}
        options={[
          { value: "none", label: "Nobody" },
          { value: "webhook", label: "Webhook" },
          { value: "event", label: "Event" },
        ]}
        onChange={(type) => onChange({ ...onDead, type })}
      />
      <p className="field-hint">
        {mayChoose
          ? "For timers that do not say it themselves."
          : "Your key may not change this, because the call shows payloads. It needs the action payload.read."}
      </p>
      <ErrorText text={errors.at("/onDead")} />
      {onDead.type === "webhook" && (
        <WebhookFields target={onDead} at="/onDead" errorAt={errors.at} onChange={onChange} />
      )}
    </fieldset>
  )
}
