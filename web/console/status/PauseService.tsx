/** Asks before all firing stops, and says what will happen. */
import { useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { CloseButton, Dialog } from "../../kit/Dialog.tsx"
import { formErrors } from "../../kit/formErrors.ts"
import { ReasonField, reasonGiven } from "../../kit/ReasonField.tsx"
import { toast } from "../../kit/toasts.tsx"
import { useServiceChange } from "./useServiceChange.ts"

export const PauseService = ({ onClose }: { readonly onClose: () => void }) => {
  const [reason, setReason] = useState("")
  const change = useServiceChange("pause")
  const errors = formErrors(change.error, ["/reason"])
  const act = async () => {
    await change.mutateAsync(reasonGiven("reason", reason))
    toast("The service is paused. Nothing fires.")
    onClose()
  }
  return (
    <Dialog
      title="Pause the whole service?"
      onClose={onClose}
      actions={
        <>
          <CloseButton onClick={onClose} />
          <Button look="danger" icon="pause" type="submit" form="pause-form" disabled={change.isPending}>
            Pause
          </Button>
        </>
      }
    >
      <ul className="consequences">
        <li>
          No attempt starts, in any namespace and on any node, within a second. Attempts that run now finish.
        </li>
        <li>The service still accepts timers. Those that become due wait, and fire when you resume.</li>
        <li>
          The time of the pause does not count against <code>expireAfter</code> and <code>maxDuration</code>.
        </li>
        <li>The pause survives restarts.</li>
      </ul>
      <form
        id="pause-form"
        onSubmit={(event) => {
          event.preventDefault()
          // A failure is shown in the dialog.
          void act().catch(() => undefined)
        }}
      >
        <ReasonField
          hint="Every page shows it."
          placeholder="The ledger moves to another database"
          value={reason}
          error={errors.at("/reason")}
          onChange={setReason}
        />
      </form>
      {errors.others.map((text) => (
        <p key={text} className="field-error" role="alert">
          {text}
        </p>
      ))}
    </Dialog>
  )
}
