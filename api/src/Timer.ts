/** A timer as answers show it: its pending life, or the last one that finished. */
import { Schema } from "effect"
import { AnyJson } from "./AnyJson.ts"
import { Count } from "./Count.ts"
import { DurationMs } from "./DurationMs.ts"
import { described } from "./described.ts"
import { Instant } from "./Instant.ts"
import { expiryRules } from "./OnExpire.ts"
import { RetryPolicySchema } from "./RetryPolicy.ts"
import { OnDeadSchema, TargetSchema } from "./Target.ts"
import { WaitingSchema } from "./Waiting.ts"

export const timerStates = ["pending", "inFlight", "delivered", "cancelled", "dead"] as const

/** An integer that only grows for a key, across its lives. */
export const Revision = Schema.Number.annotate({ message: "must be a revision: a whole number" }).check(
  Schema.isInt({ message: "must be a revision: a whole number" }),
  Schema.isGreaterThanOrEqualTo(0, {
    message: "must be a revision: a whole number",
    description: "Grows with every arming of a key; for compare-and-set.",
  }),
)

/** Answers carry it as text; receivers of webhooks see the same value as `webhook-id`. */
export const FireId = Schema.String.annotate({
  format: "uuid",
  description:
    "A UUID v7, made each time the timer is armed. It is the same on every attempt: receivers drop repeats by it.",
})

const Attempt = Schema.Struct({
  at: Instant.pipe(described("When the attempt began.")),
  status: Schema.optionalKey(
    Count.annotate({ description: "The HTTP status of the answer, if there was one." }),
  ),
  error: Schema.optionalKey(Schema.String.annotate({ description: "Why the attempt failed." })),
  answer: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "The first bytes (at most 512) of the receiver's answer to an attempt that failed. `get` shows it, and so do lists that include payloads.",
    }),
  ),
  durationMs: Count.annotate({ description: "How long the attempt took." }),
}).annotate({ identifier: "Attempt", description: "One attempt to deliver the timer." })

/**
 * Ids are plain text here: what the service answers has been checked when it came in, and a client must be
 * able to read what a newer server accepts.
 */
export const TimerSchema = Schema.Struct({
  namespace: Schema.String.annotate({ description: "The namespace of the timer." }),
  timerId: Schema.String.annotate({ description: "The id of the timer in its namespace." }),
  state: Schema.Literals(timerStates).annotate({
    description:
      "pending: waits for fireAt; inFlight: an attempt is running; delivered, cancelled and dead: finished.",
  }),
  revision: Count.annotate({
    description: "Grows with every arming of a key, across its lives. Send it as ifRevision.",
  }),
  fireId: FireId,
  executeAt: Instant.pipe(described("The instant that the caller asked for.")),
  fireAt: Schema.optionalKey(
    Instant.pipe(described("When the next attempt is due. Absent once the timer has finished.")),
  ),
  waiting: Schema.optionalKey(WaitingSchema),
  attemptStartedAt: Schema.optionalKey(
    Instant.pipe(described("While the timer is in flight: when the running attempt started.")),
  ),
  attempts: Count.annotate({ description: "How many attempts have begun since the timer was armed." }),
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
  expireAfterMs: Schema.optionalKey(
    DurationMs.pipe(described("How long after executeAt the first attempt may begin.")),
  ),
  onExpire: Schema.optionalKey(
    Schema.Literals(expiryRules).annotate({ description: "What happens if it expires: dead when absent." }),
  ),
  onDead: Schema.optionalKey(OnDeadSchema),
  correlationId: Schema.String.annotate({
    description: "The caller's own id of the work that the timer belongs to, or one that the service made.",
  }),
  tags: Schema.optionalKey(
    Schema.Array(Schema.String).annotate({ description: "Words to find the timer by." }),
  ),
  traceparent: Schema.optionalKey(
    Schema.String.annotate({ description: "The trace that the webhook continues." }),
  ),
  createdAt: Instant.pipe(described("When this life of the key was created.")),
  updatedAt: Instant.pipe(described("When the timer was last armed, or when its latest attempt ended.")),
  finishedAt: Schema.optionalKey(
    Instant.pipe(described("When the timer was delivered, cancelled or found dead.")),
  ),
  latenessMs: Schema.optionalKey(
    Count.annotate({
      description:
        "How late the attempt that delivered the timer began, counted from executeAt, or from the creation if that was later.",
    }),
  ),
  reason: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "Why it is dead: attemptsExhausted, durationExhausted, expired, refused, egressRefused, invalidTarget. Why it is cancelled, if no call cancelled it: expired (by onExpire), notDead (a call of onDead whose timer is not dead).",
    }),
  ),
})
  .pipe(Schema.encodeKeys({ expireAfterMs: "expireAfter" }))
  .pipe(
    Schema.annotateEncoded({
      identifier: "Timer",
      description: "A timer: its pending life, or the last one that finished.",
    }),
  )
