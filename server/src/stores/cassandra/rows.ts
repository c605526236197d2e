// Timers and lives as rows of the database. The small fields of a timer or a life are one JSON text under the names of
// their columns (domain/timerFields.ts). The spec, the attempt log and the payload are in `bodies`.
import type { FinishedLife, FinishedState, Mutable, Spec, Timer, TimerKey } from "../../domain/Timer.ts"
import { finishedFields, pendingFields, type TermsByName, type TimerField } from "../../domain/timerFields.ts"
import type { PendingState } from "../../ports/ShardStorage.ts"
import { addLog } from "../AttemptLogText.ts"
import { addedColumns, addedValues, addStoredOf } from "../addedValues.ts"
import { isFields, jsonOf } from "../jsonText.ts"
import { specOfText, unreadableSpec } from "../SpecText.ts"
import type { Row } from "./Session.ts"

/**
 * The parts of a key's partition in `bodies`: spec and log of the pending timer, its payload, and all of these of a life.
 * A payload that a change keeps stays where it is.
 */
export const parts = { timer: 0, payload: 1, life: 2 } as const

/** The column by which a commit recognises the expected pending row. */
export const stateText = ({ fireId, attempts, revision, askedAt }: PendingState): string =>
  [fireId, attempts, revision, askedAt ?? ""].join(" ")

export const uuidBytes = (uuid: string): Buffer => Buffer.from(uuid.replaceAll("-", ""), "hex")

export const numberIn = (row: Row, column: string): number => Number(row[column] ?? 0)

export const textIn = (row: Row, column: string): string | undefined =>
  (row[column] as string | null) ?? undefined

export const bytesIn = (row: Row, column: string): Buffer => (row[column] as Buffer | null) ?? noBytes

const noBytes = Buffer.alloc(0)

/** The stamp is that of the commit that has written the body. */
export const packTimer = (timer: Timer, stamp: bigint): string => packed(pendingFields, timer, stamp)

export const packLife = (life: FinishedLife, stamp: bigint): string => packed(finishedFields, life, stamp)

/** A JSON number could not hold a stamp. */
const packed = (fields: ReadonlyArray<TimerField>, row: Timer | FinishedLife, stamp: bigint): string => {
  const columns: TermsByName = { body_at: String(stamp) }
  for (const { name, column, kind } of fields) {
    // The types of the table guarantee that the row has this field.
    if (kind !== "log" && !addedColumns.includes(column))
      columns[column] = (row as unknown as TermsByName)[name]
  }
  const added = addedValues(row)
  addedColumns.forEach((column, index) => {
    if (added[index] !== null) columns[column] = added[index]
  })
  return JSON.stringify(columns)
}

/** The large parts of a timer or a life. */
export interface StoredBody {
  readonly spec?: string | undefined
  readonly log?: string | undefined
  readonly payload?: Uint8Array | undefined
}

/** The fields of a packed row. A text that is no JSON has none, and makes the row unreadable. */
const unpacked = (text: string | undefined): TermsByName => {
  const json = text === undefined ? undefined : jsonOf(text)
  return isFields(json) ? (json as TermsByName) : {}
}

const specOf = (fields: TermsByName, { spec }: StoredBody): Spec => {
  if (fields["fire_id"] === undefined) return unreadableSpec("its row is not JSON")
  return spec === undefined ? unreadableSpec("its body is missing") : specOfText(spec)
}

const fill = (into: TermsByName, fields: ReadonlyArray<TimerField>, from: TermsByName): void => {
  for (const { name, column, kind } of fields) {
    const value = from[column]
    if (value !== undefined && value !== null && kind !== "log" && !addedColumns.includes(column))
      into[name] = value
  }
}

export const timerOf = ({ namespace, timerId, uuid }: TimerKey, row: Row, body: StoredBody): Timer => {
  const fields = unpacked(textIn(row, "timer"))
  const [fireId = "", attempts, revision] = (textIn(row, "state") ?? "").split(" ")
  const timer: Mutable<Timer> = {
    namespace,
    timerId,
    uuid,
    fireId,
    revision: Number(revision),
    executeAt: 0,
    fireAt: 0,
    attempts: Number(attempts),
    createdAt: 0,
    updatedAt: 0,
    correlationId: "",
    spec: specOf(fields, body),
  }
  fill(timer as unknown as TermsByName, pendingFields, fields)
  finish(timer, fields, body)
  return timer
}

export const lifeOf = ({ namespace, timerId, uuid }: TimerKey, row: Row, body: StoredBody): FinishedLife => {
  const fields = unpacked(textIn(row, "life"))
  const life: Mutable<FinishedLife> = {
    namespace,
    timerId,
    uuid,
    state: "delivered",
    fireId: "",
    revision: 0,
    executeAt: 0,
    attempts: 0,
    createdAt: 0,
    finishedAt: 0,
    correlationId: "",
    spec: specOf(fields, body),
  }
  fill(life as unknown as TermsByName, finishedFields, fields)
  finish(life, fields, body)
  return life
}

const finish = (
  row: Mutable<Timer> | Mutable<FinishedLife>,
  fields: TermsByName,
  { log, payload }: StoredBody,
): void => {
  if (log !== undefined) addLog(row, log)
  addStoredOf(row, fields)
  if (payload !== undefined)
    row.payload = new Uint8Array(payload.buffer, payload.byteOffset, payload.byteLength)
}

/** The stamp of the body that a packed row names. */
export const bodyAt = (text: string | undefined): bigint => {
  const at = unpacked(text)["body_at"]
  return typeof at === "string" && /^\d{1,19}$/.test(at) ? BigInt(at) : 0n
}

export const stateOfLife = (row: Row): FinishedState | undefined =>
  unpacked(textIn(row, "life"))["state"] as FinishedState | undefined
