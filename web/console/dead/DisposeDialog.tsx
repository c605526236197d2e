/** Asks before the selected dead letters are replayed or discarded, and shows how far it is. */
import { type FormEvent, useEffect, useId, useRef, useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { CloseButton, Dialog } from "../../kit/Dialog.tsx"
import { Progress } from "../../kit/Progress.tsx"
import { ReasonField } from "../../kit/ReasonField.tsx"
import type { Timer } from "../api.ts"
import { PreviewRows } from "../bulk/BulkPreview.tsx"
import "../bulk/bulk.css"
import { deedCount, deeds, numberText } from "../bulk/bulkJob.ts"
import { CountConfirmation, isConfirmed, needsConfirmation } from "../bulk/CountConfirmation.tsx"
import { previewRows } from "../bulk/usePreview.ts"
import { PausedNote } from "../PausedNote.tsx"
import type { DisposeDeed, Disposed } from "./dispose.ts"

export interface DisposeDialogProps {
  readonly deed: DisposeDeed
  readonly timers: ReadonlyArray<Timer>
  /** `reason` is empty if the reader gives none. */
  readonly dispose: (timer: Timer, reason: string) => Promise<Disposed>
  readonly onClose: () => void
  /** All were handled, or the reader stopped. */
  readonly onEnd: (outcomes: Outcomes) => void
}

export type Outcomes = ReadonlyMap<Timer, Disposed>

export const DisposeDialog = ({ deed, timers, dispose, onClose, onEnd }: DisposeDialogProps) => {
  const form = useId()
  const { verb, noun, meaning, isFinal } = deeds[deed]
  const [typed, setTyped] = useState("")
  const [reason, setReason] = useState("")
  const [done, setDone] = useState<number>()
  const [error, setError] = useState<string>()
  const outcomes = useRef(new Map<Timer, Disposed>())
  const isStopped = useRef(false)
  const mustConfirm = needsConfirmation(isFinal, timers.length)
  const isRunning = done !== undefined
  const body = useRef<HTMLFormElement>(null)
  // Without a number to type, the safe button keeps the focus, so that Enter alone discards nothing.
  useEffect(() => {
    if (mustConfirm) body.current?.querySelector("input")?.focus()
  }, [mustConfirm])
  const run = async () => {
    setError(undefined)
    isStopped.current = false
    try {
      for (const timer of timers) {
        if (isStopped.current) break
        if (outcomes.current.has(timer)) continue
        setDone(outcomes.current.size)
        outcomes.current.set(timer, await dispose(timer, reason))
      }
      onEnd(outcomes.current)
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : String(cause))
      setDone(undefined)
    }
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isRunning) return
    if (mustConfirm && !isConfirmed(typed, timers.length))
      setError(`Type the number ${numberText(timers.length)}.`)
    else void run()
  }
  const close = () => {
    isStopped.current = true
    // A request that was sent cannot be taken back. The loop ends after it.
    if (isRunning) return
    if (outcomes.current.size > 0) onEnd(outcomes.current)
    else onClose()
  }
  return (
    <Dialog
      title={`${verb} ${deedCount(deed, timers.length)}`}
      onClose={close}
      isWide
      actions={
        <>
          {isRunning ? <Button onClick={close}>Stop</Button> : <CloseButton onClick={close} />}
          <Button type="submit" form={form} look={isFinal ? "danger" : "primary"} disabled={isRunning}>
            {verb}
          </Button>
        </>
      }
    >
      <section aria-label="Preview" className="bulk-preview">
        {timers.length > 1 && (
          <p className="bulk-count figures">
            <strong>{numberText(timers.length)}</strong> {noun(timers.length)} that you have selected.
          </p>
        )}
        <PreviewRows timers={timers.slice(0, previewRows)} />
        {timers.length > previewRows && (
          <p className="muted figures">
            The first {previewRows} of {numberText(timers.length)}.
          </p>
        )}
      </section>
      <p>{meaning}</p>
      {deed === "replay" && (
        <PausedNote
          namespaces={timers.map(({ namespace }) => namespace)}
          meaning="replayed timers will wait"
        />
      )}
      <form ref={body} id={form} className="bulk-form" onSubmit={submit} noValidate>
        {deed === "discard" && <ReasonField hint="The audit shows it." value={reason} onChange={setReason} />}
        {mustConfirm && (
          <CountConfirmation count={timers.length} typed={typed} error={undefined} onType={setTyped} />
        )}
      </form>
      {isRunning && timers.length > 1 && (
        <div className="job-progress">
          <Progress label="Progress" value={done} max={timers.length} />
          <span className="figures muted">
            {numberText(done)} of {numberText(timers.length)}
          </span>
        </div>
      )}
      {error !== undefined && (
        <p className="banner banner-bad bulk-problem" role="alert">
          {error}
        </p>
      )}
    </Dialog>
  )
}
