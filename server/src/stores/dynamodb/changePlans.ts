// Turns changes into the writes of a transaction. The item of a key has the pending timer and points to the last life
// (`last_id`), so that one condition can say "this key was never used". Three kinds of changes must read first: a life
// that may not be the last one, a correction, and a removal. For them `seen` is what was read, and the writes state it
// as a condition.
import type { DynamoExpression, ItemUpdate } from "@punctual/aws/DynamoExpression"
import { type DynamoItem, itemSize } from "@punctual/aws/DynamoItem"
import { checkOf, deletionOf, itemUpdateOf, putOf, type TransactWrite } from "@punctual/aws/DynamoTables"
import type { FinishedLife } from "../../domain/Timer.ts"
import type { KeyChange } from "../../ports/ShardStorage.ts"
import { textOfSpec } from "../SpecText.ts"
import { type Database, expiryOf } from "./Database.ts"
import { endKey, keyPlace, lifePlace } from "./keys.ts"
import { neverSeconds } from "./limits.ts"
import {
  type Attributes,
  attributesOfLife,
  attributesOfTimer,
  endAttributes,
  lifeOf,
  pendingAttributes,
} from "./rows.ts"

export interface ChangePlan {
  readonly index: number
  readonly change: KeyChange
  readonly writes: ReadonlyArray<TransactWrite>
  readonly bytes: number
}

/** What is stored now. */
export interface SeenKey {
  readonly key: DynamoItem | undefined
  /** The life that the change names. */
  readonly life: DynamoItem | undefined
  /** The life with the highest revision except the named one. Only read if the named one is removed. */
  readonly next: DynamoItem | undefined
}

export const mustRead = ({ expects, finished, removesLife }: KeyChange): boolean => {
  if (removesLife === true) return true
  if (finished === undefined) return false
  // A pending timer has a higher revision than all lives of its key, so its own end becomes the last life.
  const isOwnEnd = expects.pending?.fireId === finished.fireId
  const isCorrection = expects.life !== undefined && expects.life.state !== null
  return isCorrection || (!isOwnEnd && expects.last !== null)
}

/** `undefined` if the change cannot be what it expects to be. */
export const planOf = (
  database: Database,
  shard: number,
  index: number,
  change: KeyChange,
  { seen, nextEntry }: { readonly seen: SeenKey | undefined; readonly nextEntry: () => number },
): ChangePlan | undefined => {
  const { names } = database
  const { key, expects, finished, removesLife } = change
  const named = expects.life
  if (seen !== undefined && named !== undefined && (seen.life?.["state"] ?? null) !== named.state)
    return undefined
  const update = keyUpdateOf(database, change, seen)
  const condition = (expression: DynamoExpression) => keyConditions(expression, change, seen).join(" AND ")
  const place = keyPlace(names, shard, key)
  const writes: Array<TransactWrite> = []
  if (update === "delete") writes.push({ Delete: deletionOf(place, condition) })
  else if (update === undefined) writes.push({ ConditionCheck: checkOf(place, condition) })
  else writes.push({ Update: itemUpdateOf(place, update, condition) })
  let bytes = update === undefined || update === "delete" ? 0 : itemSize(update.set ?? {})
  const before = seen?.life
  const oldEnd = before === undefined ? undefined : endKey(shard, lifeOf(before), Number(before["entry"]))
  if (removesLife === true && before !== undefined) {
    const removed = lifePlace(names, key.uuid, String(before["sk"]))
    writes.push({ Delete: deletionOf(removed, (expression) => sameLife(expression, before)) })
  } else if (finished !== undefined) {
    const life = lifeItems(
      database,
      shard,
      finished,
      before === undefined ? nextEntry() : Number(before["entry"]),
    )
    bytes += itemSize(life.item) + itemSize(life.end)
    writes.push({
      Put: putOf(names.history, life.item, (expression) => lifeCondition(expression, change, before)),
    })
    writes.push({ Put: putOf(names.history, life.end) })
    if (oldEnd !== undefined && oldEnd["pk"] === life.end["pk"] && oldEnd["sk"] === life.end["sk"])
      return { index, change, writes, bytes }
  } else if (named !== undefined) {
    const other = lifePlace(names, key.uuid, named.fireId)
    const check = (expression: DynamoExpression) => expression.equals("state", named.state ?? undefined)
    writes.push({ ConditionCheck: checkOf(other, check) })
  }
  if (oldEnd !== undefined) writes.push({ Delete: deletionOf({ table: names.history, key: oldEnd }) })
  return { index, change, writes, bytes }
}

const sameLife = (expression: DynamoExpression, { state, entry }: DynamoItem): string =>
  `${expression.equals("state", state)} AND ${expression.equals("entry", entry)}`

