/**
 * The command that takes a timer back over the bus. Nothing answers it, and it may be repeated. It is ordered with
 * ScheduleTimer by the senders' time stamps: one that was sent before the command that set the timer changes nothing. For
 * a timer that is in flight, or has finished, it changes nothing either.
 */
import { Result, Schema, SchemaParser } from "effect"
import { malformedMessage } from "./malformedMessage.ts"
import { Namespace } from "./Namespace.ts"
import { TimerId } from "./TimerId.ts"

export const cancelTimerType = "CancelTimer"

const CancelTimer = Schema.Struct({ tenantId: Namespace, serviceCallId: TimerId }).annotate({
  message: "must be a JSON object",
  identifier: "CancelTimer",
  description: "Takes back a ScheduleTimer: there will be no DueTimeReached.",
})

export type CancelTimer = typeof CancelTimer.Type

/** From an envelope's payload. */
export const decodeCancelTimer = (payload: unknown): Result.Result<CancelTimer, string> =>
  Result.mapError(decodeUnknown(payload), malformedMessage)

const decodeUnknown = SchemaParser.decodeUnknownResult(CancelTimer, { errors: "all" })
