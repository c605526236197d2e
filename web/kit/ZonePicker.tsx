/** Chooses a zone: the one in which all pages show instants, or the one of a field. */
import { useState } from "react"
import { Button } from "./Button.tsx"
import { Dialog } from "./Dialog.tsx"
import { focusedFirst } from "./focusedFirst.ts"
import { nowMs } from "./now.ts"
import { useSetting } from "./Setting.ts"
import { useShortcuts } from "./shortcuts.ts"
import { cityOf, clockText, offsetText } from "./times.ts"
import { isZone, knownZones, localZone, zoneName, zoneSetting } from "./zone.ts"

const shownMax = 60

export const ZonePicker = () => {
  const zone = useSetting(zoneSetting)
  const [isOpen, setOpen] = useState(false)
  useShortcuts({ z: () => setOpen(true) })
  return (
    <>
      <Button
        look="quiet"
        icon="globe"
        title={`Time zone: ${zoneName(zone)} (z)`}
        onClick={() => setOpen(true)}
      >
        {zone === "local" ? "Local time" : cityOf(zone)}
      </Button>
      {isOpen && (
        <ZoneDialog chosen={zone} onChoose={(next) => zoneSetting.set(next)} onClose={() => setOpen(false)} />
      )}
    </>
  )
}

export interface ZoneDialogProps {
  readonly chosen: string
  readonly onChoose: (zone: string) => void
  readonly onClose: () => void
}

/** Lets the reader search a zone. `local` stands for the zone of the browser. */
export const ZoneDialog = ({ chosen, onChoose, onClose }: ZoneDialogProps) => {
  const [text, setText] = useState("")
  const wanted = text.trim().toLowerCase().replaceAll(" ", "_")
  const found = ["local", ...knownZones()].filter(
    (zone) => wanted === "" || labelOf(zone).toLowerCase().replaceAll(" ", "_").includes(wanted),
  )
  // Some zones are known to the browser, but are not in its list.
  const zones = found.length === 0 && isZone(text.trim()) ? [text.trim()] : found
  const choose = (zone: string) => {
    onChoose(zone)
    onClose()
  }
  return (
    <Dialog title="Time zone" onClose={onClose}>
      <input
        ref={focusedFirst}
        type="search"
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return
          // The dialog may stand in a form, which must not be sent.
          event.preventDefault()
          if (zones[0] !== undefined) choose(zones[0])
        }}
        placeholder="Search: Berlin, UTC, Asia/Tokyo …"
        aria-label="Search a time zone"
      />
      <ul className="choices">
        {zones.slice(0, shownMax).map((zone) => (
          <li key={zone}>
            <button type="button" aria-pressed={zone === chosen} onClick={() => choose(zone)}>
              <span>{labelOf(zone)}</span>
              <span className="muted figures">
                {clockText(Math.floor(nowMs() / 60_000) * 60_000, zoneName(zone)).slice(0, 5)}{" "}
                {offsetText(nowMs(), zoneName(zone))}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {zones.length === 0 && (
        <p className="muted">No zone matches. Use an IANA name, such as Europe/Berlin.</p>
      )}
    </Dialog>
  )
}

const labelOf = (zone: string): string => (zone === "local" ? `Local (${localZone()})` : zone)
