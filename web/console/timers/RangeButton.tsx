/** Shows the span of time of a list, and opens the dialog that changes it. */
import { useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { useNow } from "../../kit/now.ts"
import { clockText, dayText, partsOf, shortText } from "../../kit/times.ts"
import { useZone } from "../../kit/zone.ts"
import { RangeDialog } from "./RangeDialog.tsx"

export interface RangeButtonProps {
  readonly from: string | undefined
  readonly until: string | undefined
  readonly isPast?: boolean
}

/** The name of the day, if the span is exactly one day of the zone. */
const wholeDay = (from: string | undefined, until: string | undefined, zone: string): string | undefined => {
  if (from === undefined || until === undefined) return undefined
  const [fromMs, untilMs] = [Date.parse(from), Date.parse(until)]
  const isMidnight = (ms: number) => clockText(ms, zone) === "00:00:00"
  if (!isMidnight(fromMs) || !isMidnight(untilMs) || dayText(fromMs, zone) !== dayText(untilMs - 1, zone))
    return undefined
  return `${partsOf(fromMs, zone).weekday} ${dayText(fromMs, zone)}, whole day`
}

/** Then the name of the day need not be there twice. */
const isSameDay = (from: string | undefined, until: string | undefined, zone: string): boolean =>
  from !== undefined &&
  until !== undefined &&
  dayText(Date.parse(from), zone) === dayText(Date.parse(until), zone)

export const RangeButton = ({ from, until, isPast = false }: RangeButtonProps) => {
  const [isOpen, setOpen] = useState(false)
  const zone = useZone()
  const now = useNow()
  const shown = (iso: string | undefined) => (iso === undefined ? "…" : shortText(Date.parse(iso), now, zone))
  const end = isSameDay(from, until, zone)
    ? clockText(Date.parse(until ?? ""), zone).slice(0, 5)
    : shown(until)
  const isAny = from === undefined && until === undefined
  return (
    <>
      <Button className="range-button figures" onClick={() => setOpen(true)}>
        {isAny ? "Any time" : (wholeDay(from, until, zone) ?? `${shown(from)} – ${end}`)}
      </Button>
      {isOpen && <RangeDialog from={from} until={until} isPast={isPast} onClose={() => setOpen(false)} />}
    </>
  )
}
