/** The zone in which the reader types a time. It does not change the zone in which the pages show times. */
import { useState } from "react"
import { Button } from "./Button.tsx"
import { Field } from "./Field.tsx"
import { ZoneDialog } from "./ZonePicker.tsx"
import { zoneName } from "./zone.ts"

export interface ZoneFieldProps {
  /** An IANA name. */
  readonly zone: string
  readonly onChange: (zone: string) => void
}

export const ZoneField = ({ zone, onChange }: ZoneFieldProps) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Field label="Time zone">
        {(attributes) => (
          <Button
            {...attributes}
            className="zone-field"
            icon="globe"
            aria-label={`Time zone: ${zone}`}
            onClick={() => setOpen(true)}
          >
            <span>{zone}</span>
          </Button>
        )}
      </Field>
      {isOpen && (
        <ZoneDialog
          chosen={zone}
          onChoose={(next) => onChange(zoneName(next))}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}
