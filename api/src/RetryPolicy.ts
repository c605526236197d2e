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
    waits: Schema.optionalKey(makeWaits(limits)),
  })
    .annotate({
      message: "must be an object of retry settings",
      description:
        "Either waits, or any of maxAttempts, initialInterval, backoffMultiplier, maxInterval and jitter. A field that is left out has its default: 10 attempts, 5s, multiplied by 4 up to 8h, jitter 0.2.",
    })
    .check(
      Schema.makeFilter((policy) => {
        const other = policy.waits === undefined ? undefined : growing.find((name) => name in policy)
        return other === undefined
          ? undefined
          : { path: [other], issue: "cannot be given together with waits: remove one of them" }
      }, eitherForm),
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

const makeWaits = ({ attempts, retryIntervalMs }: Limits) => {
  const most = attempts - 1
  const message = `must be an array of at most ${most} durations`
  return Schema.Array(durationBetween(1, retryIntervalMs))
    .annotate({ message })
    .check(
      Schema.isMaxLength(most, {
        message,
        description:
          "The wait after each failed attempt, exactly, without jitter. The timer has one attempt more than waits.",
      }),
    )
}

/** The fields that only the first form has. */
const growing = ["maxAttempts", "initialInterval", "backoffMultiplier", "maxInterval", "jitter"] as const

/** The rule about the two forms, for the OpenAPI document. */
const eitherForm = {
  toJsonSchema: () => ({
    anyOf: [
      { not: { required: ["waits"] } },
      { not: { anyOf: growing.map((name) => ({ required: [name] })) } },
    ],
  }),
}

export type RetryPolicyInput = ReturnType<typeof makeRetryPolicyInput>["Type"]

const GrowingPolicy = Schema.Struct({
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

const WaitsPolicy = Schema.Struct({
  waitsMs: Schema.Array(DurationMs),
  maxDurationMs: Schema.optionalKey(DurationMs),
})
  .pipe(Schema.encodeKeys({ waitsMs: "waits", maxDurationMs: "maxDuration" }))
  .pipe(Schema.annotateEncoded({ identifier: "RetryWaits" }))

/** The effective policy as answers show it: in the form in which it was given. */
export const RetryPolicySchema = Schema.Union([WaitsPolicy, GrowingPolicy])

/** The effective policy as the service keeps it. One with waits has the fields of the other form, too: they follow from them. */
type RetryPolicy = typeof GrowingPolicy.Type & { readonly waitsMs?: ReadonlyArray<number> }

/** What answers show of a policy. */
export const shownRetryPolicy = (policy: RetryPolicy): typeof RetryPolicySchema.Type => {
  const { waitsMs, maxDurationMs } = policy
  if (waitsMs === undefined) return policy
  return { waitsMs, ...(maxDurationMs === undefined ? {} : { maxDurationMs }) }
}

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
  usual: RetryPolicy = defaultRetryPolicy,
): RetryPolicy => {
  if (input === undefined) return usual
  if (input.waits !== undefined) return policyOfWaits(input.waits, input.maxDuration)
  const defaults = usual.waitsMs === undefined ? usual : defaultRetryPolicy
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

const policyOfWaits = (waitsMs: ReadonlyArray<number>, maxDurationMs: number | undefined): RetryPolicy => ({
  maxAttempts: waitsMs.length + 1,
  initialIntervalMs: waitsMs[0] ?? 1,
  backoffMultiplier: 1,
  maxIntervalMs: Math.max(1, ...waitsMs),
  jitter: 0,
  ...(maxDurationMs === undefined ? {} : { maxDurationMs }),
  waitsMs,
})
