/**
 * `/timers/create`: this call is the hot path of the service, so its schema is flat. Instants and durations decode to
 * milliseconds but keep their wire names.
 */
import { Schema } from "effect"
import { AnyJson } from "./AnyJson.ts"
import { makeCallbackUrl } from "./CallbackUrl.ts"
import { NewCorrelationId } from "./CorrelationId.ts"
import { durationBetween } from "./DurationMs.ts"
import { described, usedFor } from "./described.ts"
import { Instant } from "./Instant.ts"
import { type Limits, limitHint } from "./Limits.ts"
import { Namespace } from "./Namespace.ts"
import { expiresIfOnExpire, OnExpire } from "./OnExpire.ts"
import { exactlyOneOf } from "./oneOf.ts"
import { perLimits } from "./perLimits.ts"
import { makeRetryPolicyInput } from "./RetryPolicy.ts"
import { Tags } from "./Tags.ts"
import { completeTarget, makeOnDead, makeTargetInput, type TargetInput, type TargetSchema } from "./Target.ts"
import { TimerSchema } from "./Timer.ts"
import { NewTimerId } from "./TimerId.ts"
import { Traceparent } from "./Traceparent.ts"
import { Warnings } from "./Warnings.ts"

export const createResults = ["created", "replaced", "unchanged", "alreadyFinished"] as const
export const existingRules = ["replace", "keep", "fail"] as const

export const executeAtText =
  "The instant at or after which the timer fires: ISO 8601 with an offset (Z or ±hh:mm). Fractions of a millisecond round up. A timer with an instant in the past is due at once."
export const delayText = "The timer fires this long after the service receives the request."
export const expireAfterText =
  "If the first attempt has not started this long after executeAt, the timer becomes a dead letter."
export const payloadText = (limits: Limits): string =>
  `Any JSON, delivered byte for byte. At most ${limits.payloadBytes} bytes.`

export const makeCreateTimer = perLimits((limits: Limits) =>
  Schema.Struct({
    namespace: Namespace,
    timerId: Schema.optionalKey(NewTimerId),
    executeAt: Schema.optionalKey(Instant.pipe(described(executeAtText))),
    delay: Schema.optionalKey(
      durationBetween(0, limits.aheadMs, limitHint("aheadMs")).pipe(usedFor(delayText)),
    ),
    callbackUrl: Schema.optionalKey(makeCallbackUrl(limits)),
    target: Schema.optionalKey(makeTargetInput(limits)),
    payload: Schema.optionalKey(AnyJson.annotate({ description: payloadText(limits) })),
    retryPolicy: Schema.optionalKey(makeRetryPolicyInput(limits)),
    expireAfter: Schema.optionalKey(
      durationBetween(1, limits.aheadMs, limitHint("aheadMs")).pipe(usedFor(expireAfterText)),
    ),
    onExpire: Schema.optionalKey(OnExpire),
    onDead: Schema.optionalKey(makeOnDead(limits)),
    correlationId: Schema.optionalKey(NewCorrelationId),
    tags: Schema.optionalKey(Tags),
    traceparent: Schema.optionalKey(Traceparent),
    onExisting: Schema.optionalKey(
      Schema.Literals(existingRules).annotate({
        message: `must be one of ${existingRules.join(", ")}`,
        description:
          "What to do if a timer with this id is pending: replace it (the default), keep it, or fail.",
      }),
    ),
  })
    .annotate({
      message: "must be a JSON object",
      description:
        "A timer to create. Give exactly one of executeAt and delay, and exactly one of callbackUrl (short for a webhook target) and target.",
    })
    .check(exactlyOneOf("executeAt", "delay"), exactlyOneOf("callbackUrl", "target"), expiresIfOnExpire)
    .annotate({ identifier: "CreateTimer" }),
)

export type CreateTimer = ReturnType<typeof makeCreateTimer>["Type"]

export const CreateTimerAnswer = Schema.Struct({
  result: Schema.Literals(createResults).annotate({
    description:
      "unchanged: an equal timer is pending, or onExisting is keep; alreadyFinished: the request repeats a create whose timer has finished. In both cases nothing changes.",
  }),
  timer: TimerSchema,
  warnings: Schema.optionalKey(Warnings),
}).annotate({ identifier: "CreateTimerAnswer", description: "The timer, and the result of the request." })

export type CreateTimerAnswer = typeof CreateTimerAnswer.Type

/** The complete target of a request; `undefined` for an update that names no target. */
export const targetOf = (
  request: { readonly callbackUrl?: string; readonly target?: TargetInput },
  limits: Limits,
): (typeof TargetSchema)["Type"] | undefined => {
  if (request.callbackUrl !== undefined) {
    return completeTarget({ type: "webhook", url: request.callbackUrl }, limits)
  }
  return request.target === undefined ? undefined : completeTarget(request.target, limits)
}
