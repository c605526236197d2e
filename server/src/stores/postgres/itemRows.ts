// Write items as the rows that the schema's functions take, and the judgement whether they can be stored: one
// item that PostgreSQL would refuse must not fail its neighbours, so it is never sent. Specs, of which most timers
// of a program share a few, and payloads, which are bytes, travel apart from the rows.
import type { AttemptLog } from "../../domain/AttemptLog.ts"
import type { Spec, Timer } from "../../domain/Timer.ts"
import {
  type Change,
  type Discard,
  itemBytes,
  keyOfItem,
  type Outcome,
  type Replay,
  type Unstorable,
  type WriteItem,
} from "../../domain/WriteItem.ts"
import { textOfLog } from "../AttemptLogText.ts"
import { textOfSpec } from "../SpecText.ts"
import { mostKeyBytes, writeLimits } from "./limits.ts"

type Field = string | number | boolean | null | undefined

/** By the names that migrations/0002-writing.sql gives them; what is absent is NULL. */
export type ItemRow = { readonly [name: string]: Field }

/** What goes with the rows of one write. */
export class Luggage {
  readonly specs: Array<string> = []
  readonly #specNumbers = new Map<string, number>()
  readonly #payloads: Array<Uint8Array> = []
  #bytes = 0

  spec(text: string): number {
    const known = this.#specNumbers.get(text)
    if (known !== undefined) return known
    // Arrays of SQL begin at 1.
    const number = this.specs.push(text)
    this.#specNumbers.set(text, number)
    return number
  }

  payload(bytes: Uint8Array | null | undefined): ItemRow {
    if (bytes === null || bytes === undefined) return {}
    const from = this.#bytes + 1
    this.#payloads.push(bytes)
    this.#bytes += bytes.byteLength
    return { payload_from: from, payload_bytes: bytes.byteLength }
  }

