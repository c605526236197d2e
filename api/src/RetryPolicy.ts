/**
 * How often and when failed attempts are repeated: wait = interval × (1 − jitter × random). After each attempt the
 * interval is multiplied by the multiplier, up to the maximum. The defaults spread ten attempts over about a day.
 */
import { Schema } from "effect"
import { Count } from "./Count.ts"
import { DurationMs, durationBetween } from "./DurationMs.ts"
import { usedFor } from "./described.ts"
import { type Limits, limitHint } from "./Limits.ts"
import { perLimits } from "./perLimits.ts"

const hourMs = 3_600_000

const numberBetween = (minimum: number, maximum: number, description: string) => {
  const message = `must be a number from ${minimum} to ${maximum}`
  return Schema.Number.annotate({ message }).check(
    Schema.isFinite({ message }),
    Schema.isBetween({ minimum, maximum }, { message, description }),
  )
}

const integerBetween = (minimum: number, maximum: number, description: string, hint: string) => {
  const message = `must be a whole number from ${minimum} to ${maximum}`
  return Schema.Number.annotate({ message }).check(
    Schema.isInt({ message }),
    Schema.isBetween({ minimum, maximum }, { message: `${message}${hint}`, description }),
  )
}

/** The retry policy in a request. Every field may be left out. Intervals decode to milliseconds. */
export const makeRetryPolicyInput = perLimits((limits: Limits) => {
  const interval = (purpose: string) =>
    Schema.optionalKey(
      durationBetween(1, limits.retryIntervalMs, limitHint("retryIntervalMs")).pipe(usedFor(purpose)),
    )
  return Schema.Struct({
    maxAttempts: Schema.optionalKey(
      integerBetween(
        1,
        limits.attempts,
        "The largest number of attempts, including the first (default 10).",
        limitHint("attempts"),
      ),
    ),
    initialInterval: interval("The wait before the first retry (default 5s)."),
    backoffMultiplier: Schema.optionalKey(
      numberBetween(1, 100, "The interval is multiplied by this after each attempt (default 4)."),
    ),
    maxInterval: interval("The longest wait between two attempts (default 8h)."),
    jitter: Schema.optionalKey(
      numberBetween(0, 1, "The random part of each wait: 0.2 shortens it by up to 20 % (default 0.2)."),
    ),
    maxDuration: Schema.optionalKey(
      durationBetween(1, limits.aheadMs, limitHint("aheadMs")).pipe(
        usedFor("No attempt starts later than this after the first one."),
      ),
    ),
  })
    .annotate({
      message: "must be an object of retry settings",
      description:
        "A field that is left out has its default: 10 attempts, 5s, multiplied by 4 up to 8h, jitter 0.2.",
    })
    .check(
      Schema.makeFilter((policy) =>
        policy.initialInterval !== undefined &&
        policy.maxInterval !== undefined &&
        policy.maxInterval < policy.initialInterval
          ? { path: ["maxInterval"], issue: "must not be shorter than initialInterval" }
          : undefined,
      ),
    )
    .annotate({ identifier: "RetryPolicyInput" })
})

export type RetryPolicyInput = ReturnType<typeof makeRetryPolicyInput>["Type"]

/** The complete policy, as the service stores it and answers show it. */
export const RetryPolicySchema = Schema.Struct({
  maxAttempts: Count,
  initialIntervalMs: DurationMs,
  backoffMultiplier: Schema.Finite,
  maxIntervalMs: DurationMs,
  jitter: Schema.Finite,
  maxDurationMs: Schema.optionalKey(DurationMs),
})
  .pipe(
    Schema.encodeKeys({
      initialIntervalMs: "initialInterval",
      maxIntervalMs: "maxInterval",
      maxDurationMs: "maxDuration",
    }),
  )
  .pipe(
    Schema.annotateEncoded({
      identifier: "RetryPolicy",
      description: "The complete retry policy, with its defaults.",
    }),
  )

type RetryPolicy = typeof RetryPolicySchema.Type

export const defaultRetryPolicy: RetryPolicy = {
  maxAttempts: 10,
  initialIntervalMs: 5_000,
  backoffMultiplier: 4,
  maxIntervalMs: 8 * hourMs,
  jitter: 0.2,
}

/** Fills in the fields that a request left out. An initial interval above the default maximum raises that maximum. */
export const completeRetryPolicy = (
  input: RetryPolicyInput | undefined,
  defaults: RetryPolicy = defaultRetryPolicy,
): RetryPolicy => {
  if (input === undefined) return defaults
  const maxDurationMs = input.maxDuration ?? defaults.maxDurationMs
  const maxIntervalMs = input.maxInterval ?? Math.max(defaults.maxIntervalMs, input.initialInterval ?? 0)
  return {
    maxAttempts: input.maxAttempts ?? defaults.maxAttempts,
    // The default must not exceed a maximum that the request lowered.
    initialIntervalMs: input.initialInterval ?? Math.min(defaults.initialIntervalMs, maxIntervalMs),
    backoffMultiplier: input.backoffMultiplier ?? defaults.backoffMultiplier,
    maxIntervalMs,
    jitter: input.jitter ?? defaults.jitter,
    ...(maxDurationMs === undefined ? {} : { maxDurationMs }),
  }
}
