/** A timer as answers show it. */
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

/** An integer that only grows for a key, also when the key is used again for a new timer. */
export const Revision = Schema.Number.annotate({ message: "must be a revision: a whole number" }).check(
  Schema.isInt({ message: "must be a revision: a whole number" }),
  Schema.isGreaterThanOrEqualTo(0, {
    message: "must be a revision: a whole number",
    description:
      "The revision of the timer. It grows each time the timer is armed. Use it for compare-and-set.",
  }),
)

/** Receivers of webhooks get the same value as `webhook-id`. */
export const FireId = Schema.String.annotate({
  format: "uuid",
  description:
    "A new UUID v7 each time the timer is armed. All attempts have the same fireId, so that receivers can drop repeats.",
})

const Attempt = Schema.Struct({
  at: Instant.pipe(described("When the attempt started.")),
  status: Schema.optionalKey(
    Count.annotate({ description: "The HTTP status of the answer, if there was one." }),
  ),
  error: Schema.optionalKey(Schema.String.annotate({ description: "Why the attempt failed." })),
  answer: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "The first bytes (at most 512) of the receiver's answer to a failed attempt. `get` shows it, and so do lists that include payloads.",
    }),
  ),
  durationMs: Count.annotate({ description: "How long the attempt took." }),
}).annotate({ identifier: "Attempt", description: "One attempt to deliver the timer." })

/**
 * Ids are plain strings here: the service has already checked them, and a client must be able to read ids that only a
 * newer server accepts.
 */
export const TimerSchema = Schema.Struct({
  namespace: Schema.String.annotate({ description: "The namespace of the timer." }),
  timerId: Schema.String.annotate({ description: "The id of the timer in its namespace." }),
  state: Schema.Literals(timerStates).annotate({
    description:
      "pending: waits for fireAt; inFlight: an attempt is running; delivered, cancelled and dead: finished.",
  }),
  revision: Count.annotate({
    description: "Grows each time a timer with this id is armed. Send it as ifRevision.",
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
  attempts: Count.annotate({
    description: "How many attempts have ended since the timer was armed. One that runs now does not count.",
  }),
  lastAttempt: Schema.optionalKey(Attempt),
  attemptLog: Schema.optionalKey(
    Schema.Array(Attempt).annotate({
      description: "The latest 20 attempts since the timer was armed, oldest first.",
    }),
  ),
  target: TargetSchema,
  payload: Schema.optionalKey(
    AnyJson.annotate({
      description:
        "Present in the answer of `get`, and in lists that request it with `include`. Delivered and cancelled timers have no payload: the service removes it when they finish. Dead letters keep it.",
    }),
  ),
  retryPolicy: RetryPolicySchema,
  expireAfterMs: Schema.optionalKey(
    DurationMs.pipe(described("How long after executeAt the first attempt may start.")),
  ),
  onExpire: Schema.optionalKey(
    Schema.Literals(expiryRules).annotate({ description: "What happens if it expires: dead when absent." }),
  ),
  onDead: Schema.optionalKey(OnDeadSchema),
  correlationId: Schema.String.annotate({
    description: "The caller's own id of the work that the timer belongs to, or one that the service made.",
  }),
  tags: Schema.optionalKey(Schema.Array(Schema.String).annotate({ description: "The tags of the timer." })),
  traceparent: Schema.optionalKey(
    Schema.String.annotate({ description: "The trace that the webhook continues." }),
  ),
  createdAt: Instant.pipe(described("When the timer was created.")),
  updatedAt: Instant.pipe(described("When the timer was last armed, or when its latest attempt ended.")),
  finishedAt: Schema.optionalKey(
    Instant.pipe(described("When the timer was delivered, was cancelled or became a dead letter.")),
  ),
  latenessMs: Schema.optionalKey(
    Count.annotate({
      description:
        "How late the request of the successful attempt was sent, counted from executeAt, or from the creation if that was later.",
    }),
  ),
  reason: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "Why the timer is dead: attemptsExhausted, durationExhausted, expired, refused, invalidTarget (timers of earlier versions also: egressRefused). Or why it was cancelled without a call: expired (by onExpire), notDead (a `_dead` timer whose timer did not die).",
    }),
  ),
})
  .pipe(Schema.encodeKeys({ expireAfterMs: "expireAfter" }))
  .pipe(
    Schema.annotateEncoded({
      identifier: "Timer",
      description: "A timer, pending or finished.",
    }),
  )
