/**
 * Changes a pending timer. Only changed fields are sent, with the revision that the reader saw. If somebody else has
 * changed the timer meanwhile, the reader sees both versions and decides.
 */
import type { UpdateTimerAnswer } from "@punctual/api/UpdateTimer"
import { type FormEvent, useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { CloseButton, Dialog } from "../../kit/Dialog.tsx"
import { useMay } from "../../kit/self.ts"
import { ApiProblem, call } from "../../kit/serviceCall.ts"
import { toast } from "../../kit/toasts.tsx"
import { useFormZone } from "../../kit/zone.ts"
import { getTimer, type Timer, type TimerWithPayload } from "../api.ts"
import { type Members, requestText } from "../copy/copyAs.ts"
import { checkDraft, type FieldErrors, missingIn } from "./draftChecks.ts"
import { EditConflict } from "./EditConflict.tsx"
import { Fold } from "./Fold.tsx"
import { errorFinder, errorsOf, type Refused, refusalText } from "./fieldErrors.ts"
import "./new.css"
import { longText } from "../../kit/times.ts"
import { memberWords } from "./memberWords.ts"
import { RefusalBanner } from "./RefusalBanner.tsx"
import { RequestTexts } from "./RequestPanel.tsx"
import { changedMembers, draftOf, draftOnTop, type TimerDraft } from "./TimerDraft.ts"
import { TimerFields } from "./TimerFields.tsx"

export interface EditTimerProps {
  readonly timer: Timer
  /** Absent if there is no payload, or if the reader may not see it. */
  readonly payloadText: string | undefined
  readonly onClose: () => void
  readonly onSaved: () => void
}

export const EditTimer = ({ timer, payloadText, onClose, onSaved }: EditTimerProps) => {
  const formZone = useFormZone()
  // The page behind the dialog stays live. The dialog keeps what the reader saw when it opened.
  const [base, setBase] = useState<TimerWithPayload>({ timer, payloadText })
  const [draft, setDraft] = useState(() => draftOf(timer, payloadText))
  const [theirs, setTheirs] = useState<TimerWithPayload>()
  const [isLeaving, setLeaving] = useState(false)
  const before = draftOf(base.timer, base.payloadText)
  const changes = changedMembers(before, draft, draft.zone ?? formZone)
  const saving = useSaving(base, changes, draft, { onConflict: setTheirs, onSaved, onClose })
  const leave = () => (changes.size === 0 || isLeaving ? onClose() : setLeaving(true))
  const goOn = (version: TimerWithPayload, next: TimerDraft) => {
    setBase(version)
    setDraft(next)
    setTheirs(undefined)
  }
  const title = `Edit ${timer.timerId}`
  if (theirs !== undefined) {
    return (
      <EditConflict
        title={title}
        drafts={{ before, mine: draft, theirs: draftOf(theirs.timer, theirs.payloadText) }}
        timer={theirs.timer}
        onClose={onClose}
        onTop={() => goOn(theirs, draftOnTop(draft, before, draftOf(theirs.timer, theirs.payloadText)))}
        onTheirs={() => goOn(theirs, draftOf(theirs.timer, theirs.payloadText))}
      />
    )
  }
  return (
    <Dialog
      title={title}
      isWide
      onClose={leave}
      actions={
        isLeaving ? (
          <>
            <span className="edit-state" role="alert">
              Your changes are not saved.
            </span>
            <Button onClick={() => setLeaving(false)}>Go on editing</Button>
            <Button look="danger" onClick={onClose}>
              Discard the changes
            </Button>
          </>
        ) : (
          <>
            <span className="edit-state muted">
              {saving.checks.size > 0 ? "Correct what is wrong first." : changesText(changes)}
            </span>
            <CloseButton onClick={leave} />
            <Button
              look="primary"
              disabled={changes.size === 0 || saving.checks.size > 0 || saving.isBusy}
              onClick={saving.save}
            >
              Save
            </Button>
          </>
        )
      }
    >
      <EditForm
        base={base}
        draft={draft}
        changes={changes}
        saving={saving}
        onChange={(next) => {
          setLeaving(false)
          setDraft((now) => ({ ...now, ...next }))
        }}
      />
    </Dialog>
  )
}

const changesText = (changes: Members): string =>
  changes.size === 0 ? "Nothing is changed." : `Changed: ${memberWords(changes.keys()).join(", ")}.`

interface Saving {
  readonly save: () => void
  readonly isBusy: boolean
  readonly refused: Refused | undefined
  readonly checks: FieldErrors
  readonly members: Members
}

interface SavingEnds {
  readonly onConflict: (theirs: TimerWithPayload) => void
  readonly onSaved: () => void
  readonly onClose: () => void
}

const useSaving = (
  { timer }: TimerWithPayload,
  changes: Members,
  draft: TimerDraft,
  { onConflict, onSaved, onClose }: SavingEnds,
): Saving => {
  const formZone = useFormZone()
  const zone = draft.zone ?? formZone
  const [refused, setRefused] = useState<Refused>()
  const [isBusy, setBusy] = useState(false)
  const checks: FieldErrors = new Map([...checkDraft(draft), ...missingIn(draft), ...notRemovable(draft)])
  const { namespace, timerId, revision } = timer
  const members: Members = new Map([
    ["namespace", JSON.stringify(namespace)],
    ["timerId", JSON.stringify(timerId)],
    ...changes,
    ["ifRevision", String(revision)],
  ])
  const save = async () => {
    if (isBusy || changes.size === 0 || checks.size > 0) return
    setBusy(true)
    setRefused(undefined)
    try {
      const { timer: saved, warnings = [] } = await call<typeof UpdateTimerAnswer.Encoded>(
        "timers/update",
        requestText(members),
      )
      toast(`The timer is changed. It fires ${longText(Date.parse(saved.executeAt), zone)} ${zone}.`)
      for (const warning of warnings) toast(`${warning}.`, true)
      onSaved()
      onClose()
    } catch (error) {
      if (error instanceof ApiProblem && error.code === "revisionMismatch") {
        try {
          onConflict(await getTimer(namespace, timerId))
        } catch (second) {
          setRefused({ error: second, sent: members })
        }
      } else setRefused({ error, sent: members })
    }
    setBusy(false)
  }
  return { save: () => void save(), isBusy, refused, checks, members }
}

/** The service can clear other fields, but not this one. */
const notRemovable = ({ correlationId }: TimerDraft): FieldErrors =>
  correlationId === ""
    ? new Map([["/correlationId", "cannot be removed, only changed"]])
    : new Map<string, string>()

interface EditFormProps {
  readonly base: TimerWithPayload
  readonly draft: TimerDraft
  readonly changes: Members
  readonly saving: Saving
  readonly onChange: (changes: Partial<TimerDraft>) => void
}

const EditForm = ({ base: { timer }, draft, changes, saving, onChange }: EditFormProps) => {
  const mayRead = useMay()("payload.read", timer.namespace)
  const { checks, refused, members, save } = saving
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save()
  }
  return (
    <form
      className="edit-form"
      aria-label="The timer"
      noValidate
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event)
      }}
    >
      {refused !== undefined && <RefusalBanner text={whyNotSaved(refused.error)} error={refused.error} />}
      {timer.attempts > 0 && (
        <p className="note">
          {timer.attempts === 1 ? "One attempt has" : `${timer.attempts} attempts have`} failed. If you save a
          change, the attempts start again from the first.
        </p>
      )}
      {!mayRead && (
        <p className="note">
          Your key may not read payloads and headers, so it cannot change the target and the payload.
        </p>
      )}
      <TimerFields
        draft={draft}
        errorAt={errorFinder(errorsOf(checks, refused, members))}
        onChange={onChange}
        showsContent={mayRead}
      />
      {changes.size > 0 && (
        <Fold title="Request" summary={`${changes.size === 1 ? "1 field" : `${changes.size} fields`}`}>
          <RequestTexts call={{ path: "timers/update", members }} />
        </Fold>
      )}
      <button type="submit" hidden>
        Save
      </button>
    </form>
  )
}

const whyNotSaved = (error: unknown): string => {
  const code = error instanceof ApiProblem ? error.code : ""
  if (code === "timerInFlight") {
    return "An attempt is running right now, so the timer cannot be changed. Wait for its end, and save again."
  }
  if (code === "timerNotFound") {
    return "The timer is no longer pending: it was delivered or cancelled, or it became a dead letter."
  }
  if (code === "unreachable") {
    return "The service cannot be reached, so it is not known whether the change was saved. You can save again: the revision makes sure that nothing is overwritten."
  }
  return refusalText(error, true)
}
