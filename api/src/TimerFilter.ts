/** The filter that list, count and deleteMany share. */
import { Schema } from "effect"
import { CorrelationId } from "./CorrelationId.ts"
import { Instant } from "./Instant.ts"
import { idMessage, timerIdBytes, whyNotId } from "./TimerId.ts"

const IdPrefix = Schema.String.annotate({ message: idMessage }).check(
  Schema.makeFilter(whyNotId, {
    toJsonSchema: () => [{ minLength: 1, maxLength: timerIdBytes }, true],
    description: "Only timers whose timerId begins with this.",
  }),
)

/**
 * `from` is included and `until` is not, so that neighbouring ranges neither overlap nor leave a gap. They
 * bound fireAt of pending timers and finishedAt of finished ones.
 */
export const timerFilterFields = {
  from: Schema.optionalKey(Instant),
  until: Schema.optionalKey(Instant),
  idPrefix: Schema.optionalKey(IdPrefix),
  correlationId: Schema.optionalKey(CorrelationId),
}

export const endsAfterItBegins = Schema.makeFilter(
  (filter: { readonly from?: number; readonly until?: number }) =>
    filter.from !== undefined && filter.until !== undefined && filter.until <= filter.from
      ? { path: ["until"], issue: "must be after from" }
      : undefined,
)
