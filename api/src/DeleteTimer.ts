/** `/timers/delete`: cancels one timer, with a definite answer about what that meant. */
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
      "cancelled: it will not fire; inFlight: the running attempt cannot be called back, and there will be no other; the rest: it had finished.",
  }),
}).annotate({ identifier: "DeleteTimerAnswer", description: "What the cancellation came to." })

export type DeleteTimerAnswer = typeof DeleteTimerAnswer.Type
