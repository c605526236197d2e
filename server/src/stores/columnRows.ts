// Timers and lives as rows with named columns: those of SQL servers, and documents whose fields have the same names.
// Instants and counters are numbers, fireIds have dashes, specs, logs and lists are JSON texts. An optional column may be
// null or absent.
import type { FinishedLife, FinishedState, Mutable, Timer, TimerHead, TimerKey } from "../domain/Timer.ts"
import type { FinishedField, PendingField, TermsByName, TimerField } from "../domain/timerFields.ts"
import { addLog, textOfLog } from "./AttemptLogText.ts"
import { addStoredOf } from "./addedValues.ts"
import { specOfText } from "./SpecText.ts"

type ColumnValue<Field extends TimerField> = Field["kind"] extends "instant" | "revision" | "count" | "number"
  ? number
  : Field["kind"] extends "state"
    ? FinishedState
    : string

interface OptionalField extends TimerField {
  readonly isOptional: true
}

type Columns<Field extends TimerField> = { readonly spec: string } & {
  readonly [Each in Field as Each extends OptionalField ? never : Each["column"]]: ColumnValue<Each>
} & {
  readonly [Each in Field as Each extends OptionalField ? Each["column"] : never]?:
    | ColumnValue<Each>
    | null
    | undefined
}

export type TimerColumns = Columns<PendingField>
export type LifeColumns = Columns<FinishedField>

export interface KeyColumns {
  readonly uuid: string
  readonly namespace: string
  readonly timer_id: string
}

/** The columns of a timer or a life that have a value, without its key, its spec and its payload. */
export const columnsOf = (
  fields: ReadonlyArray<TimerField>,
  row: Timer | FinishedLife,
): { [column: string]: string | number } => {
  const columns: { [column: string]: string | number } = {}
  for (const { name, column, kind } of fields) {
    // The types of the table guarantee that the row has this field.
    const value = (row as unknown as TermsByName)[name]
    if (value === undefined) continue
    if (kind === "log") columns[column] = textOfLog(value as NonNullable<Timer["attemptLog"]>)
    // All other kinds are texts, numbers or lists of texts: see FieldKind.
    else columns[column] = Array.isArray(value) ? JSON.stringify(value) : (value as string | number)
  }
  return columns
}

export interface HeadRow extends KeyColumns {
  readonly fire_id: string
  readonly fire_at: number
}

export const keyOfColumns = (row: KeyColumns): TimerKey => ({
  namespace: row.namespace,
  timerId: row.timer_id,
  uuid: row.uuid.replaceAll("-", ""),
})

export const headOf = (row: HeadRow): TimerHead => ({
  ...keyOfColumns(row),
  fireId: row.fire_id,
  fireAt: row.fire_at,
})

export const timerOfColumns = (
  { namespace, timerId, uuid }: TimerKey,
  row: TimerColumns,
  payload?: Uint8Array | null,
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
  if (typeof row.first_attempt_at === "number") timer.firstAttemptAt = row.first_attempt_at
  if (typeof row.last_attempt === "string") addLog(timer, row.last_attempt)
  if (typeof row.asked_at === "number") timer.askedAt = row.asked_at
  addStoredOf(timer, row)
  if (payload instanceof Uint8Array) timer.payload = plainBytes(payload)
  return timer
}

export const lifeOfColumns = (
  { namespace, timerId, uuid }: TimerKey,
  row: LifeColumns,
  payload?: Uint8Array | null,
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
  if (typeof row.last_attempt === "string") addLog(life, row.last_attempt)
  if (typeof row.lateness_ms === "number") life.latenessMs = row.lateness_ms
  if (typeof row.reason === "string") life.reason = row.reason
  if (typeof row.ended_by === "string") life.endedBy = row.ended_by
  addStoredOf(life, row)
  if (payload instanceof Uint8Array) life.payload = plainBytes(payload)
  return life
}

/** The driver returns Buffers; payloads in the domain are plain byte arrays. */
const plainBytes = (bytes: Uint8Array): Uint8Array =>
  new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
