/**
 * `/timers/histogram`: how many timers there are in each part of a span of time. Up to a limit the service counts them.
 * Beyond it, the owners of the shards estimate pending timers from what they count in the background.
 */
import { Schema } from "effect"
import { Count } from "./Count.ts"
import { described } from "./described.ts"
import { Instant } from "./Instant.ts"
import { listFilterFields, scopeChecks } from "./TimerFilter.ts"

export const mostBuckets = 500

const bucketsMessage = `must be a whole number from 1 to ${mostBuckets}`

const HistogramFilter = Schema.Struct({
  ...listFilterFields,
  from: Instant.pipe(
    described("The beginning of the span: by fireAt if pending, by finishedAt if finished."),
  ),
  until: Instant.pipe(described("The end of the span, which is not a part of it.")),
})
  .annotate({
    message: "must be an object of filters",
    description:
      "Which timers to count. Give exactly one of namespace and namespaces, and at most one of state and states. All filters must match.",
  })
  .check(...scopeChecks)
  .annotate({ identifier: "HistogramFilter" })

export const TimerHistogram = Schema.Struct({
  filter: HistogramFilter,
  buckets: Schema.Number.annotate({ message: bucketsMessage }).check(
    Schema.isInt({ message: bucketsMessage }),
    Schema.isBetween(
      { minimum: 1, maximum: mostBuckets },
      { message: bucketsMessage, description: "How many parts of equal length the span has." },
    ),
  ),
}).annotate({
  message: "must be a JSON object",
  identifier: "TimerHistogram",
  description: "Which timers to count, and in how many parts of their span.",
})

export type TimerHistogram = typeof TimerHistogram.Type

export const TimerHistogramAnswer = Schema.Struct({
  from: Instant.pipe(described("The beginning of the first bucket.")),
  until: Instant.pipe(described("The end of the last bucket.")),
  counts: Schema.Array(Count).annotate({ description: "One count for each bucket, the earliest first." }),
  total: Count.annotate({ description: "The sum of the counts." }),
  estimated: Schema.Boolean.annotate({
    description:
      "false: the timers were counted now. true: there are too many, so the counts come from what the nodes count in the background. Then timers may be up to an hour from their bucket, or further for timers that are far ahead or in one of very many namespaces.",
  }),
  asOf: Instant.pipe(
    described(
      "When the timers were counted. For an estimate: when the oldest of the counts in the background began. Changes since then are included.",
    ),
  ),
  capped: Schema.optionalKey(
    Schema.Boolean.annotate({
      description: "Present and true if timers are left out, so the counts are too low.",
    }),
  ),
  countedUntil: Schema.optionalKey(
    Instant.pipe(
      described(
        "Present if counting stopped at its limit: all timers before this instant are counted. Absent with idPrefix.",
      ),
    ),
  ),
  examined: Schema.optionalKey(
    Count.annotate({
      description: "How many timers were examined; present if counting stopped at its limit.",
    }),
  ),
  missing: Schema.optionalKey(
    Schema.Array(Schema.String).annotate({
      description: "The nodes that did not answer in time. Their timers are left out.",
    }),
  ),
}).annotate({
  identifier: "TimerHistogramAnswer",
  description: "How many timers there are in each part of the span.",
})

export type TimerHistogramAnswer = typeof TimerHistogramAnswer.Type
