/** What the reader can do with a call. The service decides again whether it can be done. */
import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { copyText } from "../../kit/copyText.ts"
import { CloseButton, Dialog } from "../../kit/Dialog.tsx"
import { Link } from "../../kit/Link.tsx"
import { Menu } from "../../kit/Menu.tsx"
import { goTo } from "../../kit/places.ts"
import { useMay } from "../../kit/self.ts"
import { toast } from "../../kit/toasts.tsx"
import { actOnCall, runCallAgain } from "../agentApi.ts"
import { agentHref, callHref } from "../agentPlaces.ts"
import { canCancel, canMove } from "../callTexts.ts"
import { requestCurl } from "../curlTexts.ts"
import { AnnotateDialog } from "./AnnotateDialog.tsx"
import type { FoundCall } from "./Contents.tsx"
import { MoveDialog } from "./MoveDialog.tsx"

export interface CallActionsProps extends FoundCall {
  readonly onChange: () => void
}

type Asking = "cancel" | "move" | "annotate"

export const CallActions = ({ found, onChange }: CallActionsProps) => {
  const { call, request } = found
  const mayWrite = useMay()("calls.write", call.tenantId)
  const queries = useQueryClient()
  const [asking, setAsking] = useState<Asking>()
  const [isBusy, setBusy] = useState(false)
  const close = () => setAsking(undefined)
  const done = () => {
    close()
    onChange()
    void queries.invalidateQueries({ queryKey: ["calls-head"] })
  }
  const runAgain = async () => {
    setBusy(true)
    try {
      const made = await runCallAgain(call.tenantId, call.serviceCallId)
      toast("Submitted again, as a new call.")
      goTo(callHref(made))
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), true)
    }
    setBusy(false)
  }
  const copyCurl = async () => {
    const headers = Object.entries(request.headers ?? {})
    const isCopied = await copyText(requestCurl({ ...request, headers, body: request.body }))
    toast(isCopied ? "Copied as curl." : "The browser did not allow the copy.", !isCopied)
  }
  return (
    <div className="page-actions call-actions">
      {mayWrite && (
        <>
          {canMove(call) && <Button onClick={() => setAsking("move")}>Reschedule</Button>}
          {canCancel(call) && <Button onClick={() => setAsking("cancel")}>Cancel</Button>}
          <Link className="button" href={agentHref("request", call.tenantId, { from: call.serviceCallId })}>
            Edit and run
          </Link>
          <Button look="primary" icon="replay" disabled={isBusy} onClick={() => void runAgain()}>
            Run again
          </Button>
        </>
      )}
      <Menu
        icon="more"
        label="More"
        items={[
          { label: "Copy as curl", icon: "copy", onChoose: () => void copyCurl() },
          ...(mayWrite
            ? [
                {
                  label: "Name and tags …",
                  icon: "edit" as const,
                  onChoose: () => setAsking("annotate"),
                },
              ]
            : []),
        ]}
      />
      {asking === "cancel" && <CancelDialog found={found} onChange={done} onClose={close} />}
      {asking === "move" && <MoveDialog found={found} onChange={done} onClose={close} />}
      {asking === "annotate" && <AnnotateDialog found={found} onChange={done} onClose={close} />}
    </div>
  )
}

export interface CallDialogProps extends CallActionsProps {
  readonly onClose: () => void
}

const CancelDialog = ({ found: { call }, onChange, onClose }: CallDialogProps) => {
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const cancel = async () => {
    setBusy(true)
    try {
      await actOnCall(call.tenantId, call.serviceCallId, "cancel")
      toast("Cancelled. The request will never be made.")
      onChange()
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem))
      setBusy(false)
    }
  }
  return (
    <Dialog
      title="Cancel this call?"
      onClose={onClose}
      actions={
        <>
          <CloseButton onClick={onClose} />
          <Button look="danger" disabled={isBusy} onClick={() => void cancel()}>
            Cancel the call
          </Button>
        </>
      }
    >
      {error !== undefined && (
        <p className="banner banner-bad" role="alert">
          {error}
        </p>
      )}
      <p>
        The request <code>{`${call.method} ${call.url}`}</code> will never be made. This cannot be undone, but
        you can run the call again.
      </p>
    </Dialog>
  )
}
