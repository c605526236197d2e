/**
 * `/timers/update`: a field that is absent keeps its value. null clears the payload, the expiry and the tags, and sets
 * the retry policy back to its default. A given retry policy replaces the old one completely.
 */
import { Schema } from "effect"
import { AnyJson } from "./AnyJson.ts"
import { makeCallbackUrl } from "./CallbackUrl.ts"
import { NewCorrelationId } from "./CorrelationId.ts"
import { delayText, executeAtText, expireAfterText, payloadText } from "./CreateTimer.ts"
import { durationBetween } from "./DurationMs.ts"
import { described, usedFor } from "./described.ts"
import { Instant } from "./Instant.ts"
import { type Limits, limitHint } from "./Limits.ts"
import { Namespace } from "./Namespace.ts"
import { expiresIfOnExpire, OnExpire } from "./OnExpire.ts"
import { atMostOneOf } from "./oneOf.ts"
import { perLimits } from "./perLimits.ts"
import { makeRetryPolicyInput } from "./RetryPolicy.ts"
import { Tags } from "./Tags.ts"
import { makeOnDead, makeTargetInput, onDeadMessage } from "./Target.ts"
import { Revision, TimerSchema } from "./Timer.ts"
import { TimerId } from "./TimerId.ts"
import { Warnings } from "./Warnings.ts"

const changeable = [
  "executeAt",
  "delay",
  "callbackUrl",
  "target",
  "payload",
  "retryPolicy",
  "expireAfter",
  "onExpire",
  "onDead",
  "correlationId",
  "tags",
] as const

const changesSomething = Schema.makeFilter(
  (body: Readonly<Record<string, unknown>>) =>
    changeable.some((field) => field in body)
      ? undefined
      : `must have at least one change: ${changeable.join(", ")}`,
  { toJsonSchema: () => ({ anyOf: changeable.map((field) => ({ required: [field] })) }) },
)

export const makeUpdateTimer = perLimits((limits: Limits) =>
  Schema.Struct({
    namespace: Namespace,
    timerId: TimerId,
    executeAt: Schema.optionalKey(Instant.pipe(described(executeAtText))),
    delay: Schema.optionalKey(
      durationBetween(0, limits.aheadMs, limitHint("aheadMs")).pipe(usedFor(delayText)),
    ),
    callbackUrl: Schema.optionalKey(makeCallbackUrl(limits)),
    target: Schema.optionalKey(makeTargetInput(limits)),
    payload: Schema.optionalKey(AnyJson.annotate({ description: `${payloadText(limits)} null clears it.` })),
    retryPolicy: Schema.optionalKey(
      Schema.NullOr(makeRetryPolicyInput(limits)).annotate({
        message: "must be an object of retry settings, or null for the default",
      }),
    ),
    expireAfter: Schema.optionalKey(
      Schema.NullOr(
        durationBetween(1, limits.aheadMs, limitHint("aheadMs")).pipe(usedFor(expireAfterText)),
      ).annotate({
        message: "must be a duration such as 1h30m, or null to clear it",
      }),
    ),
    onExpire: Schema.optionalKey(OnExpire),
    onDead: Schema.optionalKey(
      Schema.NullOr(makeOnDead(limits)).annotate({ message: `${onDeadMessage}, or null for none` }),
    ),
    correlationId: Schema.optionalKey(NewCorrelationId),
    tags: Schema.optionalKey(
      Schema.NullOr(Tags).annotate({ message: "must be an array of 1 to 10 tags, or null for none" }),
    ),
    ifRevision: Schema.optionalKey(Revision),
  })
    .annotate({
      message: "must be a JSON object",
      description:
        "The fields to change. A field that is absent stays as it is. null clears payload, expireAfter, onDead and tags, and sets retryPolicy back to its default.",
    })
    .check(
      atMostOneOf("executeAt", "delay"),
      atMostOneOf("callbackUrl", "target"),
      expiresIfOnExpire,
      changesSomething,
    )
    .annotate({ identifier: "UpdateTimer" }),
)

export type UpdateTimer = ReturnType<typeof makeUpdateTimer>["Type"]

export const UpdateTimerAnswer = Schema.Struct({
  timer: TimerSchema,
  warnings: Schema.optionalKey(Warnings),
}).annotate({ identifier: "UpdateTimerAnswer", description: "The timer after the change." })

export type UpdateTimerAnswer = typeof UpdateTimerAnswer.Type
