// The shapes of timers and finished lives where they leave the process as JSON: between nodes and in archives. Spec and
// payload are left to whoever uses them, for they are written differently: once for many, or as they are.
//
// Whatever changes here changes both: see the versions in peers/http/peerWire.ts and maintenance/ArchiveLine.ts.
import { Schema } from "effect"
import { type AttemptLog, attemptsLogged } from "../domain/AttemptLog.ts"

const { optionalKey } = Schema
const Instant = Schema.Int
const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

export const TargetShape = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("webhook"),
    url: Schema.String,
    method: Schema.Literals(["POST", "PUT", "PATCH", "GET", "DELETE"]),
    headers: optionalKey(Schema.Record(Schema.String, Schema.String)),
    timeoutMs: Schema.Number,
    body: Schema.Literals(["envelope", "payload"]),
  }),
  Schema.Struct({ type: Schema.Literals(["event", "handler"]) }),
])

export const RetryPolicyShape = Schema.Struct({
  maxAttempts: Schema.Number,
  initialIntervalMs: Schema.Number,
  backoffMultiplier: Schema.Number,
  maxIntervalMs: Schema.Number,
  jitter: Schema.Number,
  maxDurationMs: optionalKey(Schema.Number),
})

export const SpecShape = Schema.Struct({
  target: TargetShape,
  retryPolicy: RetryPolicyShape,
  expireAfterMs: optionalKey(Schema.Number),
})

const Attempt = Schema.Struct({
  at: Instant,
  durationMs: Schema.Number,
  status: optionalKey(Schema.Number),
  error: optionalKey(Schema.String),
})

/** As they were written before there was a log, of the last attempt alone, they are still read. */
const logFields = {
  attemptLog: optionalKey(Schema.Array(Attempt).check(Schema.isMaxLength(attemptsLogged))),
  lastAttempt: optionalKey(Attempt),
}

/** What was read, its log in one form. */
export const withOneLog = <
  Read extends { readonly attemptLog?: AttemptLog; readonly lastAttempt?: typeof Attempt.Type },
>({
  attemptLog,
  lastAttempt,
  ...rest
}: Read): Omit<Read, "attemptLog" | "lastAttempt"> & { readonly attemptLog?: AttemptLog } => {
  const log = attemptLog ?? (lastAttempt === undefined ? undefined : [lastAttempt])
  return log === undefined ? rest : { ...rest, attemptLog: log }
}

/** Its uuid follows from it, and is worked out anew. */
export const keyFields = { namespace: Schema.NonEmptyString, timerId: Schema.NonEmptyString }

export const timerFields = {
  ...keyFields,
  fireId: Schema.NonEmptyString,
  revision: Count,
  executeAt: Instant,
  fireAt: Instant,
  attempts: Count,
  firstAttemptAt: optionalKey(Instant),
  ...logFields,
  createdAt: Instant,
  updatedAt: Instant,
  askedAt: optionalKey(Instant),
  correlationId: Schema.String,
}

export const lifeFields = {
  ...keyFields,
  state: Schema.Literals(["delivered", "cancelled", "dead"]),
  fireId: Schema.NonEmptyString,
  revision: Count,
  executeAt: Instant,
  attempts: Count,
  ...logFields,
  createdAt: Instant,
  finishedAt: Instant,
  latenessMs: optionalKey(Schema.Number),
  reason: optionalKey(Schema.String),
  endedBy: optionalKey(Schema.String),
  correlationId: Schema.String,
}
