/** The parts of the filter that need more room: tag, method, host, and the span of the due time. */
import { type FormEvent, useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { Dialog } from "../../kit/Dialog.tsx"
import { Field } from "../../kit/Field.tsx"
import { focusedFirst } from "../../kit/focusedFirst.ts"
import { changeParameters } from "../../kit/places.ts"
import { clockText, dayText, instantIn } from "../../kit/times.ts"
import { useZone } from "../../kit/zone.ts"
import { type CallSearch, callMethodNames } from "./callSearch.ts"

interface Draft {
  readonly tag: string
  readonly method: string
  readonly host: string
  readonly starred: string
  readonly fromDay: string
  readonly fromClock: string
  readonly untilDay: string
  readonly untilClock: string
}

const draftOf = (search: CallSearch, zone: string): Draft => {
  const parts = (iso: string | undefined) => {
    const atMs = iso === undefined ? Number.NaN : Date.parse(iso)
    return Number.isNaN(atMs)
      ? { day: "", clock: "" }
      : { day: dayText(atMs, zone), clock: clockText(atMs, zone) }
  }
  const [from, until] = [parts(search.from), parts(search.until)]
  return {
    tag: search.tag ?? "",
    method: search.method ?? "",
    host: search.host ?? "",
    starred: search.starred === undefined ? "" : String(search.starred),
    fromDay: from.day,
    fromClock: from.clock,
    untilDay: until.day,
    untilClock: until.clock,
  }
}

/** Undefined if there is no day. Not a number if the texts make no sense. */
const instantOf = (zone: string, day: string, clock: string): number | undefined =>
  day === "" ? undefined : (instantIn(zone, day, clock.trim() === "" ? "00:00" : clock.trim()) ?? Number.NaN)

export interface FilterDialogProps {
  readonly search: CallSearch
  readonly onClose: () => void
}

export const FilterDialog = ({ search, onClose }: FilterDialogProps) => {
  const zone = useZone()
  const [draft, setDraft] = useState(() => draftOf(search, zone))
  const change = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes })
  const fromMs = instantOf(zone, draft.fromDay, draft.fromClock)
  const untilMs = instantOf(zone, draft.untilDay, draft.untilClock)
  const isReversed = fromMs !== undefined && untilMs !== undefined && untilMs <= fromMs
  const isWrong = Number.isNaN(fromMs) || Number.isNaN(untilMs) || isReversed
  const apply = (event?: FormEvent) => {
    event?.preventDefault()
    if (isWrong) return
    const iso = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString())
    changeParameters({
      tag: draft.tag.trim(),
      method: draft.method,
      host: draft.host.trim(),
      starred: draft.starred,
      from: iso(fromMs),
      until: iso(untilMs),
    })
    onClose()
  }
  const clear = () => {
    changeParameters({
      tag: undefined,
      method: undefined,
      host: undefined,
      starred: undefined,
      from: undefined,
      until: undefined,
    })
    onClose()
  }
  return (
    <Dialog
      title="Filter"
      onClose={onClose}
      actions={
        <>
          <Button onClick={clear}>Clear</Button>
          <Button look="primary" disabled={isWrong} onClick={() => apply()}>
            Show these calls
          </Button>
        </>
      }
    >
      <form onSubmit={apply}>
        <div className="form-row">
          <Field label="Tag">
            {(attributes) => (
              <input
                {...attributes}
                ref={focusedFirst}
                value={draft.tag}
                maxLength={64}
                spellCheck={false}
                autoComplete="off"
                onChange={({ target }) => change({ tag: target.value })}
              />
            )}
          </Field>
          <Field label="Star">
            {(attributes) => (
              <select
                {...attributes}
                value={draft.starred}
                onChange={({ target }) => change({ starred: target.value })}
              >
                <option value="">With and without</option>
                <option value="true">With a star</option>
                <option value="false">Without a star</option>
              </select>
            )}
          </Field>
          <Field label="Method">
            {(attributes) => (
              <select
                {...attributes}
                value={draft.method}
                onChange={({ target }) => change({ method: target.value })}
              >
                <option value="">Any</option>
                {callMethodNames.map((method) => (
                  <option key={method}>{method}</option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Host">
            {(attributes) => (
              <input
                {...attributes}
                value={draft.host}
                placeholder="api.example.com"
                maxLength={260}
                spellCheck={false}
                autoComplete="off"
                onChange={({ target }) => change({ host: target.value })}
              />
            )}
          </Field>
        </div>
        <SpanFields
          label="Due from"
          isWrong={Number.isNaN(fromMs)}
          draft={draft}
          part="from"
          onChange={change}
        />
        <SpanFields
          label="Due before"
          isWrong={Number.isNaN(untilMs)}
          error={isReversed ? "The end must be after the beginning." : undefined}
          draft={draft}
          part="until"
          onChange={change}
        />
        <p className="muted">Times are in {zone}. Leave a date empty for no limit.</p>
        <button type="submit" hidden />
      </form>
    </Dialog>
  )
}

interface SpanFieldsProps {
  readonly label: string
  readonly isWrong: boolean
  readonly error?: string | undefined
  readonly draft: Draft
  readonly part: "from" | "until"
  readonly onChange: (changes: Partial<Draft>) => void
}

const SpanFields = ({ label, isWrong, error, draft, part, onChange }: SpanFieldsProps) => (
  <div className="form-row">
    <Field label={`${label}, date`} error={error}>
      {(attributes) => (
        <input
          {...attributes}
          type="date"
          value={draft[`${part}Day`]}
          onChange={({ target }) => onChange({ [`${part}Day`]: target.value })}
        />
      )}
    </Field>
    <Field label={`${label}, time`} error={isWrong ? "Use a time such as 09:30 or 09:30:00." : undefined}>
      {(attributes) => (
        <input
          {...attributes}
          inputMode="numeric"
          placeholder="00:00"
          value={draft[`${part}Clock`]}
          onChange={({ target }) => onChange({ [`${part}Clock`]: target.value })}
        />
      )}
    </Field>
  </div>
)
