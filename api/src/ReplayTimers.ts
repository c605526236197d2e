/**
 * `/timers/replay` and `/timers/discard`: arm dead letters again, or remove them. Both select timers in the same way.
 * As with deleteMany, `all` must be explicit.
 */
import { Schema } from "effect"
import { Count } from "./Count.ts"
import { makeCursor } from "./Cursor.ts"
import { defaultLimits } from "./Limits.ts"
import { cursorNeedsFilter, moreFields } from "./moreFields.ts"
import { Namespace } from "./Namespace.ts"
import { exactlyOneOf } from "./oneOf.ts"
import { TimerFilter } from "./TimerFilter.ts"
import { TimerId } from "./TimerId.ts"
import { makeWrittenReason } from "./WrittenReason.ts"

const selectionFields = {
  namespace: Namespace,
  timerId: Schema.optionalKey(TimerId),
  filter: Schema.optionalKey(TimerFilter),
  all: Schema.optionalKey(
    Schema.Literal(true).annotate({
      message: "must be true",
      description: "Every dead letter of the namespace.",
    }),
  ),
  dryRun: Schema.optionalKey(
    Schema.Boolean.annotate({
      message: "must be true or false",
      description: "Only count what one call would do, and change nothing.",
    }),
  ),
  cursor: Schema.optionalKey(makeCursor(defaultLimits)),
}

export const ReplayTimers = Schema.Struct(selectionFields)
  .annotate({
    message: "must be a JSON object",
    description: "Which dead letters to replay: give exactly one of timerId, filter and all.",
  })
  .check(exactlyOneOf("timerId", "filter", "all"), cursorNeedsFilter)
  .annotate({ identifier: "ReplayTimers" })

export type ReplayTimers = typeof ReplayTimers.Type

export const DiscardTimers = Schema.Struct({
  ...selectionFields,
  reason: Schema.optionalKey(makeWrittenReason("Why. The audit record shows it.")),
})
  .annotate({
    message: "must be a JSON object",
    description: "Which dead letters to remove: give exactly one of timerId, filter and all.",
  })
  .check(exactlyOneOf("timerId", "filter", "all"), cursorNeedsFilter)
  .annotate({ identifier: "DiscardTimers" })

export type DiscardTimers = typeof DiscardTimers.Type

export const ReplayTimersAnswer = Schema.Struct({
  replayed: Count,
  skipped: Count.annotate({ description: "Dead letters whose id is pending again. They stay as they are." }),
  ...moreFields,
}).annotate({ identifier: "ReplayTimersAnswer", description: "What this call did." })

export type ReplayTimersAnswer = typeof ReplayTimersAnswer.Type

export const DiscardTimersAnswer = Schema.Struct({ discarded: Count, ...moreFields }).annotate({
  identifier: "DiscardTimersAnswer",
  description: "What this call did.",
})

export type DiscardTimersAnswer = typeof DiscardTimersAnswer.Type
