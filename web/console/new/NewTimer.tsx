/** The form for a new timer, and beside it the request that it sends. */
import { Button } from "../../kit/Button.tsx"
import { Field } from "../../kit/Field.tsx"
import { useSettled } from "../../kit/useSettled.ts"
import { PausedNote } from "../PausedNote.tsx"
import { CreateResult } from "./CreateResult.tsx"
import { isNamespaceName } from "./draftChecks.ts"
import { type ErrorAt, refusalText } from "./fieldErrors.ts"
import { NamespaceField } from "./NamespaceField.tsx"
import { RefusalBanner } from "./RefusalBanner.tsx"
import { RequestPanel } from "./RequestPanel.tsx"
import type { TimerDraft } from "./TimerDraft.ts"
import { TimerFields } from "./TimerFields.tsx"
import { useNewTimer } from "./useNewTimer.ts"

export interface NewTimerProps {
  readonly initial: TimerDraft
  /** Remarks about the fields that are filled in already. */
  readonly notes?: ReadonlyArray<string>
}

export const NewTimer = ({ initial, notes = [] }: NewTimerProps) => {
  const { form, draft, members, errorAt, refused, created, canCreate, change, again, submit } =
    useNewTimer(initial)
  return (
    <div className="new-timer">
      <form
        ref={form}
        className="card new-form"
        aria-label="New timer"
        noValidate
        onSubmit={submit}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event)
        }}
      >
        {created !== undefined && <CreateResult created={created} onAnother={again} />}
        {notes.map((note) => (
          <p key={note} className="note">
            {note}
          </p>
        ))}
        {refused !== undefined && (
          <RefusalBanner text={refusalText(refused.error, draft.timerId !== "")} error={refused.error} />
        )}
        <KeyFields draft={draft} errorAt={errorAt} onChange={change} />
        <TimerFields draft={draft} errorAt={errorAt} onChange={change} />
        <div className="form-end">
          <Button look="primary" type="submit" disabled={!canCreate}>
            Create the timer
          </Button>
          <span className="muted form-keys">
            <kbd>Ctrl</kbd> <kbd>Enter</kbd>
          </span>
          <span className="muted">* is needed</span>
        </div>
      </form>
      <RequestPanel call={{ path: "timers/create", members }} />
    </div>
  )
}

interface KeyFieldsProps {
  readonly draft: TimerDraft
  readonly errorAt: ErrorAt
  readonly onChange: (changes: Partial<TimerDraft>) => void
}

const KeyFields = ({ draft, errorAt, onChange }: KeyFieldsProps) => {
  const namespace = useSettled(draft.namespace.trim())
  return (
    <div className="form-group">
      <div className="form-row">
        <NamespaceField
          namespace={draft.namespace}
          error={errorAt("/namespace")}
          onChange={(namespace) => onChange({ namespace })}
        />
        <Field
          label="Id"
          hint={draft.timerId === "" ? "Empty: the service makes one." : undefined}
          error={errorAt("/timerId")}
        >
          {(attributes) => (
            <input
              {...attributes}
              value={draft.timerId}
              placeholder="such as invoice-4711-reminder"
              spellCheck={false}
              autoComplete="off"
              onChange={({ target }) => onChange({ timerId: target.value })}
            />
          )}
        </Field>
      </div>
      <PausedNote
        namespaces={isNamespaceName(namespace) ? [namespace] : []}
        meaning="it accepts the timer, but the timer will wait"
      />
      {draft.timerId !== "" && (
        <Field label="If a timer with this id is pending" error={errorAt("/onExisting")}>
          {(attributes) => (
            <select
              {...attributes}
              value={draft.onExisting}
              onChange={({ target }) => onChange({ onExisting: target.value })}
            >
              <option value="replace">Replace it</option>
              <option value="keep">Keep it</option>
              <option value="fail">Refuse this one</option>
            </select>
          )}
        </Field>
      )}
    </div>
  )
}
