// Reads the rows of many keys. A key's document shows one instant. If its lives are read, too, the document is read again
// afterwards: if it has changed, everything is read again. A document also says which lives its last change wrote or
// removed. If they do not show that yet, the change is half applied. Then the reader applies it before it reads again.
import type { Commands, Document } from "@punctual/documents/mongodb/Commands"
import { type Known, nothingKnown } from "../../domain/Decision.ts"
import type { Look } from "../../ports/ShardStorage.ts"
import { mostRounds } from "./limits.ts"
import type { MongodbConnection } from "./MongodbStore.ts"
import { lifeIdOf, lifeOf, timerOf } from "./rows.ts"

export const lookAt = async (
  { commands, commits }: MongodbConnection,
  looks: ReadonlyArray<Look>,
): Promise<ReadonlyArray<Known>> => {
  const known: Array<Known | undefined> = new Array(looks.length)
  let left = looks.map((look, place) => ({ look, place }))
  for (let round = 0; round < mostRounds && left.length > 0; round++) {
    const { found, torn } = await readOnce(
      commands,
      left.map(({ look }) => look),
    )
    for (const shard of torn) await commits.help(shard)
    left = left.filter(({ place }, index) => {
      known[place] = found[index]
      return found[index] === undefined
    })
  }
  if (left.length > 0) throw new Error(`the row of a key changed ${mostRounds} times while it was read`)
  return known.map((one) => one ?? nothingKnown)
}

/** `undefined` for keys that changed meanwhile. `torn` are the shards of half-applied changes. */
const readOnce = async (commands: Commands, looks: ReadonlyArray<Look>) => {
  const ids = looks.map(({ key }) => key.uuid)
  const bodies = looks.some(({ withPayload }) => withPayload) ? {} : { projection: { payload: 0 } }
  const keys = byId(await commands.find("keys", { _id: { $in: ids } }, bodies))
  const named = looks.map((look) => livesOf(look, keys.get(look.key.uuid)))
  const lifeIds = named.flat()
  const lives =
    lifeIds.length === 0 ? noDocuments : byId(await commands.find("lives", { _id: { $in: lifeIds } }, bodies))
  const checked = looks.filter((_, index) => (named[index] ?? []).length > 0).map(({ key }) => key.uuid)
  const again =
    checked.length === 0
      ? noDocuments
      : byId(
          await commands.find(
            "keys",
            { _id: { $in: checked } },
            { projection: { stamp: 1, last: 1, fire_id: 1 } },
          ),
        )
  const torn = new Set<number>()
  const found = looks.map((look, index) => {
    const key = keys.get(look.key.uuid)
    const own = named[index] ?? []
    if (key === undefined) return nothingKnown
    if (own.length > 0 && !isSame(key, again.get(look.key.uuid))) return undefined
    if (own.length > 0 && isTorn(key, lives, own)) {
      torn.add(key["shard"])
      return undefined
    }
    return knownOf(look, key, lives)
  })
  return { found, torn }
}

const noDocuments: ReadonlyMap<string, Document> = new Map()

const byId = (documents: ReadonlyArray<Document>): ReadonlyMap<string, Document> =>
  new Map(documents.map((document) => [document["_id"], document]))

const livesOf = ({ key: { uuid }, lives = [] }: Look, key: Document | undefined): ReadonlyArray<string> => {
  if (key === undefined) return []
  const last: string | undefined = key["last"]?.f
  return [...(last === undefined ? [] : [last]), ...lives.map(({ fireId }) => fireId)].map((fireId) =>
    lifeIdOf(uuid, fireId),
  )
}

const isSame = (a: Document, b: Document | undefined): boolean =>
  a["stamp"] === b?.["stamp"] && a["last"]?.f === b?.["last"]?.f && a["fire_id"] === b?.["fire_id"]

const isTorn = (
  key: Document,
  lives: ReadonlyMap<string, Document>,
  read: ReadonlyArray<string>,
): boolean => {
  const { _id: uuid, stamp, wrote, removed, last } = key
  const lifeBy = (fireId: string) => lives.get(lifeIdOf(uuid, fireId))
  const isRead = (fireId: string | undefined) => fireId !== undefined && read.includes(lifeIdOf(uuid, fireId))
  if (last !== undefined && lifeBy(last.f)?.["state"] === undefined) return true
  if (isRead(wrote) && (lifeBy(wrote)?.["stamp"] ?? "") < stamp) return true
  const gone = isRead(removed) ? lifeBy(removed) : undefined
  return gone?.["state"] !== undefined && gone["stamp"] < stamp
}

const knownOf = (
  { lives = [], withPayload }: Look,
  key: Document,
  found: ReadonlyMap<string, Document>,
): Known => {
  const lifeWith = (fireId: string, minRevision = Number.NEGATIVE_INFINITY) => {
    const life = found.get(lifeIdOf(key["_id"], fireId))
    return life?.["state"] !== undefined && life["revision"] >= minRevision
      ? lifeOf(life, withPayload)
      : undefined
  }
  const named = lives.flatMap(({ fireId, minRevision }) => lifeWith(fireId, minRevision) ?? [])
  return {
    pending: key["pending"] === true ? timerOf(key, withPayload) : undefined,
    last: key["last"] === undefined ? undefined : lifeWith(key["last"].f),
    ...(lives.length === 0 ? {} : { lives: named }),
  }
}
