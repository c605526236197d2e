/** Asks before a namespace is paused or resumed, and says what will happen. */
import { Button } from "../../kit/Button.tsx"
import { countText } from "../../kit/countText.ts"
import { CloseButton, Dialog } from "../../kit/Dialog.tsx"
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
  const verb = paused ? "Resume" : "Pause"
  const act = async () => {
    await put.mutateAsync({ paused: !paused })
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
            disabled={put.isPending}
            // A failure is shown in the dialog.
            onClick={() => void act().catch(() => undefined)}
          >
            {verb}
          </Button>
        </>
      }
    >
      {paused ? <Resuming overdue={overdue} /> : <Pausing pending={countText(pending)} />}
      {put.error !== null && (
        <p className="field-error" role="alert">
          {put.error.message}
        </p>
      )}
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
