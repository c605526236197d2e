// The shapes of timers and finished lives as JSON, between nodes and in archives. Spec and payload are not included,
// because their users write them differently: once for many timers, or with each timer.
//
// A change here changes both formats: see the versions in peers/http/peerWire.ts and maintenance/ArchiveLine.ts.
import { Schema } from "effect"
import { type AttemptLog, attemptsLogged } from "../domain/AttemptLog.ts"
import {
  addedFields,
  type FieldKind,
  type FinishedField,
  finishedFields,
  type PendingField,
  pendingFields,
  type TimerField,
} from "../domain/timerFields.ts"

const { optionalKey } = Schema
const Instant = Schema.Int
const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const WebhookShape = Schema.Struct({
  type: Schema.Literal("webhook"),
  url: Schema.String,
  method: Schema.Literals(["POST", "PUT", "PATCH", "GET", "DELETE"]),
  headers: optionalKey(Schema.Record(Schema.String, Schema.String)),
  timeoutMs: Schema.Number,
  body: Schema.Literals(["envelope", "payload"]),
})

export const OnDeadShape = Schema.Union([WebhookShape, Schema.Struct({ type: Schema.Literal("event") })])

export const TargetShape = Schema.Union([
  WebhookShape,
  Schema.Struct({ type: Schema.Literals(["event", "handler"]) }),
])

export const RetryPolicyShape = Schema.Struct({
  maxAttempts: Schema.Number,
  initialIntervalMs: Schema.Number,
  backoffMultiplier: Schema.Number,
  maxIntervalMs: Schema.Number,
  jitter: Schema.Number,
  maxDurationMs: optionalKey(Schema.Number),
  waitsMs: optionalKey(Schema.Array(Schema.Number)),
})

const Attempt = Schema.Struct({
  at: Instant,
  durationMs: Schema.Number,
  status: optionalKey(Schema.Number),
  error: optionalKey(Schema.String),
  answer: optionalKey(Schema.String),
})

const DeathShape = Schema.Struct({
  timerId: Schema.NonEmptyString,
  fireId: Schema.NonEmptyString,
  revision: Schema.Int,
  executeAt: Instant,
  reason: Schema.String,
  attempts: Count,
  lastAttempt: optionalKey(Attempt),
})

export const SpecShape = Schema.Struct({
  target: TargetShape,
  retryPolicy: RetryPolicyShape,
  expireAfterMs: optionalKey(Schema.Number),
  onExpire: optionalKey(Schema.Literal("drop")),
  onDead: optionalKey(OnDeadShape),
  death: optionalKey(DeathShape),
})

/** The value that was read, with its log in one form. */
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

/** The uuid is computed from the key, so it is not included. */
export const keyFields = { namespace: Schema.NonEmptyString, timerId: Schema.NonEmptyString }

/** The shape of each kind of field. */
const kinds = {
  text: Schema.String,
  state: Schema.Literals(["delivered", "cancelled", "dead"]),
  fireId: Schema.NonEmptyString,
  instant: Instant,
  revision: Count,
  count: Count,
  number: Schema.Number,
  log: Schema.Array(Attempt).check(Schema.isMaxLength(attemptsLogged)),
  texts: Schema.Array(Schema.String),
} as const satisfies { readonly [kind in FieldKind]: Schema.Top }

type Kinds = typeof kinds
type ShapeOf<Field extends TimerField> = Field extends { readonly isOptional: true }
  ? Schema.optionalKey<Kinds[Field["kind"]]>
  : Kinds[Field["kind"]]
type ShapesOf<Field extends TimerField> = { readonly [One in Field as One["name"]]: ShapeOf<One> }

const shapesOf = <Field extends TimerField>(fields: ReadonlyArray<Field>): ShapesOf<Field> =>
  // `Object.fromEntries` widens the keys to `string`.
  Object.fromEntries(
    fields.map(({ name, kind, isOptional }) => [name, isOptional ? optionalKey(kinds[kind]) : kinds[kind]]),
  ) as ShapesOf<Field>

/** Releases without attempt logs wrote only the last attempt. That form can still be read. */
const earlierLog = { lastAttempt: optionalKey(Attempt) }

export const timerFields = { ...keyFields, ...shapesOf<PendingField>(pendingFields), ...earlierLog }

export const lifeFields = { ...keyFields, ...shapesOf<FinishedField>(finishedFields), ...earlierLog }

type Added = (typeof addedFields)[number]

/** The added fields in a change. Null clears a field. */
export const addedChangeFields = Object.fromEntries(
  (addedFields as ReadonlyArray<TimerField>).map(({ name, kind }) => [
    name,
    optionalKey(Schema.NullOr(kinds[kind])),
  ]),
) as { readonly [One in Added as One["name"]]: Schema.optionalKey<Schema.NullOr<Kinds[One["kind"]]>> }
