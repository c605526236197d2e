// Reads what is stored under keys. The item of a key names its last life, so a key with lives takes two steps. The second
// step reads the key again together with its lives, as of one instant. If the key names another life by then, both are
// read again.
//
// DynamoDB removes expired items one by one. A key may still name a life that is gone. Then the look corrects the key, so
// that a later change finds what the look has answered.
import type { DynamoItem } from "@punctual/aws/DynamoItem"
import type { ItemPlace } from "@punctual/aws/DynamoTables"
import { forAll } from "@punctual/aws/forAll"
import { type Known, nothingKnown } from "../../domain/Decision.ts"
import type { Look } from "../../ports/ShardStorage.ts"
import type { Database } from "./Database.ts"
import { itemIdOf, lifePlace, livesOf, placeOfKey } from "./keys.ts"
import { lifeOf, timerOf } from "./rows.ts"
import { isKey } from "./whyItemRefused.ts"

/** How often a key may change while it is read. */
const mostTries = 10

export const lookAt = async (
  database: Database,
  looks: ReadonlyArray<Look>,
): Promise<ReadonlyArray<Known>> => {
  const places = new Map<string, ItemPlace>()
  for (const { key } of looks)
    if (isKey(key)) places.set(itemIdOf(key), placeOfKey(database.names, database.shards, key))
  const found = await database.tables.getAll(
    database.names.timers,
    [...places.values()].map(({ key }) => key),
  )
  const items = new Map(found.map((item) => [String(item["id"]), item]))
  return forAll(looks, (look) =>
    places.has(itemIdOf(look.key))
      ? known(database, look, items.get(itemIdOf(look.key)))
      : Promise.resolve(nothingKnown),
  )
}

const known = async (database: Database, look: Look, first: DynamoItem | undefined): Promise<Known> => {
  const { key, lives } = look
  if (first?.["last_id"] === undefined && (lives === undefined || lives.length === 0))
    return knownOf(look, first, undefined, [])
  let item = first
  for (let tries = 0; tries < mostTries; tries++) {
    const lastId = item?.["last_id"]
    const named = (lives ?? []).map(({ fireId }) => fireId)
    const ids = [...new Set([...(typeof lastId === "string" ? [lastId] : []), ...named])]
    const places = ids.map((id) => lifePlace(database.names, key.uuid, id))
    const own = placeOfKey(database.names, database.shards, key)
    const [again, ...found] = await database.tables.getTogether([own, ...places])
    item = again
    if (again?.["last_id"] !== lastId) continue
    const byId = new Map(
      found.flatMap((life) => (life === undefined ? [] : [[String(life["sk"]), life] as const])),
    )
    const last = typeof lastId === "string" ? byId.get(lastId) : undefined
    if (typeof lastId === "string" && last === undefined) {
      await pointToLast(database, own, key.uuid, lastId)
      item = await database.tables.get(own)
      continue
    }
    return knownOf(look, again, last, [...byId.values()])
  }
  throw new Error("a key changed again and again while it was read")
}

const knownOf = (
  { lives, withPayload }: Look,
  item: DynamoItem | undefined,
  last: DynamoItem | undefined,
  found: ReadonlyArray<DynamoItem>,
): Known => {
  const pending = item === undefined ? undefined : timerOf(item, withPayload)
  const named = lives?.flatMap(({ fireId, minRevision }) =>
    found.filter((life) => life["sk"] === fireId && Number(life["revision"]) >= minRevision),
  )
  return {
    pending,
    last: last === undefined ? undefined : lifeOf(last, withPayload),
    ...(named === undefined ? {} : { lives: named.map((life) => lifeOf(life, withPayload)) }),
  }
}

/** All finished lives of a key, by revision. */
export const livesOfKey = async (database: Database, uuid: string): Promise<ReadonlyArray<DynamoItem>> => {
  const lives: Array<DynamoItem> = []
  const query = { table: database.names.history, partition: ["pk", livesOf(uuid)] } as const
  for await (const { items } of database.tables.pages(query)) lives.push(...items)
  return lives.sort(
    (a, b) => Number(a["revision"]) - Number(b["revision"]) || Number(a["entry"]) - Number(b["entry"]),
  )
}

/** The life with the highest revision, without the named one. */
export const lastLifeOf = async (
  database: Database,
  uuid: string,
  exceptFireId: string | undefined,
): Promise<DynamoItem | undefined> =>
  (await livesOfKey(database, uuid)).filter(({ sk }) => sk !== exceptFireId).at(-1)

/** Makes a key name a life that exists, or removes the key if there is nothing left of it. */
const pointToLast = async (
  database: Database,
  place: ItemPlace,
  uuid: string,
  lastId: string,
): Promise<void> => {
  const last = await lastLifeOf(database, uuid, lastId)
  const isEmpty = last === undefined
  if (
    isEmpty &&
    (await database.tables.delete(
      place,
      (expression) => `${expression.lacks("due")} AND ${expression.equals("last_id", lastId)}`,
    ))
  )
    return
  await database.tables.update(
    place,
    { set: { last_id: last?.["sk"], last_rev: last?.["revision"] } },
    (expression) => expression.equals("last_id", lastId),
  )
}
