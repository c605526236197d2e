/**
 * The command that creates or moves a timer over the bus. The service sends DueTimeReached at `dueAt`. If the timer is
 * pending, the command changes its due time; if the timer is in flight or has finished, the command changes nothing. A
 * pending timer keeps its payload, retry policy and tags if the command leaves them out. Unknown fields are ignored,
 * because later versions of the command may have more fields.
 */
import { Result, Schema, SchemaParser } from "effect"
import { AnyJson } from "./AnyJson.ts"
import { Instant } from "./Instant.ts"
import { defaultLimits, type Limits } from "./Limits.ts"
import { malformedMessage } from "./malformedMessage.ts"
import { Namespace } from "./Namespace.ts"
import { perLimits } from "./perLimits.ts"
import { makeRetryPolicyInput } from "./RetryPolicy.ts"
import { shortenArrays } from "./shortenArrays.ts"
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
    description: "Requests a DueTimeReached at or after an instant, with the payload if there is one.",
  }),
)

export type ScheduleTimer = ReturnType<typeof makeScheduleTimer>["Type"]

/** Decodes the payload of an envelope. */
export const decodeScheduleTimer = (
  payload: unknown,
  limits: Limits = defaultLimits,
): Result.Result<ScheduleTimer, string> => Result.mapError(decoderOf(limits)(payload), malformedMessage)

const decoderOf = perLimits((limits: Limits) => {
  const schema = makeScheduleTimer(limits)
  const shorten = shortenArrays(schema)
  const decode = SchemaParser.decodeUnknownResult(schema, { errors: "all" })
  return (payload: unknown) => {
    shorten(payload)
    return decode(payload)
  }
})
