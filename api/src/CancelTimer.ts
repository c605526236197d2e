/**
 * The command that cancels a timer over the bus. It has no answer, and it may be repeated. The senders' timestamps
 * order it with ScheduleTimer: a CancelTimer that was sent before the ScheduleTimer changes nothing. It also changes
 * nothing if the timer is in flight or has finished.
 */
import { Result, Schema, SchemaParser } from "effect"
import { malformedMessage } from "./malformedMessage.ts"
import { Namespace } from "./Namespace.ts"
import { TimerId } from "./TimerId.ts"

export const cancelTimerType = "CancelTimer"

const CancelTimer = Schema.Struct({ tenantId: Namespace, serviceCallId: TimerId }).annotate({
  message: "must be a JSON object",
  identifier: "CancelTimer",
  description: "Cancels a ScheduleTimer: there will be no DueTimeReached.",
})

export type CancelTimer = typeof CancelTimer.Type

/** Decodes the payload of an envelope. */
export const decodeCancelTimer = (payload: unknown): Result.Result<CancelTimer, string> =>
  Result.mapError(decodeUnknown(payload), malformedMessage)

const decodeUnknown = SchemaParser.decodeUnknownResult(CancelTimer, { errors: "all" })
