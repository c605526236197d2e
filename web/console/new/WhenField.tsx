/** When the timer fires: at a time in a zone that the reader chooses, or after a delay. */
import { parseDuration } from "@punctual/api/parseDuration"
import { useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { Field } from "../../kit/Field.tsx"
import { Icon } from "../../kit/Icon.tsx"
import { nowMs, useNow } from "../../kit/now.ts"
import { Segments } from "../../kit/Segments.tsx"
import {
  clockText,
  dayText,
  durationText,
  type LocalTime,
  offsetText,
  readLocalTime,
  relativeText,
} from "../../kit/times.ts"
import { useZone } from "../../kit/zone.ts"
import type { ErrorAt } from "./fieldErrors.ts"
import type { TimerDraft } from "./TimerDraft.ts"
import { whenChoices } from "./whenChoices.ts"
import { ZoneField } from "./ZoneField.tsx"

type When = Pick<TimerDraft, "when" | "atMs" | "zone" | "delay">

export interface WhenFieldProps extends When {
  readonly errorAt: ErrorAt
  readonly onChange: (changes: Partial<When>) => void
}

export const WhenField = ({ when, atMs, zone: chosen, delay, errorAt, onChange }: WhenFieldProps) => {
  const pageZone = useZone()
  const zone = chosen ?? pageZone
  return (
    <div className="form-group">
      <Segments
        label="When"
        value={when}
        options={[
          { value: "in", label: "After a delay" },
          { value: "at", label: "At a time" },
        ]}
        onChange={(next) => onChange({ when: next })}
      />
      {when === "in" ? (
        <Field label="Delay" hint="Such as 90s, 1h30m, 250ms or 7d." error={errorAt("/delay")}>
          {(attributes) => (
            <input
              {...attributes}
              className="short-input"
              value={delay}
              spellCheck={false}
              autoComplete="off"
              onChange={({ target }) => onChange({ delay: target.value })}
            />
          )}
        </Field>
      ) : (
        <TimeFields atMs={atMs} zone={zone} error={errorAt("/executeAt")} onChange={onChange} />
      )}
      <FiresAt when={when} atMs={atMs} zone={zone} delay={delay} />
    </div>
  )
}

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

interface TimeFieldsProps {
  readonly atMs: number | undefined
  readonly zone: string
  readonly error: string | undefined
  readonly onChange: (changes: Partial<Pick<When, "atMs" | "zone">>) => void
}

const TimeFields = ({ atMs, zone, error, onChange }: TimeFieldsProps) => {
  // A time that the reader has typed stays as it is when the reader chooses its zone. Other times keep their instant.
  const [isTyped, setIsTyped] = useState(false)
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
    onChange({ atMs })
  }
  const choose = (next: number) => {
    setIsTyped(false)
    onChange({ atMs: next })
  }
  const chooseZone = (next: string) => {
    const nextMs = isTyped ? readLocalTime(next, typed.day, typed.clock.trim())?.atMs : atMs
    if (isTyped) setTyped({ ...typed, atMs: nextMs, zone: next })
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
          error={isUnreadable ? "must be a time of day, such as 9:00 or 09:00:00.250" : error}
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
        {whenChoices(atMs, nowMs(), zone).map(({ label, atMs: chosen }) => (
          <Button key={label} isSmall onClick={() => choose(chosen)}>
            {label}
          </Button>
        ))}
      </div>
      {local !== undefined && <ClockChange local={local} atMs={atMs} zone={zone} onChange={choose} />}
    </>
  )
}

interface ClockChangeProps {
  readonly local: LocalTime
  readonly atMs: number | undefined
  readonly zone: string
  readonly onChange: (atMs: number) => void
}

/** When clocks change, a time of day may occur never or twice. */
const ClockChange = ({ local, atMs, zone, onChange }: ClockChangeProps) => {
  const { occurs, atMs: firstMs, laterMs } = local
  if (occurs === "never") {
    return (
      <p className="note note-warning">
        On this day the clocks in {zone} skip this time. The timer fires at {clockText(firstMs, zone)} (
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

/** `Tuesday 17 November 2026, 09:00:00` */
export const longText = (atMs: number, zone: string): string =>
  `${new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeZone: zone }).format(atMs)}, ${clockText(atMs, zone)}`

const FiresAt = ({ when, atMs, zone, delay }: When & { readonly zone: string }) => {
  const now = useNow()
  const delayMs = when === "in" ? parseDuration(delay.trim()) : undefined
  const dueMs =
    when === "at" ? atMs : delayMs === undefined ? undefined : Math.floor(now / 1_000) * 1_000 + delayMs
  if (dueMs === undefined) return null
  const isPast = when === "at" && dueMs < now
  return (
    <p className={isPast ? "note note-warning fires" : "note note-accent fires"}>
      <Icon name="timers" />
      <span>
        {isPast ? "This time has passed, so the timer fires at once: " : "Fires "}
        {when === "in" && "about "}
        <strong>
          {longText(dueMs, zone)} {zone}
        </strong>{" "}
        ({offsetText(dueMs, zone)}),{" "}
        {delayMs === undefined ? relativeText(dueMs, now) : `${durationText(delayMs)} after you create it`}.
      </span>
    </p>
  )
}
