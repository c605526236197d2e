// The audit trail with the clock of the service, for both composition roots.

import type { Documents } from "@punctual/documents/Documents"
import { AuditTrail } from "@punctual/door/AuditTrail"
import { Effect, Layer } from "effect"
import { WallClock } from "../ports/WallClock.ts"

export const auditLayer = (retentionMs: number): Layer.Layer<AuditTrail, never, Documents | WallClock> =>
  Layer.unwrap(Effect.map(WallClock, ({ now }) => AuditTrail.layer({ now, retentionMs })))
