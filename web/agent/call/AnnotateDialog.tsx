/** Changes the name and the tags of a call. Both are for people, so they can change at any time. */
import { type FormEvent, useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { CloseButton, Dialog } from "../../kit/Dialog.tsx"
import { Field } from "../../kit/Field.tsx"
import { focusedFirst } from "../../kit/focusedFirst.ts"
import { formErrors } from "../../kit/formErrors.ts"
import { WordsField } from "../../kit/WordsField.tsx"
import { annotateCall } from "../agentApi.ts"
import type { CallDialogProps } from "./CallActions.tsx"

export const AnnotateDialog = ({ found: { call }, onChange, onClose }: CallDialogProps) => {
  const [name, setName] = useState(call.name)
  const [tags, setTags] = useState<ReadonlyArray<string>>(call.tags)
  const [error, setError] = useState<Error | null>(null)
  const [isBusy, setBusy] = useState(false)
  const errors = formErrors(error, ["/name", "/tags"])
  const save = async () => {
    setBusy(true)
    setError(null)
    try {
      await annotateCall(call.tenantId, call.serviceCallId, { name: name.trim(), tags })
      onChange()
    } catch (problem) {
      setError(problem instanceof Error ? problem : new Error(String(problem)))
      setBusy(false)
    }
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isBusy) void save()
  }
  return (
    <Dialog
      title="Name and tags"
      onClose={onClose}
      actions={
        <>
          <CloseButton onClick={onClose} />
          <Button look="primary" disabled={isBusy} onClick={() => void save()}>
            Save
          </Button>
        </>
      }
    >
      {errors.others.map((text) => (
        <p key={text} className="banner banner-bad" role="alert">
          {text}
        </p>
      ))}
      <form onSubmit={submit}>
        <Field label="Name" error={errors.at("/name")}>
          {(attributes) => (
            <input
              {...attributes}
              ref={focusedFirst}
              value={name}
              maxLength={200}
              autoComplete="off"
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
        <WordsField
          label="Tags"
          hint="Enter or a comma ends a tag. At most 10."
          words={tags}
          error={errors.at("/tags")}
          onChange={setTags}
        />
        <button type="submit" hidden />
      </form>
    </Dialog>
  )
}
