/**
 * The command that sets a timer over the bus: signal when it is `dueAt`. For a timer that is pending it moves
 * the due time; for one that has begun to fire, or has finished, it changes nothing.
 */
import { Result, Schema, SchemaParser } from "effect"
import { Instant } from "./Instant.ts"
import { malformedMessage } from "./malformedMessage.ts"
import { Namespace } from "./Namespace.ts"
import { TimerId } from "./TimerId.ts"

export const scheduleTimerType = "ScheduleTimer"

export const ScheduleTimer = Schema.Struct({
  tenantId: Namespace,
  serviceCallId: TimerId,
  dueAt: Instant,
}).annotate({
  message: "must be a JSON object",
  identifier: "ScheduleTimer",
  description: "Asks for a DueTimeReached at or after an instant.",
})

export type ScheduleTimer = typeof ScheduleTimer.Type

/** From an envelope's payload. */
export const decodeScheduleTimer = (payload: unknown): Result.Result<ScheduleTimer, string> =>
  Result.mapError(decodeUnknown(payload), malformedMessage)

const decodeUnknown = SchemaParser.decodeUnknownResult(ScheduleTimer, { errors: "all" })
