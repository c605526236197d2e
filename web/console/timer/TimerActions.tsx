/** What the reader can do with a timer. Actions that change it ask first, and send its revision, so that nobody's change is lost. */
import { useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { copyText } from "../../kit/copyText.ts"
import { CloseButton, Dialog } from "../../kit/Dialog.tsx"
import { Menu, type MenuItem } from "../../kit/Menu.tsx"
import { goTo } from "../../kit/places.ts"
import { ReasonField, reasonGiven } from "../../kit/ReasonField.tsx"
import { useMay, useSelf } from "../../kit/self.ts"
import { ApiProblem, call } from "../../kit/serviceCall.ts"
import { serviceUrl } from "../../kit/serviceUrl.ts"
import { toast } from "../../kit/toasts.tsx"
import type { Timer, TimerWithPayload } from "../api.ts"
import { membersOfObject } from "../copy/copyAs.ts"
import { callForms } from "../copy/copyForms.ts"
import { hrefOf } from "../location.ts"
import { EditTimer } from "../new/EditTimer.tsx"
import { PausedNote } from "../PausedNote.tsx"
import { targetText } from "../timers/targetText.ts"

interface Step {
  readonly timer: Timer
  /** Whether the timer is meant to fire, so that a pause matters. */
  readonly isToFire?: boolean
  readonly title: string
  readonly question: string
  readonly button: string
  readonly isDangerous?: boolean
  readonly asksReason?: boolean
  /** `reason` is empty if the reader gives none. */
  readonly run: (reason: string) => Promise<string>
}

export interface TimerActionsProps {
  readonly found: TimerWithPayload
  readonly onChange: () => void
}

export const TimerActions = ({ found, onChange }: TimerActionsProps) => {
  const { timer } = found
  const may = useMay()
  const [step, setStep] = useState<Step>()
  const needsKey = useSelf()?.keysRequired === true
  const [edited, setEdited] = useState<TimerWithPayload>()
  const { namespace, timerId } = timer
  const isPending = timer.state === "pending"
  const mayWrite = may("timers.write", namespace)
  const mayCancel = may("timers.cancel", namespace)
  const more: ReadonlyArray<MenuItem> = [
    ...(mayWrite
      ? [
          {
            label: "Duplicate",
            icon: "duplicate" as const,
            onChoose: () => goTo(hrefOf("new", { from: namespace, id: timerId })),
          },
        ]
      : []),
    ...copyItems(timer, needsKey),
    ...(isPending && mayCancel
      ? [
          {
            label: "Cancel the timer",
            icon: "close" as const,
            isDangerous: true,
            onChoose: () => setStep(cancelStep(timer)),
          },
        ]
      : []),
    ...(timer.state === "dead" && may("dead.discard", namespace)
      ? [
          {
            label: "Discard",
            icon: "trash" as const,
            isDangerous: true,
            onChoose: () => setStep(discardStep(timer)),
          },
        ]
      : []),
  ]
  return (
    <>
      {isPending && mayWrite && (
        <Button icon="edit" onClick={() => setEdited(found)}>
          Edit
        </Button>
      )}
      {isPending && mayWrite && (
        <Button icon="bolt" onClick={() => setStep(fireNowStep(timer))}>
          Fire now
        </Button>
      )}
      {timer.state === "dead" && may("dead.replay", namespace) && (
        <Button look="primary" icon="replay" onClick={() => setStep(replayStep(timer))}>
          Replay
        </Button>
      )}
      <Menu icon="more" label="More" items={more} />
      {edited !== undefined && (
        <EditTimer {...edited} onClose={() => setEdited(undefined)} onSaved={onChange} />
      )}
      {step !== undefined && <Confirm step={step} onClose={() => setStep(undefined)} onDone={onChange} />}
    </>
  )
}

const key = ({ namespace, timerId }: Timer) => ({ namespace, timerId })

const fireNowStep = (timer: Timer): Step => ({
  timer,
  isToFire: true,
  title: "Fire now?",
  question: "The timer becomes due at once. Its attempts start again from the first.",
  button: "Fire now",
  run: async () => {
    await call("timers/update", { ...key(timer), delay: "0s", ifRevision: timer.revision })
    return "The timer is due now."
  },
})

const cancelStep = (timer: Timer): Step => ({
  timer,
  title: "Cancel this timer?",
  question: "It will not fire. You can create a timer with the same id again.",
  button: "Cancel the timer",
  isDangerous: true,
  run: async () => {
    const { result } = await call<{ result: string }>("timers/delete", {
      ...key(timer),
      ifRevision: timer.revision,
    })
    return result === "inFlight"
      ? "An attempt is already running and cannot be called back. No other will follow."
      : "The timer is cancelled."
  },
})

const replayStep = (timer: Timer): Step => ({
  timer,
  isToFire: true,
  title: "Replay this dead letter?",
  question: "It becomes due now, with all its attempts.",
  button: "Replay",
  run: async () => {
    const { replayed } = await call<{ replayed: number }>("timers/replay", key(timer))
    return replayed === 1
      ? "Replayed: the timer is due now."
      : "It was skipped: a timer with its id is pending."
  },
})

const discardStep = (timer: Timer): Step => ({
  timer,
  title: "Discard this dead letter?",
  question: "It is removed permanently, with its payload.",
  button: "Discard",
  isDangerous: true,
  asksReason: true,
  run: async (reason) => {
    await call("timers/discard", { ...key(timer), ...reasonGiven("reason", reason) })
    return "The dead letter is discarded."
  },
})

interface ConfirmProps {
  readonly step: Step
  readonly onClose: () => void
  readonly onDone: () => void
}

const Confirm = ({ step, onClose, onDone }: ConfirmProps) => {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<string>()
  const [reason, setReason] = useState("")
  const run = async () => {
    setBusy(true)
    setError(undefined)
    try {
      toast(await step.run(reason))
      onClose()
      onDone()
    } catch (problem) {
      setError(whyFailed(problem))
      onDone()
    }
    setBusy(false)
  }
  return (
    <Dialog
      title={step.title}
      onClose={onClose}
      actions={
        <>
          <CloseButton onClick={onClose} />
          <Button look={step.isDangerous === true ? "danger" : "primary"} disabled={isBusy} onClick={run}>
            {step.button}
          </Button>
        </>
      }
    >
      <p className="confirm-name">
        <strong>
          {step.timer.namespace} / {step.timer.timerId}
        </strong>{" "}
        <span className="muted">to {targetText(step.timer)}</span>
      </p>
      <p>{step.question}</p>
      {step.asksReason === true && (
        <ReasonField hint="The audit shows it." value={reason} onChange={setReason} />
      )}
      {step.isToFire === true && (
        <PausedNote namespaces={[step.timer.namespace]} meaning="the timer will wait" />
      )}
      {error !== undefined && (
        <p className="field-error" role="alert">
          {error}
        </p>
      )}
    </Dialog>
  )
}

const whyFailed = (problem: unknown): string => {
  if (problem instanceof ApiProblem && problem.code === "revisionMismatch") {
    return "Somebody changed the timer in the meantime. The page now shows the new version: look at it, and decide again."
  }
  if (problem instanceof ApiProblem && problem.code === "timerInFlight") {
    return "An attempt is running. Wait for its end, and try again."
  }
  return problem instanceof Error ? problem.message : String(problem)
}

const copyItems = (timer: Timer, needsKey: boolean): ReadonlyArray<MenuItem> => {
  const get = { path: "timers/get", members: membersOfObject(key(timer)) }
  const service = { url: serviceUrl(), needsKey }
  const copy = async (text: string) => {
    const isCopied = await copyText(text)
    toast(isCopied ? "Copied." : "The browser did not allow the copy.", !isCopied)
  }
  return [
    ...callForms.map(
      ({ label, text }): MenuItem => ({
        label: `Copy as ${label}`,
        icon: "copy",
        onChoose: () => void copy(text(get, service) ?? ""),
      }),
    ),
    { label: "Copy link", icon: "copy", onChoose: () => void copy(location.href) },
    { label: "Copy as JSON", icon: "copy", onChoose: () => void copy(JSON.stringify(timer, undefined, 2)) },
  ]
}
