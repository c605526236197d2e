// An attempt as a row, the same for every SQL database. This module does not use Effect, because the thread that owns a
// SQLite file loads it.
import type { StoredAttempt } from "../ports/CallStore.ts"

export interface AttemptRow {
  readonly tenant_id: string
  readonly attempt_id: string
  readonly service_call_id: string
  readonly state: StoredAttempt["state"]
  readonly owner: string
  readonly timeout_ms: number
  readonly claimed_at: number
  readonly started_at: number | null
  readonly ended: string | null
}

export const attemptOfRow = (row: AttemptRow): StoredAttempt => ({
  tenantId: row.tenant_id,
  attemptId: row.attempt_id,
  serviceCallId: row.service_call_id,
  state: row.state,
  owner: row.owner,
  timeoutMs: row.timeout_ms,
  claimedAt: row.claimed_at,
  ...(row.started_at === null ? {} : { startedAt: row.started_at }),
  ...(row.ended === null ? {} : { ended: JSON.parse(row.ended) }),
})
