/**
 * One grammar for durations in requests and in settings: `90s`, `1h30m`, `250ms`, `7d`, or the part of ISO 8601 from
 * days to seconds, `PT90S`, `P1DT2H`. Months and years are refused because their length depends on the start. In the
 * program a duration is a whole number of milliseconds.
 */
import { Effect, Schema, SchemaGetter, SchemaIssue } from "effect"

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** The longest duration of the grammar: ten years with as many leap days as possible. */
export const maxDurationMs = 3653 * dayMs

const shortForm = /^(?:(\d{1,15})d)?(?:(\d{1,15})h)?(?:(\d{1,15})m)?(?:(\d{1,15})s)?(?:(\d{1,15})ms)?$/
const isoForm =
  /^P(?=.)(?:(\d{1,15})D)?(?:T(?=.)(?:(\d{1,15})H)?(?:(\d{1,15})M)?(?:(\d{1,15})(?:\.(\d{1,3}))?S)?)?$/

/**
 * Marks durations among the strings of a schema. `openApiDocument.ts` replaces the mark by the pattern. A check with
 * the pattern would run on every request, in addition to the parser.
 */
export const durationFormat = "punctual-duration"

/**
 * The form of a duration, for readers of the OpenAPI document. It uses only features that every regular expression
 * engine has, so it does not check the order of the units.
 */
export const durationPattern =
  "^(?:(?:\\d{1,15}(?:ms|[dhms]))+|P(?:\\d{1,15}D|(?:\\d{1,15}D)?T(?:\\d{1,15}(?:[HMS]|\\.\\d{1,3}S))+))$"

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
const isDuration = (text: string): boolean =>
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

/**
 * A duration from `minMs` to `maxMs`, both included. Decodes to whole milliseconds. `hint` ends the message of a
 * refusal.
 */
export const durationBetween = (minMs: number, maxMs: number, hint = "") => {
  const rangeMessage = `must be a duration from ${formatDuration(minMs)} to ${formatDuration(maxMs)}`
  const message = `${rangeMessage}, such as 90s, 1h30m, 250ms, 7d or PT90S`
  const isInRange = (value: number) => Number.isInteger(value) && value >= minMs && value <= maxMs
  return Schema.String.annotate({
    message,
    format: durationFormat,
    description: `A duration from ${formatDuration(minMs)} to ${formatDuration(maxMs)}: 90s, 1h30m, 250ms, 7d, or ISO 8601 such as PT90S; no months, no years.`,
    examples: [formatDuration(Math.min(Math.max(90 * secondMs, minMs), maxMs))],
  }).pipe(
    Schema.decodeTo(
      Schema.Number.check(
        Schema.makeFilter((value: number) => (isInRange(value) ? undefined : `${rangeMessage}${hint}`)),
      ),
      {
        decode: SchemaGetter.transformEffect((text: string) => {
          const durationMs = parseDuration(text)
          return durationMs === undefined
            ? Effect.fail(
                new SchemaIssue.InvalidValue({
                  message: isDuration(text) ? `${rangeMessage}${hint}` : message,
                }),
              )
            : Effect.succeed(durationMs)
        }),
        encode: SchemaGetter.transform(formatDuration),
      },
    ),
  )
}

/** Any duration of the grammar. */
export const DurationMs = durationBetween(0, maxDurationMs)