const lifeCondition = (
  expression: DynamoExpression,
  { expects }: KeyChange,
  before: DynamoItem | undefined,
): string | undefined => {
  if (before !== undefined) return sameLife(expression, before)
  return expects.life === undefined ? undefined : expression.lacks("pk")
}

const keyConditions = (
  expression: DynamoExpression,
  { expects: { pending, last } }: KeyChange,
  seen: SeenKey | undefined,
): ReadonlyArray<string> => {
  const conditions: Array<string> = []
  if (pending === null) conditions.push(expression.lacks("due"))
  else if (pending !== undefined) {
    conditions.push(expression.equals("fire_id", pending.fireId))
    conditions.push(expression.equals("attempts", pending.attempts))
    conditions.push(expression.equals("revision", pending.revision))
    conditions.push(expression.equals("asked_at", pending.askedAt))
  }
  if (last !== undefined) conditions.push(expression.equals("last_id", last ?? undefined))
  if (seen !== undefined) {
    conditions.push(expression.equals("last_id", seen.key?.["last_id"]))
    // A key without a pending timer would otherwise expire although it has one again.
    conditions.push(seen.key?.["due"] === undefined ? expression.lacks("due") : expression.has("due"))
  }
  return [...new Set(conditions)]
}

const lifeItems = (database: Database, shard: number, life: FinishedLife, entry: number) => {
  const ttl = expiryOf(database, life)
  const { key } = lifePlace(database.names, life.uuid, life.fireId)
  return {
    item: sound({ ...key, ...attributesOfLife(life), entry, ttl }),
    end: sound({ ...endKey(shard, life, entry), ...endAttributes(life), entry, ttl }),
  }
}

/** The attributes that have a value. */
export const sound = (attributes: Attributes): DynamoItem => {
  const item: Record<string, DynamoItem[string]> = {}
  for (const name in attributes) {
    const value = attributes[name]
    if (value !== undefined) item[name] = value
  }
  return item
}

/** How the item of the key changes. `undefined` if it stays. */
const keyUpdateOf = (
  database: Database,
  change: KeyChange,
  seen: SeenKey | undefined,
): ItemUpdate | "delete" | undefined => {
  const { expects, pending, keepsSpec, payload, finished, removesLife } = change
  const set: Attributes = {}
  const setTo: Array<(expression: DynamoExpression) => string> = []
  if (pending) {
    Object.assign(set, attributesOfTimer(pending), { ttl: undefined })
    if (keepsSpec !== true) set["spec"] = textOfSpec(pending.spec)
    if (payload === "write") set["payload"] = pending.payload
  } else if (pending === null) {
    for (const attribute of pendingAttributes) set[attribute] = undefined
  }
  const staysPending = Boolean(expects.pending) || seen?.key?.["due"] !== undefined
  const hasPending = pending === undefined ? staysPending : pending !== null
  if (removesLife === true) {
    if (!setAfterRemoval(set, seen, hasPending)) return "delete"
  } else if (finished !== undefined) {
    const lastRevision = seen?.key?.["last_rev"]
    const isCurrent = seen?.key?.["last_id"] === finished.fireId
    if (
      seen === undefined ||
      lastRevision === undefined ||
      isCurrent ||
      finished.revision >= Number(lastRevision)
    ) {
      set["last_id"] = finished.fireId
      set["last_rev"] = finished.revision
    }
    if (finished.state === "dead") {
      set["held"] = neverSeconds
      set["ttl"] = undefined
    } else if (!hasPending) {
      const expiry = expiryOf(database, finished)
      if (expiry !== undefined)
        setTo.push(
          (expression) =>
            `${expression.name("ttl")} = if_not_exists(${expression.name("held")}, ${expression.value(expiry)})`,
        )
    }
  }
  const isDeath = finished?.state === "dead"
  if (Object.keys(set).length === 0 && setTo.length === 0) return undefined
  return { set, setTo, ...(isDeath ? { add: { dead: 1 } } : {}) }
}

/** False if nothing is left of the key. */
const setAfterRemoval = (set: Attributes, seen: SeenKey | undefined, hasPending: boolean): boolean => {
  const { key, life, next } = seen ?? {}
  const dead = Number(key?.["dead"] ?? 0) - (life?.["state"] === "dead" ? 1 : 0)
  set["dead"] = dead > 0 ? dead : undefined
  set["held"] = dead > 0 ? neverSeconds : undefined
  const isLast = key?.["last_id"] === undefined || key["last_id"] === life?.["sk"]
  if (isLast) {
    if (!hasPending && next === undefined) return false
    set["last_id"] = next?.["sk"]
    set["last_rev"] = next?.["revision"]
  }
  if (!hasPending && dead <= 0) set["ttl"] = next?.["ttl"]
  return true
}
