/** What can be done with a key that exists: give it a new text, or end it. */
import type { NewKeyAnswer, RevokeLeakedKeyAnswer } from "@punctual/api/Keys"
import { type FormEvent, useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { CloseButton, Dialog } from "../../kit/Dialog.tsx"
import { Field } from "../../kit/Field.tsx"
import { call, signIn } from "../../kit/serviceCall.ts"
import { toast } from "../../kit/toasts.tsx"
import { ShownKey } from "./ShownKey.tsx"
import { useChange } from "./useChange.ts"
import type { ApiKey } from "./useKeys.ts"

export interface KeyDialogProps {
  readonly apiKey: ApiKey
  /** The reader is signed in with this key. */
  readonly isOwn: boolean
  readonly onClose: () => void
  readonly onChanged: () => void
}

const graces = [
  { value: "24h", label: "24 hours" },
  { value: "1h", label: "1 hour" },
  { value: "7d", label: "7 days" },
  { value: "0s", label: "Not at all" },
] as const

export const RotateKey = ({ apiKey, isOwn, onClose, onChanged }: KeyDialogProps) => {
  const [grace, setGrace] = useState<string>(graces[0].value)
  const [text, setText] = useState<string>()
  const { isBusy, error, run } = useChange()
  const rotate = async () => {
    const made = await call<typeof NewKeyAnswer.Encoded>("keys/rotate", { id: apiKey.id, grace })
    setText(made.apiKey)
    // The session belongs to the old text. It must not end before the reader has copied the new one.
    if (isOwn) await signIn(made.apiKey)
    else onChanged()
  }
  if (text !== undefined) {
    return (
      <ShownKey
        title={`The new text of “${apiKey.label}”`}
        apiKey={text}
        note={
          grace === "0s"
            ? "The old text does not work any more."
            : `The old text works for ${labelOf(grace)} more. Put the new one in its place until then.`
        }
        onDone={onClose}
      />
    )
  }
  return (
    <Dialog
      title={`Rotate “${apiKey.label}”?`}
      onClose={onClose}
      actions={
        <>
          <CloseButton onClick={onClose} />
          <Button look="primary" disabled={isBusy} onClick={() => run(rotate)}>
            Rotate
          </Button>
        </>
      }
    >
      <p>The key gets a new text. Its id and its rights stay the same.</p>
      <Field label="How long the old text still works">
        {(attributes) => (
          <select {...attributes} value={grace} onChange={({ target }) => setGrace(target.value)}>
            {graces.map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Failure text={error} />
    </Dialog>
  )
}

const labelOf = (grace: string): string => graces.find(({ value }) => value === grace)?.label ?? grace

const Failure = ({ text }: { readonly text: string | undefined }) =>
  text === undefined ? null : (
    <p className="field-error" role="alert">
      {text}
    </p>
  )

export interface RevokeKeyProps extends KeyDialogProps {
  /** No other key of the list may do everything. */
  readonly isLastAdministrator: boolean
}

export const RevokeKey = ({ apiKey, isOwn, isLastAdministrator, onClose, onChanged }: RevokeKeyProps) => {
  const { isBusy, error, run } = useChange()
  const revoke = async () => {
    await call("keys/revoke", { id: apiKey.id })
    toast(`The key “${apiKey.label}” is revoked.`)
    onChanged()
    onClose()
  }
  return (
    <Dialog
      title={`Revoke “${apiKey.label}”?`}
      onClose={onClose}
      actions={
        <>
          <CloseButton onClick={onClose} />
          <Button look="danger" disabled={isBusy} onClick={() => run(revoke)}>
            Revoke the key
          </Button>
        </>
      }
    >
      <p>The key stops working on every node within a second, for good. Its sessions end too.</p>
      {isOwn && (
        <p className="note note-warning">
          <strong>This is your own key.</strong> You are signed out, and need another key to sign in.
        </p>
      )}
      {isLastAdministrator && (
        <p className="note note-warning">
          <strong>This is the last administrator's key.</strong> Afterwards a new one can only be made on the
          machine of the service, with <code>punctual keys create --admin</code>, unless there is one in a
          file (<code>TIMER_ADMIN_KEY_FILE</code>).
        </p>
      )}
      <Failure text={error} />
    </Dialog>
  )
}

export interface RevokeLeakedProps {
  readonly onClose: () => void
  readonly onChanged: () => void
}

export const RevokeLeaked = ({ onClose, onChanged }: RevokeLeakedProps) => {
  const [text, setText] = useState("")
  const { isBusy, error, run } = useChange()
  const revoke = async () => {
    const { result } = await call<typeof RevokeLeakedKeyAnswer.Encoded>("keys/revokeLeaked", {
      apiKey: text.trim(),
    })
    toast(result === "revoked" ? "The key is revoked." : "The key had been revoked already.")
    onChanged()
    onClose()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (text.trim() !== "" && !isBusy) run(revoke)
  }
  return (
    <Dialog
      title="Revoke a leaked key"
      onClose={onClose}
      actions={
        <>
          <CloseButton onClick={onClose} />
          <Button look="danger" type="submit" form="leaked-key" disabled={text.trim() === "" || isBusy}>
            Revoke the key
          </Button>
        </>
      }
    >
      <p>
        If you find a key in a wrong place, such as a log or a chat, end it here. You need no right for it:
        the text of the key is enough.
      </p>
      <form id="leaked-key" onSubmit={submit}>
        <Field label="Text of the key" error={error}>
          {(attributes) => (
            <input
              {...attributes}
              type="password"
              autoComplete="off"
              spellCheck={false}
              maxLength={256}
              placeholder="pnct_…"
              value={text}
              onChange={({ target }) => setText(target.value)}
            />
          )}
        </Field>
      </form>
    </Dialog>
  )
}
