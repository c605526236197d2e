// Timers and lives as rows of the database. The small fields of a timer or a life are one JSON text under the names of
// their columns (domain/timerFields.ts). The spec, the attempt log and the payload are in `bodies`.
import type { FinishedLife, FinishedState, Timer, TimerKey } from "../../domain/Timer.ts"
import { finishedFields, pendingFields, type TermsByName, type TimerField } from "../../domain/timerFields.ts"
import type { PendingState } from "../../ports/ShardStorage.ts"
import {
  columnsOf,
  type LifeColumns,
  lifeOfColumns,
  type TimerColumns,
  timerOfColumns,
} from "../columnRows.ts"
import { isFields, jsonOf } from "../jsonText.ts"
import { textOfSpec, unreadableSpec } from "../SpecText.ts"
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

// The schema gives each column its type, so the values below need no check.

export const numberIn = (row: Row, column: string): number => Number(row[column] ?? 0)

export const textIn = (row: Row, column: string): string | undefined =>
  (row[column] as string | null) ?? undefined

export const bytesIn = (row: Row, column: string): Buffer => (row[column] as Buffer | null) ?? noBytes

const noBytes = Buffer.alloc(0)

/** `null` if the row has none. */
export const stampIn = (row: Row | undefined, column: string): bigint | null =>
  (row?.[column] as bigint | null | undefined) ?? null

const withoutLogs = (fields: ReadonlyArray<TimerField>) => fields.filter(({ kind }) => kind !== "log")
const packedOfTimer = withoutLogs(pendingFields)
const packedOfLife = withoutLogs(finishedFields)

/** The stamp is that of the commit that has written the body. A JSON number could not hold it. */
const packed = (fields: ReadonlyArray<TimerField>, row: Timer | FinishedLife, stamp: bigint): string => {
  const columns = columnsOf(fields, row)
  columns["body_at"] = String(stamp)
  return JSON.stringify(columns)
}

export const packTimer = (timer: Timer, stamp: bigint): string => packed(packedOfTimer, timer, stamp)

export const packLife = (life: FinishedLife, stamp: bigint): string => packed(packedOfLife, life, stamp)

/** The large parts of a timer or a life. */
export interface StoredBody {
  readonly spec?: string | undefined
  readonly log?: string | undefined
  readonly payload?: Uint8Array | undefined
}

/** The fields of a packed row. A text that is no JSON has none, and makes the row unreadable. */
const unpacked = (text: string | undefined): TermsByName => {
  const json = text === undefined ? undefined : jsonOf(text)
  return isFields(json) ? { ...json } : {}
}

/** A row that is no JSON. Its other columns are trusted. */
const damaged = {
  state: "delivered",
  fire_id: "",
  revision: 0,
  execute_at: 0,
  fire_at: 0,
  attempts: 0,
  created_at: 0,
  updated_at: 0,
  finished_at: 0,
  correlation_id: "",
  spec: textOfSpec(unreadableSpec("its row is not JSON")),
} as const satisfies TimerColumns & LifeColumns

/** `undefined` if the row is damaged. */
const columnsIn = (text: string | undefined, { spec = "", log }: StoredBody): unknown => {
  const columns = unpacked(text)
  if (columns["fire_id"] === undefined) return undefined
  columns["spec"] = spec
  columns["last_attempt"] = log
  return columns
}

export const timerOf = (key: TimerKey, row: Row, body: StoredBody): Timer => {
  // Only this program writes the columns.
  const columns = columnsIn(textIn(row, "timer"), body) as TimerColumns | undefined
  if (columns !== undefined) return timerOfColumns(key, columns, body.payload)
  const [fire_id = "", attempts, revision] = (textIn(row, "state") ?? "").split(" ")
  const known = { ...damaged, fire_id, attempts: Number(attempts), revision: Number(revision) }
  return timerOfColumns(key, known, body.payload)
}

export const lifeOf = (key: TimerKey, row: Row, body: StoredBody): FinishedLife =>
  // As above.
  lifeOfColumns(
    key,
    (columnsIn(textIn(row, "life"), body) as LifeColumns | undefined) ?? damaged,
    body.payload,
  )

/** The stamp of the body that a packed row names. */
export const bodyAt = (text: string | undefined): bigint => {
  const at = unpacked(text)["body_at"]
  return typeof at === "string" && /^\d{1,19}$/.test(at) ? BigInt(at) : 0n
}

export const stateOfLife = (row: Row): FinishedState | undefined =>
  // As above.
  unpacked(textIn(row, "life"))["state"] as FinishedState | undefined
