/** The fields that a new timer and a changed timer share. */
import { Field } from "../../kit/Field.tsx"
import { Segments } from "../../kit/Segments.tsx"
import { WordsField } from "../../kit/WordsField.tsx"
import { Fold } from "./Fold.tsx"
import type { ErrorAt } from "./fieldErrors.ts"
import { useNamespaceView } from "./NamespaceField.tsx"
import { PayloadField } from "./PayloadField.tsx"
import { RetryFields, retryText } from "./RetryFields.tsx"
import { WebhookFields } from "./TargetFields.tsx"
import { retryDraftOf, type TargetDraft, type TimerDraft } from "./TimerDraft.ts"
import { WhenField } from "./WhenField.tsx"

export interface TimerFieldsProps {
  readonly draft: TimerDraft
  readonly errorAt: ErrorAt
  readonly onChange: (changes: Partial<TimerDraft>) => void
  /** Without it, the reader may not see payloads and headers, and so cannot change them. */
  readonly showsContent?: boolean
}

export const TimerFields = ({ draft, errorAt, onChange, showsContent = true }: TimerFieldsProps) => (
  <>
    <WhenField {...draft} errorAt={errorAt} onChange={onChange} />
    {showsContent && (
      <>
        <TargetGroup target={draft.target} errorAt={errorAt} onChange={(target) => onChange({ target })} />
        <div className="form-group">
          <PayloadField
            payload={draft.payload}
            error={errorAt("/payload")}
            onChange={(payload) => onChange({ payload })}
          />
        </div>
      </>
    )}
    <div className="form-group">
      <div className="form-row">
        <WordsField
          label="Tags"
          hint="Up to 10 words to find the timer by. Enter or a comma ends a tag."
          words={draft.tags}
          error={errorAt("/tags")}
          onChange={(tags) => onChange({ tags })}
        />
        <Field label="Correlation id" hint="Your own id of the work." error={errorAt("/correlationId")}>
          {(attributes) => (
            <input
              {...attributes}
              value={draft.correlationId}
              placeholder="such as order-4711"
              spellCheck={false}
              autoComplete="off"
              onChange={({ target }) => onChange({ correlationId: target.value })}
            />
          )}
        </Field>
      </div>
    </div>
    <div className="folds">
      <RetryFold draft={draft} errorAt={errorAt} onChange={onChange} />
      <ExpiryFold draft={draft} errorAt={errorAt} onChange={onChange} />
      {showsContent && (
        <OnDeadFold target={draft.onDead} errorAt={errorAt} onChange={(onDead) => onChange({ onDead })} />
      )}
    </div>
  </>
)

interface TargetGroupProps {
  readonly target: TargetDraft
  readonly errorAt: ErrorAt
  readonly onChange: (target: TargetDraft) => void
}

const TargetGroup = ({ target, errorAt, onChange }: TargetGroupProps) => {
  if (target.type === "handler") {
    return (
      <p className="note">
        This timer goes to a handler in the program that runs the engine. The console cannot change that.
      </p>
    )
  }
  return (
    <div className="form-group">
      <Segments
        label="Target"
        value={target.type}
        options={[
          { value: "webhook", label: "Webhook" },
          { value: "event", label: "Event on the bus" },
        ]}
        onChange={(type) => onChange({ ...target, type })}
      />
      {target.type === "webhook" ? (
        <WebhookFields target={target} at="/target" errorAt={errorAt} onChange={onChange} />
      ) : (
        <>
          <p className="note">
            The service publishes an event with the payload. Subscribers of the message bus get it.
          </p>
          <GroupError text={errorAt("/target")} />
        </>
      )}
    </div>
  )
}

const RetryFold = ({ draft, errorAt, onChange }: Omit<TimerFieldsProps, "showsContent">) => {
  const policy = useNamespaceView(draft.namespace.trim())?.retryPolicy
  const usual = policy === undefined ? undefined : retryDraftOf(policy)
  return (
    <Fold
      title="Retries"
      summary={retryText(draft.retry, usual)}
      isForced={errorAt("/retryPolicy") !== undefined}
    >
      <RetryFields
        retry={draft.retry}
        usual={usual}
        errorAt={errorAt}
        onChange={(retry) => onChange({ retry })}
      />
    </Fold>
  )
}

const ExpiryFold = ({ draft, errorAt, onChange }: Omit<TimerFieldsProps, "showsContent">) => (
  <Fold
    title="Expiry"
    summary={
      draft.expireAfter.trim() === ""
        ? "The timer never expires."
        : `${draft.expireAfter} after it is due: ${draft.onExpire === "drop" ? "dropped" : "a dead letter"}.`
    }
    isForced={errorAt("/expireAfter") !== undefined || errorAt("/onExpire") !== undefined}
  >
    <div className="form-row">
      <Field
        label="Expires after"
        hint="If the first attempt has not started this long after the timer is due."
        error={errorAt("/expireAfter")}
      >
        {(attributes) => (
          <input
            {...attributes}
            value={draft.expireAfter}
            placeholder="never"
            spellCheck={false}
            autoComplete="off"
            onChange={({ target }) => onChange({ expireAfter: target.value })}
          />
        )}
      </Field>
      <Field label="What happens then" error={errorAt("/onExpire")}>
        {(attributes) => (
          <select
            {...attributes}
            value={draft.onExpire}
            onChange={({ target }) => onChange({ onExpire: target.value })}
          >
            <option value="dead">It becomes a dead letter</option>
            <option value="drop">It is dropped</option>
          </select>
        )}
      </Field>
    </div>
  </Fold>
)

const onDeadTexts: Readonly<Record<TargetDraft["type"], string>> = {
  none: "Nobody is called, unless the namespace says so.",
  webhook: "A webhook is called.",
  event: "An event is published.",
  handler: "",
}

const OnDeadFold = ({ target, errorAt, onChange }: TargetGroupProps) => (
  <Fold
    title="If it becomes a dead letter"
    summary={onDeadTexts[target.type]}
    isForced={errorAt("/onDead") !== undefined}
  >
    <Segments
      label="Who is called"
      value={target.type}
      options={[
        { value: "none", label: "As the namespace" },
        { value: "webhook", label: "Webhook" },
        { value: "event", label: "Event" },
      ]}
      onChange={(type) => onChange({ ...target, type })}
    />
    {target.type === "webhook" && (
      <WebhookFields target={target} at="/onDead" errorAt={errorAt} onChange={onChange} />
    )}
    {target.type === "event" && <GroupError text={errorAt("/onDead")} />}
  </Fold>
)

const GroupError = ({ text }: { readonly text: string | undefined }) =>
  text === undefined ? null : (
    <p className="field-error" role="alert">
      {text}
    </p>
  )
