/**
 * `/timers/list` and `/timers/count`. A reader who asks for pending timers also wants the timers in flight, so
 * `pending` includes them, and each timer shows its own state. There is no list of `inFlight`, because it would be
 * outdated when it arrives.
 */
import { Schema } from "effect"
import { Count } from "./Count.ts"
import { makeCursor } from "./Cursor.ts"
import type { Limits } from "./Limits.ts"
import { makePageLimit } from "./PageLimit.ts"
import { perLimits } from "./perLimits.ts"
import { TimerSchema } from "./Timer.ts"
import { listFilterFields, scopeChecks } from "./TimerFilter.ts"

const orders = ["asc", "desc"] as const

const costs =
  "host, reason, error and minLateness have no index: one call examines at most 10,000 timers, and the answer says how many it examined."

export const makeListTimers = perLimits((limits: Limits) => {
  return Schema.Struct({
    ...listFilterFields,
    order: Schema.optionalKey(
      Schema.Literals(orders).annotate({
        message: "must be asc or desc",
        description:
          "Pending timers are sorted by fireAt (default asc). Finished timers, and pending and finished timers together, are sorted by finishedAt or fireAt (default desc). With idPrefix all timers are sorted by timerId (default asc).",
      }),
    ),
    include: Schema.optionalKey(
      Schema.Array(Schema.Literal("payload").annotate({ message: 'must be "payload"' }))
        .annotate({
          message: 'must be an array that may contain "payload"',
          description: "Add the payload to each timer.",
        })
        .check(Schema.isMaxLength(1, { message: 'must contain "payload" at most once' })),
    ),
    cursor: Schema.optionalKey(makeCursor(limits)),
    limit: Schema.optionalKey(makePageLimit(limits)),
  })
    .annotate({
      message: "must be a JSON object",
      description: `Which timers to list. Give exactly one of namespace and namespaces, and at most one of state and states. All filters must match. ${costs}`,
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
      description:
        "Present if there may be more timers, even if this page is empty or has fewer timers than limit. Send it as cursor.",
    }),
  ),
  examined,
}).annotate({ identifier: "ListTimersAnswer", description: "One page of timers." })

export type ListTimersAnswer = typeof ListTimersAnswer.Type

export const CountTimers = Schema.Struct(listFilterFields)
  .annotate({
    message: "must be a JSON object",
    description: `Which timers to count. Give exactly one of namespace and namespaces, and at most one of state and states. All filters must match. ${costs}`,
  })
  .check(...scopeChecks)
  .annotate({ identifier: "CountTimers" })

export type CountTimers = typeof CountTimers.Type

export const CountTimersAnswer = Schema.Struct({
  count: Count,
  capped: Schema.Boolean.annotate({
    description: "Whether counting stopped early. Then there are at least count timers.",
  }),
  examined,
}).annotate({ identifier: "CountTimersAnswer", description: "How many timers match." })

export type CountTimersAnswer = typeof CountTimersAnswer.Type
