/** The filter that lists, counts and the calls on many timers share. */
import { Schema } from "effect"
import { CorrelationId } from "./CorrelationId.ts"
import { described } from "./described.ts"
import { Instant } from "./Instant.ts"
import { Tag } from "./Tags.ts"
import { idMessage, idPattern, timerIdBytes, whyNotId } from "./TimerId.ts"

const IdPrefix = Schema.String.annotate({ message: idMessage }).check(
  Schema.makeFilter(whyNotId, {
    toJsonSchema: () => [{ minLength: 1, maxLength: timerIdBytes, pattern: idPattern }, true],
    description: "Only timers whose timerId begins with this.",
  }),
)

/**
 * `from` is included and `until` is not, so that neighbouring ranges neither overlap nor leave a gap. They
 * bound fireAt of pending timers and finishedAt of finished ones.
 */
export const timerFilterFields = {
  from: Schema.optionalKey(
    Instant.pipe(
      described("Only timers at or after this instant: by fireAt if pending, by finishedAt if finished."),
    ),
  ),
  until: Schema.optionalKey(Instant.pipe(described("Only timers before this instant."))),
  idPrefix: Schema.optionalKey(IdPrefix),
  correlationId: Schema.optionalKey(CorrelationId),
  tag: Schema.optionalKey(Tag),
}

export const endsAfterItBegins = Schema.makeFilter(
  (filter: { readonly from?: number; readonly until?: number }) =>
    filter.from !== undefined && filter.until !== undefined && filter.until <= filter.from
      ? { path: ["until"], issue: "must be after from" }
      : undefined,
)

const fieldNames = Object.keys(timerFilterFields)

const selectsSomething = Schema.makeFilter((filter: Readonly<Record<string, unknown>>) =>
  fieldNames.some((field) => field in filter)
    ? undefined
    : `must have at least one of ${fieldNames.join(", ")}; for every timer send all: true instead`,
)

/** For calls that change what it selects: it must select something. */
export const TimerFilter = Schema.Struct(timerFilterFields)
  .annotate({
    message: "must be an object of filters",
    description: "Which timers are meant: all filters must match.",
  })
  .check(selectsSomething, endsAfterItBegins)
  .annotate({ identifier: "TimerFilter" })
