/**
 * The command that sets a timer over the bus: signal when it is `dueAt`. For a timer that is pending it moves
 * the due time; for one that has begun to fire, or has finished, it changes nothing. What it leaves out of payload,
 * retry policy, tags and traceparent, a pending timer keeps. Fields that are not known are ignored: a command may gain some.
 */
import { Result, Schema, SchemaParser } from "effect"
import { AnyJson } from "./AnyJson.ts"
import { Instant } from "./Instant.ts"
import { defaultLimits, type Limits } from "./Limits.ts"
import { malformedMessage } from "./malformedMessage.ts"
import { Namespace } from "./Namespace.ts"
import { perLimits } from "./perLimits.ts"
import { makeRetryPolicyInput } from "./RetryPolicy.ts"
import { Tags } from "./Tags.ts"
import { NewTimerId } from "./TimerId.ts"
import { Traceparent } from "./Traceparent.ts"

export const scheduleTimerType = "ScheduleTimer"

const makeScheduleTimer = perLimits((limits: Limits) =>
  Schema.Struct({
    tenantId: Namespace,
    serviceCallId: NewTimerId,
    dueAt: Instant,
    payload: Schema.optionalKey(AnyJson),
    retryPolicy: Schema.optionalKey(makeRetryPolicyInput(limits)),
    tags: Schema.optionalKey(Tags),
    traceparent: Schema.optionalKey(Traceparent),
  }).annotate({
    message: "must be a JSON object",
    identifier: "ScheduleTimer",
    description: "Asks for a DueTimeReached at or after an instant, with the payload if there is one.",
  }),
)

export type ScheduleTimer = ReturnType<typeof makeScheduleTimer>["Type"]

/** From an envelope's payload. */
export const decodeScheduleTimer = (
  payload: unknown,
  limits: Limits = defaultLimits,
): Result.Result<ScheduleTimer, string> => Result.mapError(decoderOf(limits)(payload), malformedMessage)

const decoderOf = perLimits((limits: Limits) =>
  SchemaParser.decodeUnknownResult(makeScheduleTimer(limits), { errors: "all" }),
)
