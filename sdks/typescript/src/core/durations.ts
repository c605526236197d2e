/** Durations and instants of requests. The client needs their values to send a delay as an instant. */
import type { Duration, InstantInput } from "../contract/requests.ts"
import { refusedHere } from "../errors.ts"

const shortForm = /^(?:(\d{1,15})d)?(?:(\d{1,15})h)?(?:(\d{1,15})m)?(?:(\d{1,15})s)?(?:(\d{1,15})ms)?$/
const isoForm =
  /^P(?=.)(?:(\d{1,15})D)?(?:T(?=.)(?:(\d{1,15})H)?(?:(\d{1,15})M)?(?:(\d{1,15})(?:\.(\d{1,3}))?S)?)?$/

/** The longest duration of the grammar: ten years. */
const maxDurationMs = 3653 * 86_400_000

/** Whole milliseconds of `90s`, `1h30m`, `250ms`, `7d` or `PT90S`; undefined if the text is no duration. */
export const parseDuration = (text: Duration): number | undefined => {
  if (text === "" || text.length > 100) return undefined
  const isIso = text.startsWith("P")
  const match = (isIso ? isoForm : shortForm).exec(text)
  if (match === null) return undefined
  const [, days = 0, hours = 0, minutes = 0, seconds = 0, rest = ""] = match
  const restMs = Number(isIso ? rest.padEnd(3, "0") : rest)
  const durationMs =
    (((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000 + restMs
  return durationMs <= maxDurationMs ? durationMs : undefined
}

/** The milliseconds of a duration in the field of a request. */
export const durationMsOf = (field: string, text: Duration): number => {
  const durationMs = parseDuration(text)
  if (durationMs !== undefined) return durationMs
  throw refusedHere(field, "must be a duration such as 90s, 1h30m or 7d, of at most 3653 days")
}

/** The text of an instant in the field of a request. The service checks texts; a Date can only be wrong as a whole. */
export const instantText = (field: string, instant: InstantInput): string => {
  if (typeof instant === "string") return instant
  if (Number.isNaN(instant.getTime())) throw refusedHere(field, "is an invalid Date")
  return instant.toISOString()
}
