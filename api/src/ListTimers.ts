/**
 * `/timers/list` and `/timers/count`. A timer in flight is still pending to a reader who asks what lies
 * ahead, so `pending` lists those too, and each shows its own state; there is no list of `inFlight`, which
 * would be out of date before it arrived.
 */
import { Schema } from "effect"
import { Count } from "./Count.ts"
import { makeCursor } from "./Cursor.ts"
import { type Limits, limitHint } from "./Limits.ts"
import { atMostOneOf, exactlyOneOf } from "./oneOf.ts"
import { perLimits } from "./perLimits.ts"
import { TimerSchema } from "./Timer.ts"
import { endsAfterItBegins, hasReasonOfDead, isBoundedOverAll, listFilterFields } from "./TimerFilter.ts"

const orders = ["asc", "desc"] as const

const scopeChecks = [
  exactlyOneOf("namespace", "namespaces"),
  atMostOneOf("state", "states"),
  endsAfterItBegins,
  isBoundedOverAll,
  hasReasonOfDead,
] as const

const costs =
  "host, reason, error and minLateness have no index: one call examines at most 10,000 timers, and answers how many it examined."

export const makeListTimers = perLimits((limits: Limits) => {
  const limitMessage = `must be a whole number from 1 to ${limits.listPage}`
  return Schema.Struct({
    ...listFilterFields,
    order: Schema.optionalKey(
      Schema.Literals(orders).annotate({
        message: "must be asc or desc",
        description:
          "Pending timers go by fireAt, ascending when left out. Finished ones, and pending and finished ones together, go by finishedAt or fireAt, descending when left out. With idPrefix all go by timerId, ascending when left out.",
      }),
    ),
    include: Schema.optionalKey(
      Schema.Array(Schema.Literal("payload").annotate({ message: 'must be "payload"' }))
        .annotate({
          message: 'must be an array that may contain "payload"',
          description: "What to add to each timer: its payload.",
        })
        .check(Schema.isMaxLength(1, { message: 'must contain "payload" at most once' })),
    ),
    cursor: Schema.optionalKey(makeCursor(limits)),
    limit: Schema.optionalKey(
      Schema.Number.annotate({ message: limitMessage }).check(
        Schema.isInt({ message: limitMessage }),
        Schema.isBetween(
          { minimum: 1, maximum: limits.listPage },
          {
            message: `${limitMessage}${limitHint("listPage")}`,
            description: `The size of a page; ${limits.listPageDefault} when left out.`,
          },
        ),
      ),
    ),
  })
    .annotate({
      message: "must be a JSON object",
      description: `Which timers to list: exactly one of namespace and namespaces, at most one of state and states. All filters must match. ${costs}`,
    })
    .check(...scopeChecks)
    .annotate({ identifier: "ListTimers" })
})

export type ListTimers = ReturnType<typeof makeListTimers>["Type"]

const examined = Schema.optionalKey(
  Count.annotate({
    description: "How many timers were examined; present with host, reason, error or minLateness.",
  }),
)

export const ListTimersAnswer = Schema.Struct({
  timers: Schema.Array(TimerSchema),
  nextCursor: Schema.optionalKey(
    Schema.String.annotate({
      description: "Present when there may be more, even if this page is empty: send it as cursor.",
    }),
  ),
  examined,
}).annotate({ identifier: "ListTimersAnswer", description: "One page of timers." })

export type ListTimersAnswer = typeof ListTimersAnswer.Type

export const CountTimers = Schema.Struct(listFilterFields)
  .annotate({
    message: "must be a JSON object",
    description: `Which timers to count: exactly one of namespace and namespaces, at most one of state and states. All filters must match. ${costs}`,
  })
  .check(...scopeChecks)
  .annotate({ identifier: "CountTimers" })

export type CountTimers = typeof CountTimers.Type

export const CountTimersAnswer = Schema.Struct({
  count: Count,
  capped: Schema.Boolean.annotate({
    description: "Whether counting stopped early: there are at least count.",
  }),
  examined,
}).annotate({ identifier: "CountTimersAnswer", description: "How many timers match." })

export type CountTimersAnswer = typeof CountTimersAnswer.Type
