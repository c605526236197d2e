/** When the timer fires: at a time in a zone that the reader chooses, or after a delay. */
import { parseDuration } from "@punctual/api/parseDuration"
import { Field } from "../../kit/Field.tsx"
import { Icon } from "../../kit/Icon.tsx"
import { useNow } from "../../kit/now.ts"
import { Segments } from "../../kit/Segments.tsx"
import { TimeFields } from "../../kit/TimeFields.tsx"
import { durationText, longText, offsetText, relativeText } from "../../kit/times.ts"
import { useFormZone } from "../../kit/zone.ts"
import type { ErrorAt } from "./fieldErrors.ts"
import type { TimerDraft } from "./TimerDraft.ts"

type When = Pick<TimerDraft, "when" | "atMs" | "zone" | "delay">

export interface WhenFieldProps extends When {
  readonly errorAt: ErrorAt
  readonly onChange: (changes: Partial<When>) => void
}

export const WhenField = ({ when, atMs, zone: chosen, delay, errorAt, onChange }: WhenFieldProps) => {
  const formZone = useFormZone()
  const zone = chosen ?? formZone
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
        <Field label="Delay" isRequired hint="Such as 90s, 1h30m, 250ms or 7d." error={errorAt("/delay")}>
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
        <TimeFields
          atMs={atMs}
          zone={zone}
          error={errorAt("/executeAt")}
          what="The timer fires"
          onChange={onChange}
        />
      )}
      <FiresAt when={when} atMs={atMs} zone={zone} delay={delay} />
    </div>
  )
}

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
