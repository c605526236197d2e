/** Asks before a namespace is paused or resumed, and says what will happen. */
import { type FormEvent, useId, useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { countText } from "../../kit/countText.ts"
import { CloseButton, Dialog } from "../../kit/Dialog.tsx"
import { formErrors } from "../../kit/formErrors.ts"
import { ReasonField, reasonGiven } from "../../kit/ReasonField.tsx"
import { toast } from "../../kit/toasts.tsx"
import type { NamespaceView } from "../api.ts"
import { useOverdue } from "../useOverdue.ts"
import { usePutNamespace } from "./usePutNamespace.ts"

export interface PauseNamespaceProps {
  readonly view: NamespaceView
  readonly onClose: () => void
}

export const PauseNamespace = ({ view, onClose }: PauseNamespaceProps) => {
  const { namespace, paused, pending } = view
  const put = usePutNamespace(namespace)
  const overdue = useOverdue(namespace, paused)
  const form = useId()
  const [reason, setReason] = useState("")
  const errors = formErrors(put.error, ["/pauseReason"])
  const verb = paused ? "Resume" : "Pause"
  const act = async (event: FormEvent) => {
    event.preventDefault()
    await put.mutateAsync({ paused: !paused, ...reasonGiven("pauseReason", reason) })
    toast(paused ? `${namespace} fires again.` : `${namespace} is paused.`)
    onClose()
  }
  return (
    <Dialog
      title={`${verb} ${namespace}?`}
      onClose={onClose}
      actions={
        <>
          <CloseButton onClick={onClose} />
          <Button
            look={paused ? "primary" : "danger"}
            icon={paused ? "play" : "pause"}
            type="submit"
            form={form}
            disabled={put.isPending}
          >
            {verb}
          </Button>
        </>
      }
    >
      {paused ? <Resuming overdue={overdue} /> : <Pausing pending={countText(pending)} />}
      {/* A failure is shown in the dialog. */}
      <form id={form} onSubmit={(event) => void act(event).catch(() => undefined)} noValidate>
        {!paused && (
          <ReasonField
            hint="Others see it where they see the pause."
            placeholder="The receiver is being moved"
            value={reason}
            error={errors.at("/pauseReason")}
            onChange={setReason}
          />
        )}
      </form>
      {errors.others.map((text) => (
        <p key={text} className="field-error" role="alert">
          {text}
        </p>
      ))}
    </Dialog>
  )
}

const Pausing = ({ pending }: { readonly pending: string }) => (
  <ul className="consequences">
    <li>No attempt starts. Attempts that run now finish.</li>
    <li>The namespace still accepts timers. {pending} are pending now.</li>
    <li>Timers that become due wait, and fire when you resume.</li>
    <li>
      The time of the pause does not count against <code>expireAfter</code> and <code>maxDuration</code>.
    </li>
    <li>The pause holds on all nodes within a second, and survives restarts.</li>
  </ul>
)

const Resuming = ({ overdue }: { readonly overdue: string | undefined }) => (
  <ul className="consequences">
    <li>
      Timers that became due during the pause start at once, as many at a time as the limits allow.
      {overdue === undefined ? "" : ` Now ${overdue} waiting.`}
    </li>
    <li>The others fire when they are due.</li>
  </ul>
)
