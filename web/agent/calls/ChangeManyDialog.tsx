/** Shows which calls a change concerns before it is made, then how far it is, then what it did. */
import { useEffect, useRef, useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { CloseButton, Dialog } from "../../kit/Dialog.tsx"
import { Field } from "../../kit/Field.tsx"
import { focusedFirst } from "../../kit/focusedFirst.ts"
import { Progress } from "../../kit/Progress.tsx"
import { ApiProblem } from "../../kit/serviceCall.ts"
import type { Call } from "../agentApi.ts"
import { StatusBadge } from "../StatusBadge.tsx"
import type { ChangeManyMenuProps } from "./ChangeManyMenu.tsx"
import { filterQuery } from "./callSearch.ts"
import {
  concernedAmong,
  concernedBy,
  type ManyAct,
  type ManyResult,
  manyActs,
  needsTag,
  runChange,
  statusesFor,
} from "./changeMany.ts"

export interface ChangeManyDialogProps extends ChangeManyMenuProps {
  readonly act: ManyAct
  /** Only these calls, and not all that match the search. */
  readonly selected?: ReadonlyArray<Call>
  readonly onClose: () => void
}

const shownMax = 20

const callsText = (count: number): string => `${count.toLocaleString("en")} ${count === 1 ? "call" : "calls"}`

export const ChangeManyDialog = (props: ChangeManyDialogProps) => {
  const { tenant, act, search, onDone, onClose } = props
  // Counts go on changing behind the dialog. What the reader agrees to must stay as it was shown.
  const [shown] = useState({ counts: props.counts, calls: props.calls, selected: props.selected })
  const [tag, setTag] = useState("")
  const [result, setResult] = useState<ManyResult>()
  const [error, setError] = useState<Error>()
  const [isRunning, setRunning] = useState(false)
  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])
  const { selected } = shown
  const count =
    selected === undefined ? concernedBy(act, search, shown.counts) : concernedAmong(act, selected).length
  const start = async () => {
    setRunning(true)
    setError(undefined)
    try {
      const options = { tenant, act, tag: tag.trim(), search, selected, expectedCount: count ?? 0 }
      setResult(await runChange({ ...options, signal: stop.current.signal, onProgress: setResult }))
    } catch (problem) {
      setError(problem instanceof Error ? problem : new Error(String(problem)))
    }
    setRunning(false)
    onDone()
  }
  const canStart = !isRunning && count !== undefined && count > 0 && (!needsTag(act) || tag.trim() !== "")
  const isOver = result !== undefined && !isRunning
  return (
    <Dialog
      title={`${manyActs[act].label}: ${count === undefined ? "…" : callsText(count)}`}
      onClose={onClose}
      actions={
        isOver ? (
          <Button look="primary" onClick={onClose}>
            Close
          </Button>
        ) : (
          <>
            {isRunning ? <Button onClick={onClose}>Stop</Button> : <CloseButton onClick={onClose} />}
            <Button
              look={act === "cancel" ? "danger" : "primary"}
              disabled={!canStart}
              onClick={() => void start()}
            >
              {manyActs[act].label}
            </Button>
          </>
        )
      }
    >
      {error !== undefined && (
        <p className="banner banner-bad" role="alert">
          {error instanceof ApiProblem && error.code === "countChanged"
            ? `${error.message} Close this and look at the list again.`
            : error.message}
        </p>
      )}
      {result === undefined ? (
        <Preview {...props} selected={selected} shown={shown} count={count}>
          {needsTag(act) && (
            <Field label="Tag">
              {(attributes) => (
                <input
                  {...attributes}
                  ref={focusedFirst}
                  value={tag}
                  maxLength={64}
                  spellCheck={false}
                  autoComplete="off"
                  onChange={({ target }) => setTag(target.value)}
                />
              )}
            </Field>
          )}
        </Preview>
      ) : (
        <Outcome act={act} result={result} count={count ?? 0} isRunning={isRunning} />
      )}
    </Dialog>
  )
}

interface PreviewProps extends Omit<ChangeManyDialogProps, "selected"> {
  readonly selected: ReadonlyArray<Call> | undefined
  readonly shown: Pick<ChangeManyMenuProps, "counts" | "calls">
  readonly count: number | undefined
  readonly children: React.ReactNode
}

const Preview = ({ act, search, selected, shown, count, children }: PreviewProps) => {
  const concerned = statusesFor(act, search)
  const all =
    selected === undefined
      ? shown.calls.filter(({ status }) => concerned.includes(status))
      : concernedAmong(act, selected)
  const calls = all.slice(0, shownMax)
  const words = Object.entries(filterQuery({ ...search, status: [] })).map(
    ([field, value]) => `${field} ${value}`,
  )
  return (
    <>
      <p>
        {count === 0
          ? `The ${selected === undefined ? "list" : "selection"} has no call with which this can be done.`
          : selected !== undefined
            ? `This concerns ${count === selected.length ? "all" : `${count} of the`} ${callsText(selected.length)} that you selected.`
            : `This concerns ${count === undefined ? "all calls" : callsText(count)}${shown.counts?.capped ? " or more" : ""} with the status ${concerned.join(", ")}${words.length === 0 ? "" : `, and ${words.join(", ")}`}.`}
        {act === "cancel" && count !== 0 ? " Their requests will never be made." : ""}
      </p>
      {children}
      {calls.length > 0 && (
        <div>
          <h3>{calls.length === count ? "All of them" : `The first ${calls.length}`}</h3>
          <ul className="many-preview">
            {calls.map((call) => (
              <li key={call.serviceCallId}>
                <span>{call.name}</span>
                <StatusBadge status={call.status} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  )
}

interface OutcomeProps {
  readonly act: ManyAct
  readonly result: ManyResult
  readonly count: number
  readonly isRunning: boolean
}

const Outcome = ({ act, result: { changed, skipped, isDone }, count, isRunning }: OutcomeProps) => (
  <>
    {isRunning && <Progress label="Progress" value={changed + skipped} max={count} />}
    <p className="figures" role="status">
      {isRunning ? "" : isDone ? "Done. " : "Stopped. "}
      {callsText(changed)} {manyActs[act].done}
      {skipped > 0 ? `, ${skipped.toLocaleString("en")} skipped because nothing could be changed there` : ""}.
    </p>
  </>
)
