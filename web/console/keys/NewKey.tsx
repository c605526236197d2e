/** Makes a key: for whom, what it may do, where, and until when. */
import type { NewKeyAnswer } from "@punctual/api/Keys"
import { type FormEvent, useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { CloseButton, Dialog } from "../../kit/Dialog.tsx"
import { Field } from "../../kit/Field.tsx"
import { call, signIn } from "../../kit/serviceCall.ts"
import { WordsField } from "../../kit/WordsField.tsx"
import {
  type ActionName,
  actionNames,
  actionWords,
  everything,
  type RoleName,
  roleNames,
  roles,
  wholeServiceActions,
} from "./rights.ts"
import { ShownKey } from "./ShownKey.tsx"
import { type Change, useChange } from "./useChange.ts"

export interface NewKeyProps {
  /** There is no key yet. The first one must be an administrator's. */
  readonly isFirst?: boolean
  readonly onClose: () => void
  readonly onMade: () => void
}

interface KeyDraft {
  readonly label: string
  readonly role: RoleName | "actions"
  readonly actions: ReadonlyArray<ActionName>
  /** None means all. */
  readonly namespaces: ReadonlyArray<string>
  readonly expiresIn: string
}

const expiries = [
  { value: "", label: "Never" },
  { value: "1d", label: "In a day" },
  { value: "30d", label: "In 30 days" },
  { value: "90d", label: "In 90 days" },
  { value: "365d", label: "In a year" },
] as const

const emptyKey: KeyDraft = { label: "", role: "app", actions: [], namespaces: [], expiresIn: "" }
const firstKey: KeyDraft = { ...emptyKey, label: "administrator", role: "admin" }

type MadeKey = typeof NewKeyAnswer.Encoded

export const NewKey = ({ isFirst = false, onClose, onMade }: NewKeyProps) => {
  const [draft, setDraft] = useState(isFirst ? firstKey : emptyKey)
  const [made, setMade] = useState<MadeKey>()
  const change = useChange()
  const create = async () => {
    const answer = await call<MadeKey>("keys/create", requestOfKey(draft))
    setMade(answer)
    // From the first key on, every call needs one. The reader must not be locked out by making it.
    if (isFirst) await signIn(answer.apiKey)
    else onMade()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!change.isBusy) change.run(create)
  }
  if (made !== undefined) {
    return (
      <ShownKey
        title={`The key “${made.key.label}”`}
        apiKey={made.apiKey}
        {...(isFirst
          ? { note: "From now on every call needs a key. This browser is signed in with this one." }
          : {})}
        onDone={onClose}
      />
    )
  }
  return (
    <Dialog
      title={isFirst ? "The first key" : "New key"}
      onClose={onClose}
      actions={
        <>
          <CloseButton onClick={onClose} />
          <Button
            look="primary"
            type="submit"
            form="new-key"
            disabled={draft.label.trim() === "" || change.isBusy}
          >
            Make the key
          </Button>
        </>
      }
    >
      <KeyForm draft={draft} isFirst={isFirst} change={change} onChange={setDraft} onSubmit={submit} />
    </Dialog>
  )
}

const requestOfKey = ({ label, role, actions, namespaces, expiresIn }: KeyDraft): object => ({
  label: label.trim(),
  ...(role === "actions" ? { actions } : { role }),
  ...(namespaces.length === 0 ? {} : { namespaces }),
  ...(expiresIn === "" ? {} : { expiresIn }),
})

interface KeyFormProps extends RightsFieldsProps {
  readonly isFirst: boolean
  readonly onSubmit: (event: FormEvent) => void
}

const KeyForm = ({ draft, isFirst, change, onChange, onSubmit }: KeyFormProps) => (
  <form id="new-key" noValidate onSubmit={onSubmit}>
    <Field label="Label" hint="What the key is for, or who has it." error={change.errorAt("/label")}>
      {(attributes) => (
        <input
          {...attributes}
          value={draft.label}
          maxLength={100}
          placeholder="billing service"
          autoComplete="off"
          onChange={({ target }) => onChange({ ...draft, label: target.value })}
        />
      )}
    </Field>
    {isFirst ? (
      <p className="note">
        The first key is an administrator's: it may do everything, everywhere. With it you make the others.
      </p>
    ) : (
      <RightsFields draft={draft} change={change} onChange={onChange} />
    )}
    <Field label="It stops working" error={change.errorAt("/expiresIn")}>
      {(attributes) => (
        <select
          {...attributes}
          value={draft.expiresIn}
          onChange={({ target }) => onChange({ ...draft, expiresIn: target.value })}
        >
          {expiries.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Field>
    {change.error !== undefined && (
      <p className="field-error" role="alert">
        {change.error}
      </p>
    )}
  </form>
)

interface RightsFieldsProps {
  readonly draft: KeyDraft
  readonly change: Change
  readonly onChange: (draft: KeyDraft) => void
}

const RightsFields = ({ draft, change, onChange }: RightsFieldsProps) => (
  <>
    <fieldset className="roles">
      <legend>What it may do</legend>
      {[...roleNames, "actions" as const].map((role) => (
        <label key={role} className="role">
          <input
            type="radio"
            name="role"
            checked={draft.role === role}
            onChange={() => onChange({ ...draft, role })}
          />
          <span>
            <strong>{role === "actions" ? "Single actions" : roles[role].label}</strong>
            <span className="muted">{role === "actions" ? "Choose them one by one." : roles[role].text}</span>
          </span>
        </label>
      ))}
    </fieldset>
    {draft.role === "actions" && <ActionFields draft={draft} change={change} onChange={onChange} />}
    <WordsField
      label="Namespaces"
      hint="Names, or prefixes such as team-*. Empty: all namespaces."
      placeholder="all"
      words={draft.namespaces}
      error={change.errorAt("/namespaces")}
      onChange={(namespaces) => onChange({ ...draft, namespaces })}
    />
    {draft.namespaces.length > 0 && !draft.namespaces.includes(everything) && draft.role !== "app" && (
      <p className="note">
        Actions on the whole service, such as seeing its state and managing keys, need all namespaces. This
        key will not have them.
      </p>
    )}
  </>
)

const ActionFields = ({ draft, change, onChange }: RightsFieldsProps) => (
  <fieldset className="actions-list">
    <legend className="visually-hidden">Actions</legend>
    {actionNames.map((name) => (
      <label key={name}>
        <input
          type="checkbox"
          checked={draft.actions.includes(name)}
          onChange={({ target }) =>
            onChange({
              ...draft,
              actions: target.checked
                ? [...draft.actions, name]
                : draft.actions.filter((other) => other !== name),
            })
          }
        />
        <span>
          {actionWords[name]} <code className="muted">{name}</code>
          {wholeServiceActions.has(name) && <span className="visually-hidden"> (whole service)</span>}
        </span>
      </label>
    ))}
    {change.errorAt("/actions") !== undefined && (
      <p className="field-error" role="alert">
        {change.errorAt("/actions")}
      </p>
    )}
  </fieldset>
)
