/** An instant as a day, a time of day and a zone, which the reader types or chooses. */
import { useState } from "react"
import { Button } from "./Button.tsx"
import { Field } from "./Field.tsx"
import { nowMs } from "./now.ts"
import { Segments } from "./Segments.tsx"
import { clockText, dayText, type LocalTime, offsetText, readLocalTime } from "./times.ts"
import { whenChoices } from "./whenChoices.ts"
import { ZoneField } from "./ZoneField.tsx"
import { formZoneSetting } from "./zone.ts"

interface Typed {
  readonly day: string
  readonly clock: string
  /** The instant that the texts meant, and the zone in which they were read. */
  readonly atMs: number | undefined
  readonly zone: string
}

const typedOf = (atMs: number, zone: string): Typed => ({
  day: dayText(atMs, zone),
  clock: clockText(atMs, zone).replace(/^(\d\d:\d\d):00$/, "$1"),
  atMs,
  zone,
})

export interface TimeFieldsProps {
  readonly atMs: number | undefined
  readonly zone: string
  readonly error: string | undefined
  /** What happens at the time: "The timer fires". */
  readonly what: string
  readonly onChange: (changes: { readonly atMs?: number | undefined; readonly zone?: string }) => void
}

export const TimeFields = ({ atMs, zone, error, what, onChange }: TimeFieldsProps) => {
  // A time of day that the reader has given stays as it is when the reader chooses its zone. Other times keep their
  // instant. The fields say which of the two happened.
  const [isTyped, setIsTyped] = useState(false)
  const [isZoneNew, setZoneNew] = useState(false)
  const [typed, setTyped] = useState<Typed>(() =>
    atMs === undefined ? { day: "", clock: "", atMs, zone } : typedOf(atMs, zone),
  )
  // The instant is what counts. If somebody else changed it, or the zone, the texts follow.
  if (typed.atMs !== atMs || typed.zone !== zone) {
    setTyped(atMs === undefined ? { ...typed, atMs, zone } : typedOf(atMs, zone))
  }
  const local = readLocalTime(zone, typed.day, typed.clock.trim())
  const type = (changes: Partial<Typed>) => {
    const next = { ...typed, ...changes }
    const atMs = readLocalTime(zone, next.day, next.clock.trim())?.atMs
    setTyped({ ...next, atMs })
    setIsTyped(true)
    setZoneNew(false)
    onChange({ atMs })
  }
  const choose = (next: number, isTimeOfDay = true) => {
    setIsTyped(isTimeOfDay)
    setZoneNew(false)
    onChange({ atMs: next })
  }
  const chooseZone = (next: string) => {
    const nextMs = isTyped ? readLocalTime(next, typed.day, typed.clock.trim())?.atMs : atMs
    if (isTyped) setTyped({ ...typed, atMs: nextMs, zone: next })
    setZoneNew(next !== zone)
    formZoneSetting.set(next)
    onChange({ zone: next, atMs: nextMs })
  }
  const isUnreadable = typed.day !== "" && typed.clock !== "" && local === undefined
  return (
    <>
      <div className="form-row time-row">
        <Field label="Day">
          {(attributes) => (
            <input
              {...attributes}
              type="date"
              max="9999-12-31"
              value={typed.day}
              onChange={({ target }) => type({ day: target.value })}
            />
          )}
        </Field>
        <Field
          label="Time"
          error={isUnreadable ? "must be a time of day, such as 9:00, 0930 or 09:00:00.250" : error}
        >
          {(attributes) => (
            <input
              {...attributes}
              value={typed.clock}
              placeholder="09:00"
              spellCheck={false}
              autoComplete="off"
              onChange={({ target }) => type({ clock: target.value })}
            />
          )}
        </Field>
        <ZoneField zone={zone} onChange={chooseZone} />
      </div>
      <div className="quick">
        {whenChoices(atMs, nowMs(), zone).map(({ label, atMs: chosen, isTimeOfDay }) => (
          <Button key={label} isSmall onClick={() => choose(chosen, isTimeOfDay)}>
            {label}
          </Button>
        ))}
      </div>
      {isZoneNew && atMs !== undefined && (
        <p className="note" role="status">
          {isTyped
            ? `The time is still ${typed.clock.trim()}, now in ${zone}.`
            : `It is still the same moment. In ${zone} it is ${typed.clock.trim()}.`}
        </p>
      )}
      {local !== undefined && (
        <ClockChange local={local} atMs={atMs} zone={zone} what={what} onChange={choose} />
      )}
    </>
  )
}

interface ClockChangeProps extends Pick<TimeFieldsProps, "atMs" | "zone" | "what"> {
  readonly local: LocalTime
  readonly onChange: (atMs: number) => void
}

/** When clocks change, a time of day may occur never or twice. */
const ClockChange = ({ local, atMs, zone, what, onChange }: ClockChangeProps) => {
  const { occurs, atMs: firstMs, laterMs } = local
  if (occurs === "never") {
    return (
      <p className="note note-warning">
        On this day the clocks in {zone} skip this time. {what} at {clockText(firstMs, zone)} (
        {offsetText(firstMs, zone)}).
      </p>
    )
  }
  if (laterMs === undefined) return null
  return (
    <Segments
      label={`On this day the clocks in ${zone} show this time twice. Which one?`}
      value={String(atMs)}
      options={[
        { value: String(firstMs), label: `The first (${offsetText(firstMs, zone)})` },
        { value: String(laterMs), label: `The second (${offsetText(laterMs, zone)})` },
      ]}
      onChange={(chosen) => onChange(Number(chosen))}
    />
  )
}
