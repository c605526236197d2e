// Opens the store and checks it: the server is new enough and keeps what it has acknowledged, the database belongs to
// this program and is not newer than it, and the number of shards is the configured one. Then it creates what is
// missing, under a lock. Every step can be repeated, so a start that dies in between leaves nothing to repair.
import { randomUUID } from "node:crypto"
import { Commands, type CommandsOptions, type Document } from "@punctual/documents/mongodb/Commands"
import { documentIndexes } from "@punctual/documents/mongodb/mongodbDocuments"
import { DatabaseFailure } from "@punctual/sql/DatabaseFailure"
import { emptyTally } from "../../domain/Decision.ts"
import { checkNotNewer, checkShards, type StoredSchema, type StoreLock, underLock } from "../openingStores.ts"
import { longCommandTimeoutMs, tracesKeptSeconds } from "./limits.ts"
import type { MongodbAddress } from "./mongodbUrl.ts"

export const programVersion = 1
const oldestServer = 6
const oldestFerret = 2

const pending = { partialFilterExpression: { pending: true } }
const worded = { partialFilterExpression: { words: { $exists: true } } }
const traces = { name: "gone", key: { gone: 1 }, expireAfterSeconds: tracesKeptSeconds }

const indexes: Readonly<Record<string, ReadonlyArray<Document>>> = {
  keys: [
    { name: "due", key: { shard: 1, fire_at: 1, fire_id: 1 }, ...pending },
    { name: "due_of_namespace", key: { namespace: 1, fire_at: 1, fire_id: 1 }, ...pending },
    { name: "by_id", key: { namespace: 1, timer_id: 1 } },
    { name: "by_word", key: { namespace: 1, words: 1, fire_at: 1, fire_id: 1 }, ...worded },
    { name: "foreign", key: { shard: 1 }, partialFilterExpression: { foreign: true } },
    traces,
  ],
  lives: [
    { name: "by_end", key: { namespace: 1, state: 1, finished_at: 1, entry: 1 } },
    { name: "by_id", key: { namespace: 1, timer_id: 1, revision: 1, entry: 1 } },
    { name: "by_word", key: { namespace: 1, words: 1, state: 1, finished_at: 1, fire_id: 1 }, ...worded },
    { name: "prunable", key: { finished_at: 1 }, partialFilterExpression: { prunable: true } },
    traces,
  ],
  documents: documentIndexes,
}

export const commandsTo = (
  { url, database }: MongodbAddress,
  options: Pick<CommandsOptions, "connections" | "timeoutMs">,
): Commands => new Commands({ url, database, ...options })

/** Creates the store if there is none, and returns what an operator should know although the store works. */
export const openDatabase = async (
  address: MongodbAddress,
  shards: number,
): Promise<ReadonlyArray<string>> => {
  const commands = commandsTo(address, { connections: 2, timeoutMs: longCommandTimeoutMs })
  try {
    const warnings = await checkServer(commands, address.shown)
    const { shown } = address
    await underLock(shown, lockOf(commands), 2 * lockMs, () => create(commands, shown, shards))
    return warnings
  } finally {
    await commands.close()
  }
}

/** The version is 0 if there is no store. */
export const storedSchema = async (commands: Commands, shown: string): Promise<StoredSchema> => {
  const schema = await commands.findOne("meta", { _id: "schema" })
  const version = Number(schema?.["version"] ?? 0)
  checkNotNewer(shown, version, programVersion)
  return { version, shards: Number(schema?.["shards"] ?? 0) }
}

const create = async (commands: Commands, shown: string, shards: number): Promise<void> => {
  const { cursor } = await commands.run({ listCollections: 1, nameOnly: true, cursor: { batchSize: 1_000 } })
  const isNew = (await commands.findOne("meta", { _id: "schema" })) === undefined
  const others = cursor.firstBatch.filter(({ name }: Document) => name !== "meta")
  if (isNew && others.length > 0) {
    throw new DatabaseFailure(
      "otherProgram",
      `${shown} has collections of another program: name a database of its own.`,
    )
  }
  await commands.insert("meta", [{ _id: "schema", version: 0, shards }])
  const stored = await storedSchema(commands, shown)
  checkShards(shown, stored.shards, shards)
  for (const [collection, wanted] of Object.entries(indexes)) {
    await commands.run({ createIndexes: collection, indexes: wanted, writeConcern: { w: "majority" } })
  }
  if (stored.version === programVersion) return
  const numbers = Array.from({ length: shards }, (_, shard) => shard)
  await commands.insert(
    "shards",
    numbers.map((_id) => ({ _id, epoch: 0, number: 0, tally: { ...emptyTally } })),
  )
  await commands.insert(
    "leases",
    numbers.map((_id) => ({ _id, epoch: 0, counter: 0, foreign: 0, foreign_created: 0 })),
  )
  await commands.update("meta", [{ q: { _id: "schema" }, u: { $set: { version: programVersion } } }])
}

const lockMs = 60_000

/** The lock of a node that died ends by the database's clock. */
const lockOf = (commands: Commands): StoreLock => {
  const holder = randomUUID()
  return {
    take: async () => {
      const now = await serverTimeMs(commands)
      const q = { _id: "lock", until: { $lt: now } }
      const u = { $set: { holder, until: now + lockMs } }
      return (await commands.update("meta", [{ q, u, upsert: true }])) === 1
    },
    release: () => commands.update("meta", [{ q: { _id: "lock", holder }, u: { $set: { until: 0 } } }]),
  }
}

export const serverTimeMs = async (commands: Commands): Promise<number> =>
  Number((await commands.run({ hello: 1 }))["localTime"])

const checkServer = async (commands: Commands, shown: string): Promise<ReadonlyArray<string>> => {
  const [hello, build] = [await commands.run({ hello: 1 }), await commands.run({ buildInfo: 1 })]
  const status = await commands.run({ serverStatus: 1 }).catch(() => undefined)
  const unfit = whyUnfitMongodb({ hello, build, status })
  if (unfit !== undefined) throw new DatabaseFailure("refused", `${shown} ${unfit}`)
  return hello["setName"] !== undefined || hello["msg"] === "isdbgrid" || build["ferretdb"] !== undefined
    ? []
    : [
        `${shown} is a single MongoDB server without a replica set: if it or its disk fails, timers wait or are lost.`,
      ]
}

/** What is wrong with a server, from its own answers. `status` is absent if the user may not read it. */
export const whyUnfitMongodb = ({
  hello,
  build,
  status,
}: {
  readonly hello: Document
  readonly build: Document
  readonly status: Document | undefined
}): string | undefined => {
  const ferret: string | undefined = build["ferretdb"]?.version
  if (ferret !== undefined && Number.parseInt(ferret.replace("v", ""), 10) < oldestFerret)
    return `is on FerretDB ${ferret}, whose updates are not atomic: FerretDB ${oldestFerret} or newer is needed.`
  if (ferret === undefined && Number(build["versionArray"]?.[0]) < oldestServer)
    return `is on MongoDB ${build["version"]}: ${oldestServer}.0 or newer is needed.`
  if (hello["isWritablePrimary"] !== true)
    return "is not a primary, so it is read-only: name all servers of the replica set, or remove directConnection."
  const engine = status?.["storageEngine"]
  if (engine?.persistent === false || engine?.name === "inMemory")
    return `has the storage engine ${engine.name}, which loses all timers when it stops: use wiredTiger.`
  return hello["setName"] !== undefined && hello["arbiterOnly"] === true
    ? "is an arbiter, which has no data."
    : undefined
}
