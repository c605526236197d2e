/** Asks before firing goes on. After a restore from a backup the reader must agree that overdue timers fire. */
import { useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { CloseButton, Dialog } from "../../kit/Dialog.tsx"
import { Moment } from "../../kit/Moment.tsx"
import { toast } from "../../kit/toasts.tsx"
import type { ServiceState } from "../api.ts"
import { useOverdue } from "../useOverdue.ts"
import { useServiceChange } from "./useServiceChange.ts"

type Pause = NonNullable<ServiceState["pause"]>

export interface ResumeServiceProps {
  readonly pause: Pause
  readonly onClose: () => void
}

export const ResumeService = ({ pause, onClose }: ResumeServiceProps) => {
  const isRestored = pause.kind === "restored"
  const [firesOverdue, setFiresOverdue] = useState(false)
  const overdue = useOverdue("*")
  const change = useServiceChange("resume")
  const act = async () => {
    await change.mutateAsync(isRestored ? { fireOverdue: true } : {})
    toast("Timers fire again.")
    onClose()
  }
  return (
    <Dialog
      title="Resume the service?"
      onClose={onClose}
      actions={
        <>
          <CloseButton onClick={onClose} />
          <Button
            look={isRestored ? "danger" : "primary"}
            icon="play"
            disabled={change.isPending || (isRestored && !firesOverdue)}
            // A failure is shown in the dialog.
            onClick={() => void act().catch(() => undefined)}
          >
            {isRestored ? "Resume and fire overdue timers" : "Resume"}
          </Button>
        </>
      }
    >
      {isRestored ? (
        <Restored pause={pause} overdue={overdue} isChecked={firesOverdue} onCheck={setFiresOverdue} />
      ) : (
        <ul className="consequences">
          <li>
            Timers that became due during the pause start at once, as many at a time as the limits allow.
            {overdue === undefined ? "" : ` Now ${overdue} overdue.`}
          </li>
          <li>Paused namespaces stay paused.</li>
        </ul>
      )}
      {change.error !== null && (
        <p className="field-error" role="alert">
          {change.error.message}
        </p>
      )}
    </Dialog>
  )
}

interface RestoredProps {
  readonly pause: Pause
  readonly overdue: string | undefined
  readonly isChecked: boolean
  readonly onCheck: (isChecked: boolean) => void
}

const Restored = ({ pause, overdue, isChecked, onCheck }: RestoredProps) => (
  <>
    <p>
      The store was restored from a backup <Moment at={pause.since} />. A backup does not know what happened
      later: the service may have fired some of the overdue timers before the restore. If you resume now, all
      overdue timers fire at once, <strong>some of them for the second time</strong>.
    </p>
    <p>
      {overdue === undefined ? "" : `Now ${overdue} overdue. `}
      To cancel them, or to make them dead letters and decide one by one, stop the service and run{" "}
      <code>punctual restore --due-before now discard</code> or <code>… dead</code>. That also ends the pause.
    </p>
    <label className="check">
      <input type="checkbox" checked={isChecked} onChange={({ target }) => onCheck(target.checked)} />
      <span>Fire all overdue timers. The receivers ignore a webhook-id that they know.</span>
    </label>
  </>
)
