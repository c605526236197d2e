/** Times that readers often want, in the zone that they have chosen. */
import { cityOf, daysToMonday, dayText, instantIn, laterDay } from "./times.ts"

export interface WhenChoice {
  readonly label: string
  readonly atMs: number
  /** A time of day in the zone. The others are so long from another time. */
  readonly isTimeOfDay: boolean
}

const dayMs = 86_400_000
const hourMs = 3_600_000

const atNine = (label: string, zone: string, day: string): ReadonlyArray<WhenChoice> => {
  const atMs = instantIn(zone, day, "09:00")
  return atMs === undefined ? [] : [{ label: `${label} 9:00 ${cityOf(zone)}`, atMs, isTimeOfDay: true }]
}

/** `atMs`: the time that is chosen now. An hour later is meant from there, unless it has passed. */
export const whenChoices = (
  atMs: number | undefined,
  nowMs: number,
  zone: string,
): ReadonlyArray<WhenChoice> => {
  const today = dayText(nowMs, zone)
  const toMonday = daysToMonday(nowMs, zone)
  const from = atMs === undefined ? nowMs : Math.max(atMs, nowMs)
  return [
    { label: "+1 h", atMs: from + hourMs, isTimeOfDay: false },
    { label: "+1 d", atMs: from + dayMs, isTimeOfDay: false },
    ...atNine("Tomorrow", zone, laterDay(today, 1)),
    ...(toMonday > 1 ? atNine("Monday", zone, laterDay(today, toMonday)) : []),
  ]
}
