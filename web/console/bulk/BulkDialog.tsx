/**
 * Starts a job on all timers that match a search. It shows first what the job would change, and it asks for the reason,
 * which the job and the audit records show to others.
 */
import { useMutation } from "@tanstack/react-query"
import { type FormEvent, useEffect, useId, useRef, useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { CloseButton, Dialog } from "../../kit/Dialog.tsx"
import { Field } from "../../kit/Field.tsx"
import { ReasonField } from "../../kit/ReasonField.tsx"
import { ApiProblem, call } from "../../kit/serviceCall.ts"
import { durationText } from "../../kit/times.ts"
import { PausedNote } from "../PausedNote.tsx"
import type { SearchRequest } from "../timers/search.ts"
import { BulkPreview } from "./BulkPreview.tsx"
import "./bulk.css"
import { type BulkDeed, type BulkJob, bulkFilterOf, deedCount, deeds, numberText } from "./bulkJob.ts"
import { CountConfirmation, isConfirmed, needsConfirmation } from "./CountConfirmation.tsx"
import { usePreview } from "./usePreview.ts"

export interface BulkDialogProps {
  readonly deed: BulkDeed
  readonly request: SearchRequest
  readonly onClose: () => void
  readonly onStarted: (job: BulkJob) => void
}

const defaultPace = 500
const paceMax = 5_000

interface Draft {
  readonly reason: string
  readonly perSecond: string
  readonly typed: string
}

type Errors = Partial<Record<keyof Draft, string>>

const isPace = (text: string): boolean =>
  /^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= paceMax

/** `confirmed`: the count that the reader must type, if any. */
const errorsIn = ({ reason, perSecond, typed }: Draft, confirmed: number | undefined): Errors => ({
  ...(reason.trim() === "" ? { reason: "Say why." } : {}),
  ...(isPace(perSecond) ? {} : { perSecond: `It must be a whole number from 1 to ${numberText(paceMax)}.` }),
  ...(confirmed === undefined || isConfirmed(typed, confirmed)
    ? {}
    : { typed: `Type the number ${numberText(confirmed)}.` }),
})

/** What the service found wrong, at the field that it concerns. */
const errorsOf = (error: Error | null): Errors =>
  error instanceof ApiProblem
    ? Object.fromEntries(
        error.errors.flatMap(({ pointer, detail }) =>
          pointer === "/reason" || pointer === "/perSecond" ? [[pointer.slice(1), detail]] : [],
        ),
      )
    : {}

export const BulkDialog = ({ deed, request, onClose, onStarted }: BulkDialogProps) => {
  const form = useId()
  const { verb, noun, meaning, isFinal } = deeds[deed]
  const filter = bulkFilterOf(request)
  const preview = usePreview(deed, filter)
  const counted = preview.count.data
  const { count, capped } = counted ?? { count: 0, capped: false }
  const confirmed = needsConfirmation(isFinal, count, capped) ? count : undefined
  const hasNothing = count === 0 && !capped
  const [draft, setDraft] = useState<Draft>({ reason: "", perSecond: String(defaultPace), typed: "" })
  const [tries, setTries] = useState(0)
  const fields = useRef<HTMLFormElement>(null)
  // The first field gets the focus, and after a try the first one that is wrong.
  useEffect(() => {
    const target = tries === 0 ? "input" : "[aria-invalid=true]"
    fields.current?.querySelector<HTMLInputElement>(target)?.focus()
  }, [tries])
  const start = useMutation({
    mutationFn: () =>
      call<{ readonly job: BulkJob }>("bulk/start", {
        do: deed,
        filter,
        reason: draft.reason.trim(),
        perSecond: Number(draft.perSecond),
        expect: count,
      }),
    onSuccess: ({ job }) => onStarted(job),
  })
  const wrong = errorsIn(draft, confirmed)
  const errors = { ...errorsOf(start.error), ...(tries > 0 ? wrong : {}) }
  const change = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTries(tries + 1)
    if (Object.keys(wrong).length === 0 && !hasNothing) start.mutate()
  }
  return (
    <Dialog
      title={`${verb} all ${noun(2)} that match`}
      onClose={onClose}
      isWide
      actions={
        <>
          <CloseButton onClick={onClose} />
          <Button
            type="submit"
            form={form}
            look={isFinal ? "danger" : "primary"}
            disabled={hasNothing || start.isPending}
          >
            {counted === undefined ? verb : `${verb} ${deedCount(deed, count)}${capped ? " or more" : ""}`}
          </Button>
        </>
      }
    >
      <BulkPreview deed={deed} filter={filter} count={preview.count} first={preview.first} />
      <p>{meaning}</p>
      {deed === "replay" && (
        <PausedNote
          namespaces={preview.first.data?.timers.map(({ namespace }) => namespace) ?? []}
          meaning="replayed timers will wait"
        />
      )}
      <form ref={fields} id={form} className="bulk-form" onSubmit={submit} noValidate>
        <ReasonField
          hint="Others see it at the job and in the audit."
          isRequired
          value={draft.reason}
          error={errors.reason}
          onChange={(reason) => change({ reason })}
        />
        <Field label="Most per second" hint={paceHint(deed, draft.perSecond, count)} error={errors.perSecond}>
          {(attributes) => (
            <input
              {...attributes}
              inputMode="numeric"
              value={draft.perSecond}
              onChange={({ target }) => change({ perSecond: target.value })}
            />
          )}
        </Field>
        {confirmed !== undefined && (
          <CountConfirmation
            count={confirmed}
            typed={draft.typed}
            error={errors.typed}
            onType={(typed) => change({ typed })}
          />
        )}
      </form>
      {start.error !== null && Object.keys(errorsOf(start.error)).length === 0 && (
        <StartProblem
          error={start.error}
          onCountAgain={() => {
            start.reset()
            change({ typed: "" })
            void preview.again()
          }}
        />
      )}
    </Dialog>
  )
}

const paceHint = (deed: BulkDeed, perSecond: string, count: number): string => {
  const kind = deed === "replay" ? "Slower is kinder to the receivers. " : ""
  if (!isPace(perSecond) || count === 0) return `${kind}At most ${numberText(paceMax)}.`
  const seconds = Math.max(1, Math.ceil(count / Number(perSecond)))
  return `${kind}It takes about ${durationText(seconds * 1_000)}.`
}

interface StartProblemProps {
  readonly error: Error
  readonly onCountAgain: () => void
}

const StartProblem = ({ error, onCountAgain }: StartProblemProps) => (
  <div className="banner banner-bad bulk-problem" role="alert">
    <span>{error.message}</span>
    {error instanceof ApiProblem && error.code === "countChanged" && (
      <Button isSmall onClick={onCountAgain}>
        Count again
      </Button>
    )}
  </div>
)
