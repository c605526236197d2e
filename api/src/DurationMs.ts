/**
 * One grammar for durations in requests and in settings: `90s`, `1h30m`, `250ms`, `7d`, or the part of ISO 8601 from
 * days to seconds, `PT90S`, `P1DT2H`. Months and years are refused because their length depends on the start. In the
 * program a duration is a whole number of milliseconds.
 */
import { Effect, Schema, SchemaGetter, SchemaIssue } from "effect"
import { formatDuration, isDuration, maxDurationMs, parseDuration } from "./parseDuration.ts"

export { formatDuration, maxDurationMs, parseDuration }

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
    examples: [formatDuration(Math.min(Math.max(90_000, minMs), maxMs))],
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
