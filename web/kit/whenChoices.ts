/** Times that readers often want, in the zone that they have chosen. */
import { daysToMonday, dayText, instantIn, laterDay } from "./times.ts"

export interface WhenChoice {
  readonly label: string
  readonly atMs: number
}

const dayMs = 86_400_000
const hourMs = 3_600_000

const atNine = (label: string, zone: string, day: string): ReadonlyArray<WhenChoice> => {
  const atMs = instantIn(zone, day, "09:00")
  return atMs === undefined ? [] : [{ label, atMs }]
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
    { label: "+1 h", atMs: from + hourMs },
    { label: "+1 d", atMs: from + dayMs },
    ...atNine("Tomorrow 9:00", zone, laterDay(today, 1)),
    ...(toMonday > 1 ? atNine("Monday 9:00", zone, laterDay(today, toMonday)) : []),
  ]
}
