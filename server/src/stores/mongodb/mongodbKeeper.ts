// Commands on the database without a service. MongoDB shows no single instant over many documents here, so an archive is
// a copy.
import type { CollectionName, Document } from "@punctual/documents/mongodb/Commands"
import { mongodbDocuments } from "@punctual/documents/mongodb/mongodbDocuments"
import type { StoreReport } from "../../ports/StoreReport.ts"
import type { KeptRow } from "../RowCounting.ts"
import { keeperOf, type StoreKeeper } from "../storeKeeper.ts"
import { Commits } from "./Commits.ts"
import { explainedMongodb } from "./failures.ts"
import { mongodbLeases } from "./Leases.ts"
import { longCommandTimeoutMs } from "./limits.ts"
import type { MongodbConnection } from "./MongodbStore.ts"
import type { MongodbAddress } from "./mongodbUrl.ts"
import { commandsTo, openDatabase, programVersion, serverTimeMs, storedSchema } from "./openDatabase.ts"
import { readTallies } from "./Reader.ts"
import { lifeOf, timerOf } from "./rows.ts"

export const mongodbKeeper = (address: MongodbAddress): StoreKeeper =>
  keeperOf<MongodbConnection>({
    name: "mongodb",
    shown: address.shown,
    programVersion,
    connect: async () => {
      const commands = commandsTo(address, { connections: 2, timeoutMs: longCommandTimeoutMs })
      return { commands, commits: new Commits(commands) }
    },
    close: ({ commands }) => commands.close(),
    explain: (error) => explainedMongodb(error, address.shown),
    schema: ({ commands }) => storedSchema(commands, address.shown),
    migrate: async (shards) => {
      await openDatabase(address, shards)
    },
    documents: ({ commands }) => mongodbDocuments(commands),
    rows: {
      pages: async function* (connection, { shards }, withPayload) {
        // What a killed owner left half done must be in an archive. An examination only reads.
        for (let shard = 0; withPayload && shard < shards; shard++) await connection.commits.settle(shard)
        yield* pagesOf(connection, "keys", { pending: true }, withPayload)
        yield* pagesOf(connection, "lives", { state: { $exists: true } }, withPayload)
      },
      state: stateOf,
    },
    owners: mongodbLeases.owners,
    tallies: readTallies,
    sizes: sizesOf,
    clockMs: ({ commands }) => serverTimeMs(commands),
  })

/** Payloads can be large. */
const rowsAtOnce = (withPayload: boolean): number => (withPayload ? 100 : 1_000)

async function* pagesOf(
  { commands }: MongodbConnection,
  collection: "keys" | "lives",
  filter: Document,
  withPayload: boolean,
): AsyncGenerator<ReadonlyArray<KeptRow>> {
  const limit = rowsAtOnce(withPayload)
  const options = { sort: { _id: 1 }, limit, ...(withPayload ? {} : { projection: { payload: 0 } }) }
  for (let after = ""; ; ) {
    const rows = await commands.find(collection, { ...filter, _id: { $gt: after } }, options)
    yield rows.map((row) =>
      collection === "keys"
        ? { item: { kind: "pending", timer: timerOf(row) }, shard: row["shard"] }
        : { item: { kind: "ended", life: lifeOf(row) }, shard: row["shard"], entry: row["entry"] },
    )
    if (rows.length < limit) return
    after = rows.at(-1)?.["_id"]
  }
}

/** Changes with every commit, every insert without an owner and every write of a document. Pruning only removes. */
const stateOf = async ({ commands }: MongodbConnection): Promise<string> => {
  const projection = { epoch: 1, number: 1, foreign: 1, version: 1 }
  const [shards, leases, meta] = await Promise.all([
    commands.find("shards", {}, { sort: { _id: 1 }, projection }),
    commands.find("leases", {}, { sort: { _id: 1 }, projection: { foreign: 1 } }),
    commands.find("meta", { _id: "documents" }, { projection }),
  ])
  return JSON.stringify([shards, leases, meta])
}

/** With their indexes. */
const sizesOf = async ({ commands }: MongodbConnection): Promise<StoreReport["sizes"]> => {
  const names: ReadonlyArray<CollectionName> = ["keys", "lives", "shards", "documents"]
  const sizes = await Promise.all(
    names.map(async (name) => {
      const stats = await commands.run({ collStats: name })
      return { name, bytes: Number(stats["totalSize"] ?? stats["storageSize"] ?? 0) }
    }),
  )
  return sizes.sort((a, b) => b.bytes - a.bytes)
}
