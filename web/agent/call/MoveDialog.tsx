/** Gives a scheduled call another due time. */
import { parseDuration } from "@punctual/api/parseDuration"
import { type FormEvent, useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { CloseButton, Dialog } from "../../kit/Dialog.tsx"
import { isoText } from "../../kit/times.ts"
import { toast } from "../../kit/toasts.tsx"
import { useZone } from "../../kit/zone.ts"
import { actOnCall } from "../agentApi.ts"
import { type DueDraft, DueField } from "../DueField.tsx"
import type { CallDialogProps } from "./CallActions.tsx"

export const MoveDialog = ({ found: { call }, onChange, onClose }: CallDialogProps) => {
  const pageZone = useZone()
  const [due, setDue] = useState<DueDraft>({ when: "at", delay: "1h", atMs: Date.parse(call.dueAt) })
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const isComplete =
    due.when === "now" ||
    (due.when === "in" ? parseDuration(due.delay.trim()) !== undefined : due.atMs !== undefined)
  const move = async () => {
    setBusy(true)
    setError(undefined)
    try {
      const body =
        due.when === "at"
          ? { dueAt: isoText(due.atMs ?? 0, due.zone ?? pageZone) }
          : { delay: due.when === "now" ? "0s" : due.delay.trim() }
      await actOnCall(call.tenantId, call.serviceCallId, "reschedule", body)
      toast("The call has a new due time.")
      onChange()
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem))
      setBusy(false)
    }
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isComplete && !isBusy) void move()
  }
  return (
    <Dialog
      title="Reschedule"
      isWide
      onClose={onClose}
      actions={
        <>
          <CloseButton onClick={onClose} />
          <Button look="primary" disabled={!isComplete || isBusy} onClick={() => void move()}>
            Reschedule
          </Button>
        </>
      }
    >
      {error !== undefined && (
        <p className="banner banner-bad" role="alert">
          {error}
        </p>
      )}
      <form onSubmit={submit}>
        <DueField
          due={due}
          errorAt={() => undefined}
          onChange={(changes) => setDue({ ...due, ...changes })}
        />
        <button type="submit" hidden />
      </form>
    </Dialog>
  )
}
