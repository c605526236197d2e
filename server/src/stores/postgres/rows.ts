// Rows as they are selected, and the timers and lives they stand for. Times and counters leave SQL as float8,
// which holds every millisecond that a JavaScript number can, and needs no parsing; bigint would come as text.
import type { FinishedLife, FinishedState, Mutable, Timer, TimerHead, TimerKey } from "../../domain/Timer.ts"
import { addLog } from "../AttemptLogText.ts"
import { specOfText } from "../SpecText.ts"

export interface TimerRow {
  readonly fire_id: string
  readonly revision: number
  readonly execute_at: number
  readonly fire_at: number
  readonly attempts: number
  readonly first_attempt_at: number | null
  readonly last_attempt: string | null
  readonly created_at: number
  readonly updated_at: number
  readonly asked_at: number | null
  readonly correlation_id: string
  readonly spec: string
}

export interface KeyRow {
  readonly uuid: string
  readonly namespace: string
  readonly timer_id: string
}

export interface LifeRow {
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
}

export interface HeadRow extends KeyRow {
  readonly fire_id: string
  readonly fire_at: number
}

const numbers = (...names: ReadonlyArray<string>): string =>
  names.map((name) => `${name}::float8 AS ${name}`).join(", ")

export const keyColumns = "uuid, namespace, timer_id"

/** The columns of a TimerRow. */
export const timerColumns = `fire_id, attempts, last_attempt, correlation_id, spec, ${numbers(
  "revision",
  "execute_at",
  "fire_at",
  "first_attempt_at",
  "created_at",
  "updated_at",
  "asked_at",
)}`

/** The columns of a LifeRow. */
export const lifeColumns = `state, fire_id, attempts, last_attempt, reason, ended_by, correlation_id, spec, ${numbers(
  "revision",
  "execute_at",
  "created_at",
  "finished_at",
  "lateness_ms",
)}`

export const keyOfRow = (row: KeyRow): TimerKey => ({
  namespace: row.namespace,
  timerId: row.timer_id,
  uuid: row.uuid.replaceAll("-", ""),
})

export const headOf = (row: HeadRow): TimerHead => ({
  ...keyOfRow(row),
  fireId: row.fire_id,
  fireAt: row.fire_at,
})

export const timerOf = (
  { namespace, timerId, uuid }: TimerKey,
  row: TimerRow,
  payload: Uint8Array | null,
): Timer => {
  const timer: Mutable<Timer> = {
    namespace,
    timerId,
    uuid,
    fireId: row.fire_id,
    revision: row.revision,
    executeAt: row.execute_at,
    fireAt: row.fire_at,
    attempts: row.attempts,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    correlationId: row.correlation_id,
    spec: specOfText(row.spec),
  }
  if (row.first_attempt_at !== null) timer.firstAttemptAt = row.first_attempt_at
  if (row.last_attempt !== null) addLog(timer, row.last_attempt)
  if (row.asked_at !== null) timer.askedAt = row.asked_at
  if (payload !== null) timer.payload = plainBytes(payload)
  return timer
}

export const lifeOf = (
  { namespace, timerId, uuid }: TimerKey,
  row: LifeRow,
  payload: Uint8Array | null,
): FinishedLife => {
  const life: Mutable<FinishedLife> = {
    namespace,
    timerId,
    uuid,
    state: row.state,
    fireId: row.fire_id,
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
  if (payload !== null) life.payload = plainBytes(payload)
  return life
}

/** The driver answers Buffers; the domain's payloads are plain. */
const plainBytes = (bytes: Uint8Array): Uint8Array =>
  new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
