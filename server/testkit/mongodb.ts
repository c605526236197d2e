// MongoDB stores on a FerretDB server that the tests start, for suites and tests. Each test file starts one server, and
// every store has its own database on it.
import { afterAll, beforeAll } from "bun:test"
import { Effect, Layer } from "effect"
import { type Db, type Document, MongoClient } from "../../drivers/mongodb/mongodb.ts"
import type { FinishedLife, Timer } from "../src/domain/Timer.ts"
import { textOfLog } from "../src/stores/AttemptLogText.ts"
import { MongodbStore } from "../src/stores/mongodb/MongodbStore.ts"
import { type MongodbAddress, parseMongodbUrl } from "../src/stores/mongodb/mongodbUrl.ts"
import { textOfSpec } from "../src/stores/SpecText.ts"
import { FerretServer } from "./FerretServer.ts"
import { RowDamage } from "./RowDamage.ts"
import type { StorageFixture } from "./ShardStorage.suite.ts"
import type { StoreFixture } from "./StoreFixture.ts"
import { sampleTimer } from "./timers.ts"

/** A server for the tests of the current `describe`. */
export const ferretForTests = (): (() => FerretServer) => {
  let server: FerretServer | undefined
  beforeAll(async () => {
    server = await FerretServer.start()
  }, 120_000)
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
  })
  return () => {
    if (server === undefined) throw new Error("the server has not been started")
    return server
  }
}

export const addressOf = (url: string): MongodbAddress => {
  const parsed = parseMongodbUrl(url)
  if ("problem" in parsed) throw new Error(parsed.problem)
  return parsed.value
}

/** A store on a database of this URL, which it creates if there is none. */
export const mongodbStoreAt = (url: string, shards: number) =>
  MongodbStore.layer({ address: addressOf(url), shards, connections: 4 })

/** Runs `use` on the database of this URL, without the store. */
export const inDatabase = async <A>(url: string, use: (db: Db) => Promise<A>): Promise<A> => {
  const client = new MongoClient(url)
  try {
    return await use(client.db(addressOf(url).database))
  } finally {
    await client.close()
  }
}

export const mongodbFixture = (server: () => FerretServer): StoreFixture => ({
  name: "mongodb (FerretDB)",
  fresh: ({ shards }) => Layer.unwrap(Effect.sync(() => mongodbStoreAt(server().database(), shards))),
  damageable: ({ shards }) =>
    Layer.unwrap(
      Effect.sync(() => {
        const url = server().database()
        return Layer.merge(mongodbStoreAt(url, shards), Layer.succeed(RowDamage, damageIn(url)))
      }),
    ),
  reopened: ({ shards }) => {
    const url = server().database()
    return { first: mongodbStoreAt(url, shards), second: mongodbStoreAt(url, shards), dispose: () => {} }
  },
})

export const mongodbStorageFixture = (server: () => FerretServer): StorageFixture => ({
  name: "mongodb (FerretDB)",
  refusedTimer: sampleTimer({ correlationId: "a\ud800b" }),
  storage: ({ shards }) => Layer.unwrap(Effect.sync(() => mongodbStoreAt(server().database(), shards))),
})

const damageIn = (url: string): RowDamage["Service"] => {
  const set = (row: Timer | FinishedLife, texts: Readonly<Record<string, string | null | undefined>>) =>
    Effect.promise(() =>
      inDatabase(url, async (db) => {
        const update: Document = { $set: {}, $unset: {} }
        for (const [column, text] of Object.entries(texts)) {
          if (text === null) update["$unset"][column] = ""
          else if (text !== undefined) update["$set"][column] = text
        }
        for (const operator of ["$set", "$unset"]) {
          if (Object.keys(update[operator]).length === 0) delete update[operator]
        }
        const filter = { namespace: row.namespace, timer_id: row.timerId }
        await db.collection("fireAt" in row ? "keys" : "lives").updateMany(filter, update)
      }),
    )
  return {
    damage: (row, texts) => set(row, { ...texts }),
    repair: (row) =>
      set(row, {
        spec: textOfSpec(row.spec),
        last_attempt: row.attemptLog === undefined ? null : textOfLog(row.attemptLog),
        tags: row.tags === undefined ? null : JSON.stringify(row.tags),
      }),
  }
}
