// Converts selected rows to timers and lives. Times and counters leave SQL as float8. It holds every millisecond that a
// JavaScript number can, and needs no parsing, while bigint would arrive as text.
import type { FinishedLife, FinishedState, Mutable, Timer, TimerHead, TimerKey } from "../../domain/Timer.ts"
import {
  type FinishedField,
  finishedFields,
  type PendingField,
  pendingFields,
  type TimerField,
} from "../../domain/timerFields.ts"
import { addLog } from "../AttemptLogText.ts"
import { addStoredOf } from "../addedValues.ts"
import { specOfText } from "../SpecText.ts"

type ColumnValue<Field extends TimerField> =
  | (Field["kind"] extends "instant" | "revision" | "count" | "number"
      ? number
      : Field["kind"] extends "state"
        ? FinishedState
        : string)
  | (Field extends { readonly isOptional: true } ? null : never)

export type TimerRow = { readonly spec: string } & {
  readonly [Field in PendingField as Field["column"]]: ColumnValue<Field>
}

export interface KeyRow {
  readonly uuid: string
  readonly namespace: string
  readonly timer_id: string
}

export type LifeRow = { readonly spec: string } & {
  readonly [Field in FinishedField as Field["column"]]: ColumnValue<Field>
}

export interface HeadRow extends KeyRow {
  readonly fire_id: string
  readonly fire_at: number
}

/** Counts are integers, which leave SQL as numbers anyway. */
const selected = (fields: ReadonlyArray<TimerField>): string =>
  fields
    .map(({ column, kind }) =>
      kind === "instant" || kind === "revision" || kind === "number"
        ? `${column}::float8 AS ${column}`
        : column,
    )
    .join(", ")

export const keyColumns = "uuid, namespace, timer_id"

/** The columns of a TimerRow. */
export const timerColumns = `${selected(pendingFields)}, spec`

/** The columns of a LifeRow. */
export const lifeColumns = `${selected(finishedFields)}, spec`

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
  addStoredOf(timer, row)
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
  addStoredOf(life, row)
  if (payload !== null) life.payload = plainBytes(payload)
  return life
}

/** The driver returns Buffers; payloads in the domain are plain byte arrays. */
const plainBytes = (bytes: Uint8Array): Uint8Array =>
  new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
