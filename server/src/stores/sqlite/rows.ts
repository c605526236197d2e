// Rows as they are selected, and the timers and lives they stand for. Uuids and fireIds leave SQL as
// hex digits, because text crosses into JavaScript cheaper than small byte arrays do.
import type { FinishedLife, FinishedState, Mutable, Timer, TimerKey } from "../../domain/Timer.ts"
import { addLog } from "../AttemptLogText.ts"
import { specOfText, textOfSpec, unreadableSpec } from "../SpecText.ts"
import { logText } from "./timerWire.ts"

export interface TimerRow {
  readonly id: number
  readonly fire_at: number
  readonly fire_id: string
  readonly revision: number
  readonly execute_at: number
  readonly attempts: number
  readonly first_attempt_at: number | null
  readonly last_attempt: string | null
  readonly created_at: number
  readonly updated_at: number
  readonly asked_at: number | null
  readonly correlation_id: string
}

export interface KeyRow {
  readonly uuid: string
  readonly namespace: string
  readonly timer_id: string
}

export interface LifeRow extends KeyRow {
  readonly id: number
  readonly state: FinishedState
  readonly fire_id: string
  readonly revision: number
  readonly execute_at: number
  readonly attempts: number
  readonly last_attempt: string | null
  readonly created_at: number
  readonly finished_at: number
  readonly lateness_ms: number | null
  readonly reason: string | null
  readonly ended_by: string | null
  readonly correlation_id: string
  readonly spec: string
  readonly payload: Uint8Array | null
}

/** The columns of a TimerRow, of the table `timers AS t`. */
export const timerColumns = `t.id, t.fire_at, lower(hex(t.fire_id)) AS fire_id, t.revision, t.execute_at,
  t.attempts, t.first_attempt_at, t.last_attempt, t.created_at, t.updated_at, t.asked_at, t.correlation_id`

export const keyColumns = "lower(hex(t.uuid)) AS uuid, t.namespace, t.timer_id"

const lifeColumns = `id, lower(hex(uuid)) AS uuid, namespace, timer_id, lower(hex(fire_id)) AS fire_id, revision,
  execute_at, attempts, last_attempt, created_at, finished_at, lateness_ms, ended_by, correlation_id, spec`

/** The columns of a LifeRow, of either table of finished lives. */
export const historyColumns = `${lifeColumns}, state, NULL AS reason, NULL AS payload`
export const deadColumns = `${lifeColumns}, 'dead' AS state, reason, payload`

/** A timer without a body has no spec. */
export const timerOf = (
  key: TimerKey,
  row: TimerRow,
  spec: string | null,
  payload: Uint8Array | null | undefined,
): Timer => {
  const timer: Mutable<Timer> = {
    namespace: key.namespace,
    timerId: key.timerId,
    uuid: key.uuid,
    fireId: dashed(row.fire_id),
    revision: row.revision,
    executeAt: row.execute_at,
    fireAt: row.fire_at,
    attempts: row.attempts,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    correlationId: row.correlation_id,
    spec: spec === null ? unreadableSpec("its body is missing") : specOfText(spec),
  }
  if (row.first_attempt_at !== null) timer.firstAttemptAt = row.first_attempt_at
  if (row.asked_at !== null) timer.askedAt = row.asked_at
  if (row.last_attempt !== null) addLog(timer, row.last_attempt)
  if (payload !== null && payload !== undefined) timer.payload = payload
  return timer
}

export const keyOfRow = (row: KeyRow): TimerKey => ({
  namespace: row.namespace,
  timerId: row.timer_id,
  uuid: row.uuid,
})

export const lifeOf = (row: LifeRow): FinishedLife => {
  const life: Mutable<FinishedLife> = {
    ...keyOfRow(row),
    state: row.state,
    fireId: dashed(row.fire_id),
    revision: row.revision,
    executeAt: row.execute_at,
    attempts: row.attempts,
    createdAt: row.created_at,
    finishedAt: row.finished_at,
    correlationId: row.correlation_id,
    spec: specOfText(row.spec),
  }
  if (row.last_attempt !== null) addLog(life, row.last_attempt)
  if (row.lateness_ms !== null) life.latenessMs = row.lateness_ms
  if (row.reason !== null) life.reason = row.reason
  if (row.ended_by !== null) life.endedBy = row.ended_by
  if (row.payload !== null) life.payload = row.payload
  return life
}

/** Of a UUID with or without its dashes. */
export const bytesOfUuid = (uuid: string): Uint8Array => Buffer.from(uuid.replaceAll("-", ""), "hex")

/** 32 hex digits as a UUID is written. */
export const dashed = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`

/** What of a timer's row an insert and an update both write, in the order in which both name it. */
export const changingValues = (timer: Timer) =>
  [
    timer.fireAt,
    timer.fireId,
    timer.revision,
    timer.executeAt,
    timer.attempts,
    timer.firstAttemptAt ?? null,
    logText(timer.attemptLog),
    timer.createdAt,
    timer.updatedAt,
    timer.askedAt ?? null,
    timer.correlationId,
  ] as const

/** What of a life's row both tables of finished lives have, in the order in which statements name it. */
export const lifeValues = (life: FinishedLife) =>
  [
    life.uuid,
    life.namespace,
    life.timerId,
    life.fireId,
    life.revision,
    life.executeAt,
    life.attempts,
    logText(life.attemptLog),
    life.createdAt,
    life.finishedAt,
    life.latenessMs ?? null,
    life.endedBy ?? null,
    life.correlationId,
    textOfSpec(life.spec),
  ] as const
