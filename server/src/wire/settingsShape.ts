// The shape of settings where they leave the process as JSON, in archives: those of namespaces and, under the name of
// the service's own record, those of the service. Secrets stay sealed.
//
// Whatever changes here changes archives: see the version in maintenance/ArchiveLine.ts.
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
  pastPauses: optionalKey(Schema.Array(Schema.Struct({ fromMs: Instant, untilMs: Instant }))),
  pause: optionalKey(
    Schema.Struct({
      sinceMs: Instant,
      kind: Schema.Literals(["asked", "restored"]),
      reason: optionalKey(Schema.String),
    }),
  ),
})
