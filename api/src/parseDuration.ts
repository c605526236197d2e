/**
 * The grammar of durations: `90s`, `1h30m`, `250ms`, `7d`, or the part of ISO 8601 from days to seconds. This file imports
 * nothing, so that pages in a browser can use it. `DurationMs` makes schemas of it.
 */

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** The longest duration of the grammar: ten years with as many leap days as possible. */
export const maxDurationMs = 3653 * dayMs

const shortForm = /^(?:(\d{1,15})d)?(?:(\d{1,15})h)?(?:(\d{1,15})m)?(?:(\d{1,15})s)?(?:(\d{1,15})ms)?$/
const isoForm =
  /^P(?=.)(?:(\d{1,15})D)?(?:T(?=.)(?:(\d{1,15})H)?(?:(\d{1,15})M)?(?:(\d{1,15})(?:\.(\d{1,3}))?S)?)?$/

/** Whole milliseconds; `undefined` if the text is not a duration or is longer than `maxDurationMs`. */
export const parseDuration = (text: string): number | undefined => {
  if (text.length === 0 || text.length > 100) return undefined
  const isIso = text.charCodeAt(0) === 80
  const match = (isIso ? isoForm : shortForm).exec(text)
  if (match === null) return undefined
  const [, days, hours, minutes, seconds, rest] = match
  // The last group is whole milliseconds in the short form and decimals of a second in ISO 8601.
  const restMs = rest === undefined ? 0 : Number(isIso ? rest.padEnd(3, "0") : rest)
  const durationMs =
    Number(days ?? 0) * dayMs +
    Number(hours ?? 0) * hourMs +
    Number(minutes ?? 0) * minuteMs +
    Number(seconds ?? 0) * secondMs +
    restMs
  return durationMs <= maxDurationMs ? durationMs : undefined
}

/** Whether the text follows the grammar. The duration may be too long. */
export const isDuration = (text: string): boolean =>
  text.length > 0 && text.length <= 100 && (text.charCodeAt(0) === 80 ? isoForm : shortForm).test(text)

/** The canonical form: each unit at most once, the largest first. `90s` becomes `1m30s`. */
export const formatDuration = (durationMs: number): string => {
  if (durationMs === 0) return "0s"
  let restMs = durationMs
  let text = ""
  for (const [unit, unitMs] of units) {
    const count = Math.floor(restMs / unitMs)
    if (count > 0) text += `${count}${unit}`
    restMs -= count * unitMs
  }
  return text
}

const units = [
  ["d", dayMs],
  ["h", hourMs],
  ["m", minuteMs],
  ["s", secondMs],
  ["ms", 1],
] as const
