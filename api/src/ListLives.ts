/**
 * `/timers/lives`: all lives of one key that the store still has. `get` answers only the last one. Delivered and
 * cancelled lives are kept for the retention of the history, dead letters until someone removes them.
 */
import { Schema } from "effect"
import { makeCursor } from "./Cursor.ts"
import type { Limits } from "./Limits.ts"
import { Namespace } from "./Namespace.ts"
import { makePageLimit } from "./PageLimit.ts"
import { perLimits } from "./perLimits.ts"
import { TimerSchema } from "./Timer.ts"
import { TimerId } from "./TimerId.ts"

export const makeListLives = perLimits((limits: Limits) =>
  Schema.Struct({
    namespace: Namespace,
    timerId: TimerId,
    cursor: Schema.optionalKey(makeCursor(limits)),
    limit: Schema.optionalKey(makePageLimit(limits)),
  }).annotate({
    message: "must be a JSON object",
    identifier: "ListLives",
    description: "The key of a timer, and which page of its lives.",
  }),
)

export type ListLives = ReturnType<typeof makeListLives>["Type"]

export const ListLivesAnswer = Schema.Struct({
  lives: Schema.Array(TimerSchema),
  nextCursor: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "Present if there may be more lives, even if this page has fewer lives than limit. Send it as cursor.",
    }),
  ),
}).annotate({
  identifier: "ListLivesAnswer",
  description: "The lives, latest first: the pending timer, if there is one, and then those that finished.",
})

export type ListLivesAnswer = typeof ListLivesAnswer.Type
