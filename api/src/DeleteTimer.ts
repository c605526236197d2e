/** `/timers/delete`: cancels one timer. The answer says exactly what happened. */
import { Schema } from "effect"
import { Namespace } from "./Namespace.ts"
import { Revision } from "./Timer.ts"
import { TimerId } from "./TimerId.ts"

export const deleteResults = [
  "cancelled",
  "inFlight",
  "alreadyDelivered",
  "alreadyCancelled",
  "alreadyDead",
] as const

export const DeleteTimer = Schema.Struct({
  namespace: Namespace,
  timerId: TimerId,
  ifRevision: Schema.optionalKey(Revision),
}).annotate({
  message: "must be a JSON object",
  identifier: "DeleteTimer",
  description: "The key of a timer to cancel.",
})

export type DeleteTimer = typeof DeleteTimer.Type

export const DeleteTimerAnswer = Schema.Struct({
  result: Schema.Literals(deleteResults).annotate({
    description:
      "cancelled: the timer will not fire; inFlight: the running attempt cannot be stopped, but there will be no further attempt; the others: the timer had already finished.",
  }),
}).annotate({ identifier: "DeleteTimerAnswer", description: "The result of the cancellation." })

export type DeleteTimerAnswer = typeof DeleteTimerAnswer.Type
