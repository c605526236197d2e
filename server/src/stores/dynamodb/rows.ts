// Converts timers and lives to items and back. Specs, attempt logs and lists are JSON texts, as in every store.
import type { DynamoItem, PlainValue } from "@punctual/aws/DynamoItem"
import { afterTime, timeOfText } from "@punctual/aws/sortableTime"
import type { FinishedLife, FinishedState, Mutable, Timer, TimerKey } from "../../domain/Timer.ts"
import { finishedFields, pendingFields, type TermsByName, type TimerField } from "../../domain/timerFields.ts"
import type { ScannedHead, SortKey } from "../../ports/ShardStorage.ts"
import { addLog, textOfLog } from "../AttemptLogText.ts"
import { addStoredOf, tagsOfHead } from "../addedValues.ts"
import { rowDetails } from "../rowDetails.ts"
import { specOfText, textOfSpec } from "../SpecText.ts"
import { dueText, keyOfText, prefixOf } from "./keys.ts"

export type Attributes = Record<string, PlainValue | undefined>

/** `fire_at` and `fire_id` are in the key of the index. The fireId is stored again, because conditions need it. */
const storedOfTimer = (pendingFields as ReadonlyArray<TimerField>).filter(({ name }) => name !== "fireAt")
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

const attributesOf = (fields: ReadonlyArray<TimerField>, row: TermsByName): Attributes => {
  const result: Attributes = {}
  for (const { name, column, kind } of fields) result[column] = attributeOf(kind, row[name])
  return result
}

const attributeOf = (kind: TimerField["kind"], value: unknown): PlainValue | undefined => {
  if (value === undefined) return undefined
  if (kind === "log") return textOfLog(value as NonNullable<Timer["attemptLog"]>)
  // All other kinds are texts, numbers or lists of texts: see FieldKind.
  return Array.isArray(value) ? JSON.stringify(value) : (value as PlainValue)
}

/** An attribute that is `undefined` must not be stored. */
export const attributesOfTimer = (timer: Timer): Attributes => ({
  ...attributesOf(storedOfTimer, timer as unknown as TermsByName),
  due: dueText(timer),
  ns_due: `${prefixOf(timer.namespace)}${dueText(timer)}`,
})

export const attributesOfLife = (life: FinishedLife): Attributes => ({
  ...attributesOf(storedOfLife, life as unknown as TermsByName),
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

const addFields = (
  fields: ReadonlyArray<TimerField>,
  row: TermsByName & { spec: Timer["spec"] },
  item: DynamoItem,
): void => {
  for (const { name, column, kind } of fields) {
    const stored = item[column]
    if (stored === undefined || kind === "texts") continue
    if (kind === "log") addLog(row, String(stored))
    else row[name] = stored
  }
  addStoredOf(row, item)
}

/** `undefined` if the item has no pending timer. */
export const timerOf = (item: DynamoItem, withPayload = true): Timer | undefined => {
  const due = item["due"]
  if (typeof due !== "string") return undefined
  const row: TermsByName & { spec: Timer["spec"] } = {
    ...keyOfText(String(item["id"])),
    fireAt: timeOfText(due),
    spec: specOfText(String(item["spec"] ?? "")),
  }
  addFields(storedOfTimer, row, item)
  if (withPayload && item["payload"] !== undefined) row["payload"] = item["payload"]
  // The fields are those of the table, which the types compare with Timer.
  return row as unknown as Timer
}

export const lifeOf = (item: DynamoItem, withPayload = true): FinishedLife => {
  const row: TermsByName & { spec: Timer["spec"] } = {
    ...keyOfText(`${item["namespace"]}/${item["timer_id"]}`),
    spec: specOfText(String(item["spec"] ?? "")),
  }
  addFields(storedOfLife, row, item)
  if (withPayload && item["payload"] !== undefined) row["payload"] = item["payload"]
  // As above.
  return row as unknown as FinishedLife
}

const text = (item: DynamoItem, name: string): string | null => {
  const value = item[name]
  return typeof value === "string" ? value : null
}

const headOf = (
  key: TimerKey,
  item: DynamoItem,
  rest: Pick<ScannedHead, "place" | "state" | "atMs">,
): Mutable<ScannedHead> => ({
  namespace: key.namespace,
  timerId: key.timerId,
  uuid: key.uuid,
  ...rest,
  fireId: String(item["fire_id"]),
  revision: Number(item["revision"]),
  correlationId: String(item["correlation_id"]),
  ...tagsOfHead(text(item, "tags")),
})

const detailsOf = (item: DynamoItem) =>
  rowDetails(
    text(item, "spec") ?? "",
    text(item, "last_attempt"),
    text(item, "reason"),
    typeof item["lateness_ms"] === "number" ? item["lateness_ms"] : null,
  )

export const headOfTimer = (
  item: DynamoItem,
  place: SortKey | "due" | "id",
  withDetails = false,
): ScannedHead => {
  const key = keyOfText(String(item["id"]))
  const due = String(item["due"])
  const atMs = timeOfText(due)
  const own: SortKey = place === "due" ? [atMs, afterTime(due)] : place === "id" ? [key.timerId] : place
  const head = headOf(key, item, { place: own, state: "pending", atMs })
  return withDetails ? { ...head, details: detailsOf(item) } : head
}

/** `item` is a life or its place in the order of ends. `full` is the life, if its details are asked for. */
export const headOfLife = (
  item: DynamoItem,
  at: { readonly place: SortKey; readonly state: FinishedState; readonly atMs: number },
  full?: DynamoItem,
): ScannedHead => {
  const key = keyOfText(`${item["namespace"]}/${item["timer_id"]}`)
  const head = headOf(key, item, at)
  return full === undefined ? head : { ...head, details: detailsOf(full) }
}
