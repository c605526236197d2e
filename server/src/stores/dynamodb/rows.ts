// Converts timers and lives to items and back. Specs, attempt logs and lists are JSON texts, as in every store.
import type { DynamoItem, PlainValue } from "@punctual/aws/DynamoItem"
import { timeOfText } from "@punctual/aws/sortableTime"
import type { FinishedLife, FinishedState, Mutable, Timer, TimerKey } from "../../domain/Timer.ts"
import { finishedFields, pendingFields, type TimerField } from "../../domain/timerFields.ts"
import type { Scan, ScannedHead } from "../../ports/ShardStorage.ts"
import {
  columnsOf,
  type LifeColumns,
  lifeOfColumns,
  type TimerColumns,
  timerOfColumns,
} from "../columnRows.ts"
import { headOfColumns, type ScannedRow } from "../headOfColumns.ts"
import { textOfSpec } from "../SpecText.ts"
import { dueText, keyOfText, prefixOf } from "./keys.ts"

export type Attributes = Record<string, PlainValue | undefined>

/** `fire_at` and `fire_id` are in the key of the index. The fireId is stored again, because conditions need it. */
const storedOfTimer = pendingFields.filter(({ name }): boolean => name !== "fireAt")
const storedOfLife: ReadonlyArray<TimerField> = finishedFields

/** All attributes that a pending timer may have. */
export const pendingAttributes: ReadonlyArray<string> = [
  "due",
  "ns_due",
  "spec",
  "payload",
  ...storedOfTimer.map(({ column }) => column),
]

/** What a scan needs of a pending timer, without and with its details. */
export const headAttributes = ["id", "due", "fire_id", "revision", "correlation_id", "tags"] as const
export const detailAttributes = [...headAttributes, "spec", "last_attempt"] as const

const noAttributes = (fields: ReadonlyArray<TimerField>): Attributes =>
  Object.fromEntries(fields.map(({ column }) => [column, undefined]))

const noTimer = noAttributes(storedOfTimer)
const noLife = noAttributes(storedOfLife)

/** An attribute that is `undefined` must not be stored, and is removed from an item that has it. */
export const attributesOfTimer = (timer: Timer): Attributes => ({
  ...noTimer,
  ...columnsOf(storedOfTimer, timer),
  due: dueText(timer),
  ns_due: `${prefixOf(timer.namespace)}${dueText(timer)}`,
})

export const attributesOfLife = (life: FinishedLife): Attributes => ({
  ...noLife,
  ...columnsOf(storedOfLife, life),
  namespace: life.namespace,
  timer_id: life.timerId,
  spec: textOfSpec(life.spec),
  payload: life.payload,
})

/** What the order of ends contains of a life. */
export const endAttributes = (life: FinishedLife): Attributes => {
  const { namespace, timer_id, fire_id, revision, correlation_id, tags } = attributesOfLife(life)
  return { namespace, timer_id, fire_id, revision, correlation_id, tags }
}

/** `undefined` if the item has no pending timer. */
export const timerOf = (item: DynamoItem, withPayload = true): Timer | undefined => {
  const due = item["due"]
  if (typeof due !== "string") return undefined
  // The attributes have the names of columns. Only this program writes them.
  const columns = item as unknown as TimerColumns
  const timer: Mutable<Timer> = timerOfColumns(
    keyOfText(String(item["id"])),
    columns,
    payloadOf(item, withPayload),
  )
  timer.fireAt = timeOfText(due)
  return timer
}

export const lifeOf = (item: DynamoItem, withPayload = true): FinishedLife => {
  const key = keyOfText(`${item["namespace"]}/${item["timer_id"]}`)
  // As above.
  return lifeOfColumns(key, item as unknown as LifeColumns, payloadOf(item, withPayload))
}

const payloadOf = (item: DynamoItem, isWanted: boolean): Uint8Array | undefined => {
  const payload = isWanted ? item["payload"] : undefined
  return payload instanceof Uint8Array ? payload : undefined
}

export const headOfTimer = (scan: Scan, item: DynamoItem): ScannedHead =>
  headOf(scan, keyOfText(String(item["id"])), item, "pending", timeOfText(String(item["due"])))

/** `item` is a life or its place in the order of ends. `full` is the life, if its details are asked for. */
export const headOfLife = (
  scan: Scan,
  item: DynamoItem,
  state: FinishedState,
  atMs: number,
  full?: DynamoItem,
): ScannedHead =>
  headOf(scan, keyOfText(`${item["namespace"]}/${item["timer_id"]}`), { ...full, ...item }, state, atMs)

const headOf = (
  scan: Scan,
  { namespace, timerId, uuid }: TimerKey,
  item: DynamoItem,
  state: ScannedHead["state"],
  at_ms: number,
): ScannedHead =>
  // As above.
  headOfColumns(scan, { ...item, namespace, timer_id: timerId, uuid, state, at_ms } as unknown as ScannedRow)
