// The shape of settings as JSON in archives: the settings of namespaces, and those of the service under the name of its
// own record. Secrets stay sealed.
//
// A change here changes the archives: see the version in maintenance/ArchiveLine.ts.
import { Schema } from "effect"
import { OnDeadShape, RetryPolicyShape } from "./timerShapes.ts"

const { optionalKey } = Schema
const Instant = Schema.Int
const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

export const SettingsShape = Schema.Struct({
  webhookSecrets: optionalKey(
    Schema.Array(Schema.Struct({ sealed: Schema.String, fingerprint: Schema.String })),
  ),
  retryPolicy: optionalKey(RetryPolicyShape),
  onDead: optionalKey(OnDeadShape),
  maxInFlight: optionalKey(Count),
  maxPending: optionalKey(Count),
  createsPerSecond: optionalKey(Count),
  pausedSinceMs: optionalKey(Instant),
  pauseReason: optionalKey(Schema.String),
  pastPauses: optionalKey(Schema.Array(Schema.Struct({ fromMs: Instant, untilMs: Instant }))),
  pause: optionalKey(
    Schema.Struct({
      sinceMs: Instant,
      kind: Schema.Literals(["asked", "restored"]),
      reason: optionalKey(Schema.String),
    }),
  ),
})
