/** When a request is made: now, in a while, or at a time in a zone that the reader chooses. */
import { parseDuration } from "@punctual/api/parseDuration"
import { Button } from "../kit/Button.tsx"
import { Field } from "../kit/Field.tsx"
import { Icon } from "../kit/Icon.tsx"
import { useNow } from "../kit/now.ts"
import { Segments } from "../kit/Segments.tsx"
import { TimeFields } from "../kit/TimeFields.tsx"
import { durationText, longText, offsetText, relativeText } from "../kit/times.ts"
import { useFormZone } from "../kit/zone.ts"

export interface DueDraft {
  readonly when: "now" | "in" | "at"
  readonly delay: string
  readonly atMs?: number | undefined
  /** Of the fields. Absent: that of the pages. */
  readonly zone?: string | undefined
}

export interface DueFieldProps {
  readonly due: DueDraft
  readonly errorAt: (pointer: string) => string | undefined
  readonly onChange: (changes: Partial<DueDraft>) => void
}

const delays = ["30s", "5m", "1h", "1d"] as const

export const DueField = ({ due, errorAt, onChange }: DueFieldProps) => {
  const formZone = useFormZone()
  const zone = due.zone ?? formZone
  return (
    <div className="due-field">
      <Segments
        label="When"
        value={due.when}
        options={[
          { value: "now", label: "Now" },
          { value: "in", label: "In a while" },
          { value: "at", label: "At a time" },
        ]}
        onChange={(when) => onChange({ when })}
      />
      {due.when === "in" && (
        <>
          <Field label="Delay" hint="Such as 90s, 1h30m, 250ms or 7d." error={errorAt("/delay")}>
            {(attributes) => (
              <input
                {...attributes}
                className="short-input"
                value={due.delay}
                spellCheck={false}
                autoComplete="off"
                onChange={({ target }) => onChange({ delay: target.value })}
              />
            )}
          </Field>
          <div className="quick">
            {delays.map((delay) => (
              <Button key={delay} isSmall onClick={() => onChange({ delay })}>
                {delay}
              </Button>
            ))}
          </div>
        </>
      )}
      {due.when === "at" && (
        <TimeFields
          atMs={due.atMs}
          zone={zone}
          error={errorAt("/dueAt")}
          what="The request is made"
          onChange={onChange}
        />
      )}
      {due.when !== "now" && <MadeAt due={due} zone={zone} />}
    </div>
  )
}

const MadeAt = ({ due, zone }: { readonly due: DueDraft; readonly zone: string }) => {
  const now = useNow()
  const delayMs = due.when === "in" ? parseDuration(due.delay.trim()) : undefined
  const dueMs =
    due.when === "at"
      ? due.atMs
      : delayMs === undefined
        ? undefined
        : Math.floor(now / 1_000) * 1_000 + delayMs
  if (dueMs === undefined) return null
  const isPast = due.when === "at" && dueMs < now
  return (
    <p className={isPast ? "note note-warning fires" : "note note-accent fires"}>
      <Icon name="timers" />
      <span>
        {isPast ? "This time has passed, so the request is made at once: " : "The request is made "}
        {due.when === "in" && "about "}
        <strong>
          {longText(dueMs, zone)} {zone}
        </strong>{" "}
        ({offsetText(dueMs, zone)}),{" "}
        {delayMs === undefined ? relativeText(dueMs, now) : `${durationText(delayMs)} after you submit it`}.
      </span>
    </p>
  )
}
