/**
 * `/timers/deleteMany`: cancels the timers that match a filter, or all timers of a namespace. An empty filter is
 * refused, and `all` must be explicit, so that a forgotten field never empties a namespace.
 */
import { Schema } from "effect"
import { Count } from "./Count.ts"
import { makeCursor } from "./Cursor.ts"
import { defaultLimits } from "./Limits.ts"
import { cursorNeedsFilter, moreFields } from "./moreFields.ts"
import { Namespace } from "./Namespace.ts"
import { exactlyOneOf } from "./oneOf.ts"
import { TimerFilter } from "./TimerFilter.ts"

/** Pending timers have no reason, so such a filter would match nothing. */
const hasNoReason = Schema.makeFilter(
  ({ filter }: { readonly filter?: { readonly reason?: string } }) =>
    filter?.reason === undefined
      ? undefined
      : {
          path: ["filter", "reason"],
          issue:
            "is only for dead letters and cancelled timers, but this call cancels pending timers: remove it",
        },
  { toJsonSchema: () => ({ properties: { filter: { not: { required: ["reason"] } } } }) },
)

export const DeleteManyTimers = Schema.Struct({
  namespace: Namespace,
  filter: Schema.optionalKey(TimerFilter),
  all: Schema.optionalKey(
    Schema.Literal(true).annotate({
      message: "must be true",
      description: "Every pending timer of the namespace.",
    }),
  ),
  cursor: Schema.optionalKey(makeCursor(defaultLimits)),
})
  .annotate({ message: "must be a JSON object", description: "Give exactly one of filter and all." })
  .check(exactlyOneOf("filter", "all"), cursorNeedsFilter, hasNoReason)
  .annotate({ identifier: "DeleteManyTimers" })

export type DeleteManyTimers = typeof DeleteManyTimers.Type

export const DeleteManyTimersAnswer = Schema.Struct({
  cancelled: Count,
  inFlight: Count,
  ...moreFields,
}).annotate({
  identifier: "DeleteManyTimersAnswer",
  description: "How many timers this call cancelled, and how many were in flight.",
})

export type DeleteManyTimersAnswer = typeof DeleteManyTimersAnswer.Type
