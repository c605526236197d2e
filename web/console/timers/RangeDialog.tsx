/** Chooses the span of time of a list by date and time, in the zone of the page. */
import { type FormEvent, useId, useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { Dialog } from "../../kit/Dialog.tsx"
import { Field } from "../../kit/Field.tsx"
import { focusedFirst } from "../../kit/focusedFirst.ts"
import { nowMs } from "../../kit/now.ts"
import { changeParameters } from "../../kit/places.ts"
import { clockText, daysToMonday, dayText, instantIn, laterDay } from "../../kit/times.ts"
import { useZone } from "../../kit/zone.ts"
import { spanText } from "./stripSpan.ts"

export interface RangeDialogProps {
  readonly from: string | undefined
  readonly until: string | undefined
  readonly of: RangeOf
  readonly onClose: () => void
}

/** Which time of a timer the span is about. */
export type RangeOf = "due" | "finished" | "died"

const titles: Readonly<Record<RangeOf, string>> = {
  due: "When timers are due",
  finished: "When timers finished",
  died: "When timers became dead letters",
}

interface DayAndTime {
  readonly day: string
  readonly clock: string
}

interface Range {
  readonly fromMs: number | undefined
  readonly untilMs: number | undefined
}

/** A span that begins or ends at midnight is one of whole days, so the reader can add times to it. */
const partsOf = (iso: string | undefined, zone: string, isEnd: boolean): DayAndTime => {
  const atMs = Date.parse(iso ?? "")
  if (Number.isNaN(atMs)) return { day: "", clock: "" }
  const clock = clockText(atMs, zone)
  if (clock !== "00:00:00") return { day: dayText(atMs, zone), clock }
  return { day: dayText(isEnd ? atMs - 1 : atMs, zone), clock: "" }
}

const dayMs = 86_400_000

interface Typed {
  readonly start: DayAndTime
  readonly end: DayAndTime
}

/** The span, and what is wrong with the fields. */
const readRange = ({ start, end }: Typed, zone: string): Range & { readonly error?: string } => {
  const fromMs = start.day === "" ? undefined : instantIn(zone, start.day, start.clock.trim() || "00:00")
  // A day without a time belongs to the span as a whole.
  const untilMs =
    end.day === ""
      ? undefined
      : end.clock.trim() === ""
        ? endOfDay(zone, end.day)
        : instantIn(zone, end.day, end.clock.trim())
  const range = { fromMs, untilMs }
  const isUnread = (start.day !== "" && fromMs === undefined) || (end.day !== "" && untilMs === undefined)
  if (isUnread) return { ...range, error: "A time is one such as 6, 6:30, 0630 or 06:30:00." }
  const isDayless = ({ day, clock }: DayAndTime) => day === "" && clock.trim() !== ""
  if (isDayless(start) || isDayless(end)) return { ...range, error: "A time needs its date." }
  return fromMs !== undefined && untilMs !== undefined && untilMs <= fromMs
    ? { ...range, error: "The end must be after the beginning." }
    : range
}

export const RangeDialog = ({ from, until, of, onClose }: RangeDialogProps) => {
  const zone = useZone()
  const form = useId()
  const [typed, setTyped] = useState<Typed>(() => ({
    start: partsOf(from, zone, false),
    end: partsOf(until, zone, true),
  }))
  const { fromMs, untilMs, error } = readRange(typed, zone)
  const apply = (range: Range) => {
    changeParameters({
      from: isoOf(range.fromMs),
      until: isoOf(range.untilMs),
      // The strip shows the span, so that the reader can narrow it there.
      ...(of === "died" ? {} : { strip: stripOf(range) }),
    })
    onClose()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (error === undefined) apply({ fromMs, untilMs })
  }
  return (
    <Dialog
      title={titles[of]}
      onClose={onClose}
      actions={
        <>
          <Button onClick={() => apply({ fromMs: undefined, untilMs: undefined })}>Any time</Button>
          <Button look="primary" type="submit" form={form} disabled={error !== undefined}>
            Show this span
          </Button>
        </>
      }
    >
      <div className="range-quick">
        {quickSpans(zone, of !== "due").map(({ label, fromMs: quickMs, untilMs: endMs }) => (
          <Button key={label} isSmall onClick={() => apply({ fromMs: quickMs, untilMs: endMs })}>
            {label}
          </Button>
        ))}
      </div>
      {/* Enter in a field sends the form. */}
      <form id={form} onSubmit={submit} noValidate>
        <DayAndTimeFields
          label="From"
          isFocusedFirst
          value={typed.start}
          placeholder="start of day"
          onChange={(start) => setTyped({ ...typed, start })}
        />
        <DayAndTimeFields
          label="Until"
          value={typed.end}
          placeholder="end of day"
          onChange={(end) => setTyped({ ...typed, end })}
        />
        <button type="submit" hidden>
          Show this span
        </button>
      </form>
      {/* The help and the error have one place, so that an error moves nothing. */}
      <p className="range-help">
        {error === undefined ? (
          <span className="muted">
            Times are in {zone}. Leave a date empty for no limit, and a time empty for the whole day.
          </span>
        ) : (
          <span className="field-error" role="alert">
            {error}
          </span>
        )}
      </p>
    </Dialog>
  )
}

/** A span without an end, or a very short one, is no picture. The strip shows its usual one then. */
const stripOf = ({ fromMs, untilMs }: Range): string | undefined =>
  fromMs === undefined || untilMs === undefined || untilMs - fromMs < 60_000
    ? undefined
    : spanText({ fromMs, untilMs })

const endOfDay = (zone: string, day: string): number | undefined => {
  const noonMs = instantIn(zone, day, "12:00")
  return noonMs === undefined ? undefined : instantIn(zone, dayText(noonMs + dayMs, zone), "00:00")
}

const isoOf = (ms: number | undefined): string | undefined =>
  ms === undefined ? undefined : new Date(ms).toISOString()

interface QuickSpan extends Range {
  readonly label: string
}

const quickSpans = (zone: string, isPast: boolean): ReadonlyArray<QuickSpan> => {
  const now = nowMs()
  const midnight = (days: number) => instantIn(zone, laterDay(dayText(now, zone), days), "00:00") ?? now
  const toMonday = daysToMonday(now, zone)
  if (isPast) {
    return [
      { label: "Last hour", fromMs: now - 3_600_000, untilMs: undefined },
      { label: "Today", fromMs: midnight(0), untilMs: undefined },
      { label: "Yesterday", fromMs: midnight(-1), untilMs: midnight(0) },
      { label: "Last 7 days", fromMs: now - 7 * dayMs, untilMs: undefined },
    ]
  }
  return [
    { label: "Overdue", fromMs: undefined, untilMs: now },
    { label: "Next hour", fromMs: now, untilMs: now + 3_600_000 },
    { label: "Today", fromMs: midnight(0), untilMs: midnight(1) },
    { label: "Tomorrow", fromMs: midnight(1), untilMs: midnight(2) },
    ...(toMonday > 1
      ? [{ label: "Monday", fromMs: midnight(toMonday), untilMs: midnight(toMonday + 1) }]
      : []),
    { label: "Next 7 days", fromMs: now, untilMs: now + 7 * dayMs },
  ]
}

interface DayAndTimeFieldsProps {
  readonly label: string
  readonly isFocusedFirst?: boolean
  readonly value: DayAndTime
  /** What an empty time means. */
  readonly placeholder: string
  readonly onChange: (value: DayAndTime) => void
}

const DayAndTimeFields = ({
  label,
  isFocusedFirst = false,
  value,
  placeholder,
  onChange,
}: DayAndTimeFieldsProps) => (
  <div className="range-fields">
    <Field label={`${label}, date`}>
      {(attributes) => (
        <input
          {...attributes}
          ref={isFocusedFirst ? focusedFirst : undefined}
          type="date"
          value={value.day}
          onChange={({ target }) => onChange({ ...value, day: target.value })}
        />
      )}
    </Field>
    <Field label={`${label}, time`}>
      {(attributes) => (
        <input
          {...attributes}
          inputMode="numeric"
          placeholder={placeholder}
          value={value.clock}
          onChange={({ target }) => onChange({ ...value, clock: target.value })}
        />
      )}
    </Field>
  </div>
)
