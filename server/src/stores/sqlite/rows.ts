// Converts selected rows to timers and lives. Uuids and fireIds leave SQL as hex digits, because text is cheaper to
// pass to JavaScript than small byte arrays.
import type { FinishedLife, FinishedState, Mutable, Timer, TimerKey } from "../../domain/Timer.ts"
import {
  type FinishedField,
  finishedFields,
  type PendingField,
  pendingFields,
  type TimerField,
} from "../../domain/timerFields.ts"
import { addLog } from "../AttemptLogText.ts"
import { addedValues, addStoredOf, type StoredValue } from "../addedValues.ts"
import { specOfText, textOfSpec, unreadableSpec } from "../SpecText.ts"
import { logText } from "./timerWire.ts"

type ColumnValue<Field extends TimerField> =
  | (Field["kind"] extends "instant" | "revision" | "count" | "number" ? number : string)
  | (Field extends { readonly isOptional: true } ? null : never)

export type TimerRow = { readonly id: number } & {
  readonly [Field in PendingField as Field["column"]]: ColumnValue<Field>
}

export interface KeyRow {
  readonly uuid: string
  readonly namespace: string
  readonly timer_id: string
}

export type LifeRow = KeyRow & {
  readonly id: number
  readonly state: FinishedState
  readonly spec: string
  readonly payload: Uint8Array | null
} & { readonly [Field in Exclude<FinishedField, { name: "state" }> as Field["column"]]: ColumnValue<Field> }

const selected = (fields: ReadonlyArray<TimerField>, prefix: string): string =>
  fields
    .map(({ column, kind }) =>
      kind === "fireId" ? `lower(hex(${prefix}${column})) AS ${column}` : `${prefix}${column}`,
    )
    .join(", ")

/** The fields of a timer in the order of the table of fields, from the table `timers AS t`. */
export const fieldColumns = selected(pendingFields, "t.")

/** The columns of a TimerRow, from the table `timers AS t`. */
export const timerColumns = `t.id, ${fieldColumns}`

export const keyColumns = "lower(hex(t.uuid)) AS uuid, t.namespace, t.timer_id"

/** The fields that both tables of finished lives have. Only history has states, and only dead letters have reasons. */
export const storedLifeFields: ReadonlyArray<TimerField> = finishedFields.filter(
  ({ name }) => name !== "state" && name !== "reason",
)

const lifeColumns = `id, lower(hex(uuid)) AS uuid, namespace, timer_id, ${selected(storedLifeFields, "")}, spec`

/** The columns of a LifeRow, from either table of finished lives. */
export const historyColumns = `${lifeColumns}, state, reason, NULL AS payload`
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
  addStoredOf(timer, row)
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
  addStoredOf(life, row)
  if (row.payload !== null) life.payload = row.payload
  return life
}

/** The bytes of a UUID with or without dashes. */
export const bytesOfUuid = (uuid: string): Uint8Array => Buffer.from(uuid.replaceAll("-", ""), "hex")

/** Formats 32 hex digits as a UUID. */
export const dashed = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`

/** The values that both an insert and an update of a timer's row write, in the order of the table of fields. */
export const changingValues = (timer: Timer): ReadonlyArray<StoredValue> => [
  timer.fireId,
  timer.revision,
  timer.executeAt,
  timer.fireAt,
  timer.attempts,
  timer.firstAttemptAt ?? null,
  logText(timer.attemptLog),
  timer.createdAt,
  timer.updatedAt,
  timer.askedAt ?? null,
  timer.correlationId,
  ...addedValues(timer),
]

/** The values that both tables of finished lives have, in the order of the statements. */
export const lifeValues = (life: FinishedLife): ReadonlyArray<StoredValue> => [
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
  ...addedValues(life),
  textOfSpec(life.spec),
]
