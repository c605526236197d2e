// Selected rows of SQL servers as timers and lives. The adapters select columns in these forms: instants and counters as
// numbers, fireIds with dashes, texts as strings.
import type { FinishedLife, FinishedState, Mutable, Timer, TimerHead, TimerKey } from "../domain/Timer.ts"
import type { FinishedField, PendingField, TimerField } from "../domain/timerFields.ts"
import { addLog } from "./AttemptLogText.ts"
import { addStoredOf } from "./addedValues.ts"
import { specOfText } from "./SpecText.ts"

type ColumnValue<Field extends TimerField> =
  | (Field["kind"] extends "instant" | "revision" | "count" | "number"
      ? number
      : Field["kind"] extends "state"
        ? FinishedState
        : string)
  | (Field extends { readonly isOptional: true } ? null : never)

export type SqlTimerRow = { readonly spec: string } & {
  readonly [Field in PendingField as Field["column"]]: ColumnValue<Field>
}

export interface SqlKeyRow {
  readonly uuid: string
  readonly namespace: string
  readonly timer_id: string
}

export type SqlLifeRow = { readonly spec: string } & {
  readonly [Field in FinishedField as Field["column"]]: ColumnValue<Field>
}

export interface HeadRow extends SqlKeyRow {
  readonly fire_id: string
  readonly fire_at: number
}

export const keyOfSqlRow = (row: SqlKeyRow): TimerKey => ({
  namespace: row.namespace,
  timerId: row.timer_id,
  uuid: row.uuid.replaceAll("-", ""),
})

export const headOf = (row: HeadRow): TimerHead => ({
  ...keyOfSqlRow(row),
  fireId: row.fire_id,
  fireAt: row.fire_at,
})

export const timerOfSqlRow = (
  { namespace, timerId, uuid }: TimerKey,
  row: SqlTimerRow,
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
  addStoredOf(timer, row)
  if (payload !== null) timer.payload = plainBytes(payload)
  return timer
}

export const lifeOfSqlRow = (
  { namespace, timerId, uuid }: TimerKey,
  row: SqlLifeRow,
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
  addStoredOf(life, row)
  if (payload !== null) life.payload = plainBytes(payload)
  return life
}

/** The driver returns Buffers; payloads in the domain are plain byte arrays. */
const plainBytes = (bytes: Uint8Array): Uint8Array =>
  new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
