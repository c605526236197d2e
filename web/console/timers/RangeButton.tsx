/** Shows the span of time of a list, and opens the dialog that changes it. */
import { useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { classes } from "../../kit/classes.ts"
import { useNow } from "../../kit/now.ts"
import { clockText, dayText, partsOf, shortText } from "../../kit/times.ts"
import { useZone } from "../../kit/zone.ts"
import { RangeDialog, type RangeOf } from "./RangeDialog.tsx"

export interface RangeButtonProps {
  readonly from: string | undefined
  readonly until: string | undefined
  readonly of: RangeOf
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

const words: Readonly<Record<RangeOf, string>> = { due: "Due", finished: "Finished", died: "Died" }

export const RangeButton = ({ from, until, of }: RangeButtonProps) => {
  const [isOpen, setOpen] = useState(false)
  const zone = useZone()
  const now = useNow()
  const shown = (iso: string | undefined) => (iso === undefined ? "…" : shortText(Date.parse(iso), now, zone))
  const end = isSameDay(from, until, zone)
    ? clockText(Date.parse(until ?? ""), zone).slice(0, 5)
    : shown(until)
  const isAny = from === undefined && until === undefined
  const isOverdue = of === "due" && from === undefined && until !== undefined && Date.parse(until) <= now
  const text = wholeDay(from, until, zone) ?? `${shown(from)} – ${end}`
  return (
    <>
      <Button
        className={classes("range-button figures", !isAny && "range-active")}
        onClick={() => setOpen(true)}
      >
        {isOverdue ? `Overdue at ${shown(until)}` : `${words[of]}: ${isAny ? "any time" : text}`}
      </Button>
      {isOpen && <RangeDialog from={from} until={until} of={of} onClose={() => setOpen(false)} />}
    </>
  )
}
