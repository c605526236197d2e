/** Chooses the span of time of a list by date and time, in the zone of the page. */
import { useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { Dialog } from "../../kit/Dialog.tsx"
import { Field } from "../../kit/Field.tsx"
import { nowMs } from "../../kit/now.ts"
import { changeParameters } from "../../kit/places.ts"
import { clockText, daysToMonday, dayText, instantIn, laterDay } from "../../kit/times.ts"
import { useZone } from "../../kit/zone.ts"
import { spanText } from "./stripSpan.ts"

export interface RangeDialogProps {
  readonly from: string | undefined
  readonly until: string | undefined
  /** Whether the list is about what has happened. The usual spans are in the past then. */
  readonly isPast?: boolean
  readonly onClose: () => void
}

interface DayAndTime {
  readonly day: string
  readonly clock: string
}

interface Range {
  readonly fromMs: number | undefined
  readonly untilMs: number | undefined
}

const partsOfIso = (iso: string | undefined, zone: string): DayAndTime =>
  iso === undefined || Number.isNaN(Date.parse(iso))
    ? { day: "", clock: "" }
    : { day: dayText(Date.parse(iso), zone), clock: clockText(Date.parse(iso), zone) }

const dayMs = 86_400_000

export const RangeDialog = ({ from, until, isPast = false, onClose }: RangeDialogProps) => {
  const zone = useZone()
  const [start, setStart] = useState(() => partsOfIso(from, zone))
  const [end, setEnd] = useState(() => partsOfIso(until, zone))
  const startMs = start.day === "" ? undefined : instantIn(zone, start.day, start.clock || "00:00")
  // A day without a time belongs to the span as a whole.
  const endMs =
    end.day === ""
      ? undefined
      : end.clock === ""
        ? endOfDay(zone, end.day)
        : instantIn(zone, end.day, end.clock)
  const isReversed = startMs !== undefined && endMs !== undefined && endMs <= startMs
  const isUnread = (start.day !== "" && startMs === undefined) || (end.day !== "" && endMs === undefined)
  const apply = (range: Range) => {
    changeParameters({
      from: isoOf(range.fromMs),
      until: isoOf(range.untilMs),
      // The strip shows the span, so that the reader can narrow it there.
      ...(isPast ? {} : { strip: stripOf(range) }),
    })
    onClose()
  }
  return (
    <Dialog
      title="Span of time"
      onClose={onClose}
      actions={
        <>
          <Button onClick={() => apply({ fromMs: undefined, untilMs: undefined })}>Any time</Button>
          <Button
            look="primary"
            disabled={isReversed || isUnread}
            onClick={() => apply({ fromMs: startMs, untilMs: endMs })}
          >
            Show this span
          </Button>
        </>
      }
    >
      <div className="range-quick">
        {quickSpans(zone, isPast).map(({ label, fromMs, untilMs }) => (
          <Button key={label} isSmall onClick={() => apply({ fromMs, untilMs })}>
            {label}
          </Button>
        ))}
      </div>
      <DayAndTimeFields
        label="From"
        value={start}
        onChange={setStart}
        timeError={start.day !== "" && startMs === undefined ? timeHint : undefined}
      />
      <DayAndTimeFields
        label="Until"
        value={end}
        onChange={setEnd}
        error={isReversed ? "The end must be after the beginning." : undefined}
        timeError={end.day !== "" && endMs === undefined ? timeHint : undefined}
      />
      <p className="muted">
        Times are in {zone}. Leave a date empty for no limit, and a time empty for the whole day.
      </p>
    </Dialog>
  )
}

/** A span without an end, or a very short one, is no picture. The strip shows its usual one then. */
const stripOf = ({ fromMs, untilMs }: Range): string | undefined =>
  fromMs === undefined || untilMs === undefined || untilMs - fromMs < 60_000
    ? undefined
    : spanText({ fromMs, untilMs })

const timeHint = "Use a time such as 09:30 or 09:30:00."

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
  readonly value: DayAndTime
  readonly onChange: (value: DayAndTime) => void
  readonly error?: string | undefined
  readonly timeError?: string | undefined
}

const DayAndTimeFields = ({ label, value, onChange, error, timeError }: DayAndTimeFieldsProps) => (
  <div className="range-fields">
    <Field label={`${label}, date`} error={error}>
      {(attributes) => (
        <input
          {...attributes}
          type="date"
          value={value.day}
          onChange={({ target }) => onChange({ ...value, day: target.value })}
        />
      )}
    </Field>
    <Field label={`${label}, time`} error={timeError}>
      {(attributes) => (
        <input
          {...attributes}
          inputMode="numeric"
          placeholder="00:00"
          value={value.clock}
          onChange={({ target }) => onChange({ ...value, clock: target.value })}
        />
      )}
    </Field>
  </div>
)