  get payloads(): Uint8Array {
    return Buffer.concat(this.#payloads, this.#bytes)
  }
}

export const rowOf = (item: WriteItem, luggage: Luggage): ItemRow => {
  const { namespace, timerId, uuid } = keyOfItem(item)
  return { kind: item.kind, namespace, timer_id: timerId, uuid, ...bodyOf(item, luggage) }
}

const bodyOf = (item: WriteItem, luggage: Luggage): ItemRow => {
  switch (item.kind) {
    case "put":
      return {
        ...timerFields(item.timer, luggage),
        mode: item.onExisting,
        is_made: item.madeCorrelationId,
        is_repeat: item.isRepeat,
      }
    case "schedule":
      return {
        ...timerFields(item.timer, luggage),
        is_made: item.madeCorrelationId,
        in_flight: uuidOrNothing(item.inFlight),
      }
    case "change":
      return changeFields(item, luggage)
    case "cancel":
      return {
        at: item.at,
        ended_by: item.cancelId,
        revision: item.ifRevision,
        in_flight: uuidOrNothing(item.inFlight),
        is_repeat: item.isRepeat,
      }
    case "outcome":
      return outcomeFields(item, luggage)
    case "record": {
      const { life } = item
      return {
        mode: life.state,
        fire_id: life.fireId,
        at: life.finishedAt,
        execute_at: life.executeAt,
        created_at: life.createdAt,
        attempts: life.attempts,
        last_attempt: logText(life.attemptLog),
        lateness_ms: life.latenessMs,
        reason: life.reason,
        ended_by: life.endedBy,
        revision: life.revision,
        correlation_id: life.correlationId,
        spec_number: luggage.spec(textOfSpec(life.spec)),
        ...luggage.payload(life.payload),
      }
    }
    case "replay":
      return { ...deadFields(item), fire_id: item.fireId }
    case "discard":
      return deadFields(item)
  }
}

const deadFields = ({ deadFireId, deadRevision, at, isRepeat }: Replay | Discard): ItemRow => ({
  dead_fire_id: uuidOrNothing(deadFireId),
  revision: deadRevision,
  at,
  is_repeat: isRepeat,
})

const timerFields = (timer: Timer, luggage: Luggage): ItemRow => ({
  fire_id: timer.fireId,
  execute_at: timer.executeAt,
  fire_at: timer.fireAt,
  attempts: timer.attempts,
  first_attempt_at: timer.firstAttemptAt,
  last_attempt: logText(timer.attemptLog),
  created_at: timer.createdAt,
  updated_at: timer.updatedAt,
  asked_at: timer.askedAt,
  correlation_id: timer.correlationId,
  spec_number: luggage.spec(textOfSpec(timer.spec)),
  ...luggage.payload(timer.payload),
})

const changeFields = (change: Change, luggage: Luggage): ItemRow => {
  const { executeAt, correlationId, payload } = change.set
  const parts = partsText(change.set)
  return {
    fire_id: change.fireId,
    at: change.at,
    revision: change.ifRevision,
    in_flight: uuidOrNothing(change.inFlight),
    is_repeat: change.isRepeat,
    execute_at: executeAt,
    correlation_id: correlationId,
    spec_number: parts === undefined ? undefined : luggage.spec(parts),
    sets_payload: payload !== undefined,
    ...luggage.payload(payload),
  }
}

/** The parts of the spec that a change names, as JSON; null clears. */
const partsText = ({ target, retryPolicy, expireAfterMs }: Change["set"]): string | undefined =>
  target === undefined && retryPolicy === undefined && expireAfterMs === undefined
    ? undefined
    : JSON.stringify({ target, retryPolicy, expireAfterMs })

const deeds = { delivered: "deliver", retry: "retry", rearmed: "rearm", dead: "bury" } as const

const outcomeFields = ({ fireId, attempt, at, attemptLog, then }: Outcome, luggage: Luggage): ItemRow => ({
  mode: deeds[then.to],
  fire_id: fireId,
  attempts: attempt,
  at,
  first_attempt_at: attemptLog?.at(-1)?.at,
  last_attempt: logText(attemptLog),
  ...(then.to === "delivered" ? { lateness_ms: then.latenessMs } : {}),
  ...(then.to === "retry" ? { fire_at: then.fireAt } : {}),
  ...(then.to === "dead" ? { reason: then.reason } : {}),
  ...(then.to === "rearmed"
    ? {
        execute_at: then.executeAt,
        next_fire_id: then.fireId,
        lateness_ms: then.latenessMs,
        sets_payload: then.payload !== undefined,
        ...luggage.payload(then.payload),
      }
    : {}),
})

const logText = (log: AttemptLog | undefined): string | undefined =>
  log === undefined ? undefined : textOfLog(log)

const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const hexShape = /^[0-9a-f]{32}$/

/** What is no fireId names no arming. */
const uuidOrNothing = (id: string | undefined): string | undefined =>
  id !== undefined && uuidShape.test(id) ? id : undefined

/** Why the item cannot be stored, as far as that can be told before its row is made; nothing if it can. */
export const whyTooLarge = (item: WriteItem): Unstorable | undefined => {
  const bytes = itemBytes(item)
  if (bytes > writeLimits.itemBytes) {
    return unstorable(`The item has ${bytes} bytes; this store holds at most ${writeLimits.itemBytes}.`)
  }
  const { namespace, timerId } = keyOfItem(item)
  return Buffer.byteLength(namespace) + Buffer.byteLength(timerId) > mostKeyBytes
    ? unstorable(`The key is longer than the ${mostKeyBytes} bytes that this store can index.`)
    : undefined
}

/** Why PostgreSQL would refuse the row of the item; nothing if it would not. */
export const whyUnstorable = (item: WriteItem, row: ItemRow): Unstorable | undefined => {
  const { uuid } = keyOfItem(item)
  if (!hexShape.test(uuid)) return unstorable(`uuid: "${uuid}" is not 32 hex digits.`)
  for (const name in row) {
    const value = row[name]
    if (typeof value === "number" && !Number.isSafeInteger(value)) {
      return unstorable(`${name}: ${value} is not a whole number that this store can hold.`)
    }
    if (typeof value === "string" && !isStorableText(value)) {
      return unstorable(`${name}: the text has a NUL or half a character, which this store cannot hold.`)
    }
  }
  for (const id of [row["fire_id"], row["next_fire_id"]]) {
    if (typeof id === "string" && !uuidShape.test(id)) return unstorable(`fireId: "${id}" is not a UUID.`)
  }
  const spec = specIn(item)
  return spec !== undefined && !isStorableJson(spec)
    ? unstorable("spec: a text has a NUL or half a character, which this store cannot hold.")
    : undefined
}

const unstorable = (reason: string): Unstorable => ({ result: "unstorable", reason })

const isStorableText = (text: string): boolean => !text.includes("\0") && text.isWellFormed()

/** PostgreSQL compares specs as jsonb, which takes neither of these as an escape. */
const isStorableJson = (json: string): boolean => !/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/.test(json)

const specIn = (item: WriteItem): string | undefined => {
  const spec = specOf(item)
  return spec === undefined ? undefined : textOfSpec(spec)
}

const specOf = (item: WriteItem): Spec | undefined => {
  switch (item.kind) {
    case "put":
    case "schedule":
      return item.timer.spec
    case "record":
      return item.life.spec
    default:
      return undefined
  }
}
