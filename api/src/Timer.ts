/** A timer as answers show it: its pending life, or the last one that finished. */
import { Schema } from "effect"
import { AnyJson } from "./AnyJson.ts"
import { Count } from "./Count.ts"
import { DurationMs } from "./DurationMs.ts"
import { Instant } from "./Instant.ts"
import { expiryRules } from "./OnExpire.ts"
import { RetryPolicySchema } from "./RetryPolicy.ts"
import { OnDeadSchema, TargetSchema } from "./Target.ts"

export const timerStates = ["pending", "inFlight", "delivered", "cancelled", "dead"] as const

/** An integer that only grows for a key, across its lives. */
export const Revision = Schema.Number.annotate({ message: "must be a revision: a whole number" }).check(
  Schema.isInt({ message: "must be a revision: a whole number" }),
  Schema.isGreaterThanOrEqualTo(0, {
    message: "must be a revision: a whole number",
    description: "Grows with every arming of a key; for compare-and-set.",
  }),
)

const Attempt = Schema.Struct({
  at: Instant,
  status: Schema.optionalKey(Count),
  error: Schema.optionalKey(Schema.String),
  durationMs: Count,
}).annotate({ identifier: "Attempt" })

/**
 * Ids are plain text here: what the service answers has been checked when it came in, and a client must be
 * able to read what a newer server accepts.
 */
export const TimerSchema = Schema.Struct({
  namespace: Schema.String,
  timerId: Schema.String,
  state: Schema.Literals(timerStates),
  revision: Count,
  fireId: Schema.String,
  executeAt: Instant,
  fireAt: Schema.optionalKey(Instant),
  attempts: Count,
  lastAttempt: Schema.optionalKey(Attempt),
  attemptLog: Schema.optionalKey(
    Schema.Array(Attempt).annotate({
      description: "The latest 20 attempts since it was armed, oldest first.",
    }),
  ),
  target: TargetSchema,
  payload: Schema.optionalKey(
    AnyJson.annotate({ description: "In what `get` answers, and in lists that ask for it by `include`." }),
  ),
  retryPolicy: RetryPolicySchema,
  expireAfterMs: Schema.optionalKey(DurationMs),
  onExpire: Schema.optionalKey(
    Schema.Literals(expiryRules).annotate({ description: "What happens if it expires: dead when absent." }),
  ),
  onDead: Schema.optionalKey(OnDeadSchema),
  correlationId: Schema.String,
  tags: Schema.optionalKey(Schema.Array(Schema.String)),
  traceparent: Schema.optionalKey(Schema.String),
  createdAt: Instant,
  updatedAt: Instant,
  finishedAt: Schema.optionalKey(Instant),
  latenessMs: Schema.optionalKey(Count),
  reason: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "Why it is dead: attemptsExhausted, durationExhausted, expired, refused, egressRefused, invalidTarget. Why it is cancelled, if no call cancelled it: expired (by onExpire), notDead (a call of onDead whose timer is not dead).",
    }),
  ),
})
  .pipe(Schema.encodeKeys({ expireAfterMs: "expireAfter" }))
  .pipe(Schema.annotateEncoded({ identifier: "Timer" }))
