/**
 * `/timers/list` and `/timers/count`. A timer in flight is still pending to a reader who asks what lies
 * ahead, so `pending` lists those too, and each shows its own state; there is no list of `inFlight`, which
 * would be out of date before it arrived.
 */
import { Schema } from "effect"
import { Count } from "./Count.ts"
import { type Limits, limitHint } from "./Limits.ts"
import { Namespace } from "./Namespace.ts"
import { perLimits } from "./perLimits.ts"
import { TimerSchema } from "./Timer.ts"
import { endsAfterItBegins, timerFilterFields } from "./TimerFilter.ts"

export const listStates = ["pending", "delivered", "cancelled", "dead"] as const

const orders = ["asc", "desc"] as const

const filterFields = {
  namespace: Namespace,
  state: Schema.optionalKey(
    Schema.Literals(listStates).annotate({
      message: `must be one of ${listStates.join(", ")} (pending includes those in flight)`,
      description: "pending when left out; it includes those in flight.",
    }),
  ),
  ...timerFilterFields,
}

export const makeListTimers = perLimits((limits: Limits) => {
  const limitMessage = `must be a whole number from 1 to ${limits.listPage}`
  const cursorMessage = "must be the nextCursor of an earlier answer"
  return Schema.Struct({
    ...filterFields,
    order: Schema.optionalKey(
      Schema.Literals(orders).annotate({
        message: "must be asc or desc",
        description:
          "Pending timers go by fireAt, or by timerId when idPrefix is given, ascending when left out; finished ones by finishedAt, descending when left out.",
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
    cursor: Schema.optionalKey(
      Schema.String.annotate({ message: cursorMessage }).check(
        Schema.isBetweenLength(1, limits.cursorLength, {
          message: cursorMessage,
          description: "The nextCursor of an earlier answer, with the same filter.",
        }),
      ),
    ),
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
      description: "Which timers to list. All filters must match.",
    })
    .check(endsAfterItBegins)
    .annotate({ identifier: "ListTimers" })
})

export type ListTimers = ReturnType<typeof makeListTimers>["Type"]

export const ListTimersAnswer = Schema.Struct({
  timers: Schema.Array(TimerSchema),
  nextCursor: Schema.optionalKey(
    Schema.String.annotate({ description: "Present when there is more: send it as cursor." }),
  ),
}).annotate({ identifier: "ListTimersAnswer", description: "One page of timers." })

export type ListTimersAnswer = typeof ListTimersAnswer.Type

export const CountTimers = Schema.Struct(filterFields)
  .annotate({
    message: "must be a JSON object",
    description: "Which timers to count. All filters must match.",
  })
  .check(endsAfterItBegins)
  .annotate({ identifier: "CountTimers" })

export type CountTimers = typeof CountTimers.Type

export const CountTimersAnswer = Schema.Struct({
  count: Count,
  capped: Schema.Boolean.annotate({
    description: "Whether counting stopped early: there are at least count.",
  }),
}).annotate({ identifier: "CountTimersAnswer", description: "How many timers match." })

export type CountTimersAnswer = typeof CountTimersAnswer.Type
