import { describe, expect, test } from "bun:test"
import { Effect, Layer } from "effect"
import { MongoServerError } from "../../../../drivers/mongodb/mongodb.ts"
import { ShardStorage } from "../../../src/ports/ShardStorage.ts"
import { explainedMongodb } from "../../../src/stores/mongodb/failures.ts"
import { mongodbKeeper } from "../../../src/stores/mongodb/mongodbKeeper.ts"
import { openDatabase, whyUnfitMongodb } from "../../../src/stores/mongodb/openDatabase.ts"
import { makeCertificates } from "../../../testkit/Certificates.ts"
import { describeFerret } from "../../../testkit/FerretBinaries.ts"
import { FerretServer } from "../../../testkit/FerretServer.ts"
import { addressOf, ferretForTests, inDatabase, mongodbStoreAt } from "../../../testkit/mongodb.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"
import { TlsFront } from "../../../testkit/TlsFront.ts"

const failureOf = async (url: string, shards = 4): Promise<string> => {
  const opening = Effect.scoped(Layer.build(mongodbStoreAt(url, shards)))
  return (await Effect.runPromise(Effect.flip(opening))).message
}

describeFerret("opening a database on FerretDB", () => {
  const server = ferretForTests()

  test("a store is created once, and many nodes may open it at the same time", async () => {
    const address = addressOf(server().database())
    await Promise.all([1, 2, 3, 4].map(() => openDatabase(address, 8)))
    const report = await Effect.runPromise(
      Effect.scoped(
        Effect.flatMap(mongodbKeeper(address).examination(Date.now), ({ examine }) =>
          examine({ overdueBeforeMs: 0, overdueBeforeMsIfPaused: 0, isFull: false }),
        ),
      ),
    )
    expect(report).toMatchObject({ store: "mongodb", schemaVersion: 1, faults: [], unreadable: [] })
    expect(report.shards.map(({ shard }) => shard)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    expect(Math.abs(report.clockOffsetMs ?? Number.NaN)).toBeLessThan(60_000)
  })

  test("another number of shards is refused", async () => {
    const url = server().database()
    await openDatabase(addressOf(url), 8)
    expect(await failureOf(url, 4)).toContain("set TIMER_SHARDS to 8")
  })

  test("a newer store and a database of another program are refused and stay unchanged", async () => {
    const newer = server().database()
    await openDatabase(addressOf(newer), 4)
    await inDatabase(newer, (db) =>
      db.collection("meta").updateOne({ version: 1 }, { $set: { version: 99 } }),
    )
    expect(await failureOf(newer)).toContain("has schema version 99")
    const other = server().database()
    await inDatabase(other, (db) => db.collection("orders").insertOne({ amount: 1 }))
    expect(await failureOf(other)).toContain("of another program")
    const names = await inDatabase(other, (db) => db.listCollections().toArray())
    expect(names.map(({ name }) => name).filter((name) => name === "shards")).toEqual([])
  })

  test("migrate creates a store, says its version, and changes nothing the second time", async () => {
    const { schema } = mongodbKeeper(addressOf(server().database()))
    const [before, after] = await Effect.runPromise(
      Effect.gen(function* () {
        const { versions, migrate } = yield* schema(4)
        const first = yield* versions
        yield* migrate
        yield* migrate
        return [first, yield* versions]
      }).pipe(Effect.scoped),
    )
    expect(before).toEqual({ stored: 0, program: 1 })
    expect(after).toEqual({ stored: 1, program: 1 })
  })

  test("a server that is not there, or that does not speak TLS, is named with what to do, without the password", async () => {
    const gone = await failureOf("mongodb://user:secret@127.0.0.1:1/x")
    expect(gone).toContain("mongodb://…@127.0.0.1:1/x cannot be reached")
    const plain = await failureOf(`${server().database()}?tls=true`)
    expect(plain).toMatch(/cannot be reached/)
    for (const text of [gone, plain]) expect(text).not.toContain("secret")
  })

  test("TLS: a certificate is checked, and an unknown authority is refused with what to do", async () => {
    using folder = new TemporaryFolder()
    const certificates = makeCertificates(folder.path)
    await using front = await TlsFront.before(server(), certificates)
    const url = server()
      .database()
      .replace(/127\.0\.0\.1:\d+/, front.address)
    expect(await failureOf(`${url}?tls=true`)).toContain("tlsCAFile=<file>")
    await openDatabase(addressOf(`${url}?tls=true&tlsCAFile=${certificates.caFile}`), 4)
  })

  test("a wrong password is refused, and the error does not contain it", async () => {
    await using guarded = await FerretServer.start({ checksPasswords: true })
    const failure = await failureOf(`mongodb://nobody:secret@${guarded.host}:${guarded.port}/x`)
    expect(failure).toContain("refused the user or the password")
    expect(failure).not.toContain("secret")
  })

  test("a store whose shards are removed while it runs fails fatally", async () => {
    const url = server().database()
    const failed = await Effect.runPromise(
      Effect.gen(function* () {
        const storage = yield* ShardStorage
        yield* Effect.promise(() => inDatabase(url, (db) => db.collection("shards").deleteMany({})))
        return yield* Effect.flip(storage.commit([{ shard: 0, epoch: 1, number: 1, changes: [] }]))
      }).pipe(Effect.provide(mongodbStoreAt(url, 1)), Effect.scoped),
    )
    expect(failed).toMatchObject({ isFatal: true })
  })
})

describe("a server that is unfit", () => {
  const fit = {
    hello: { isWritablePrimary: true, setName: "rs0" },
    build: { version: "7.0.1", versionArray: [7, 0, 1, 0] },
    status: { storageEngine: { name: "wiredTiger", persistent: true } },
  }

  test("is refused for the setting that could lose timers, and a fit one is not", () => {
    expect(whyUnfitMongodb(fit)).toBeUndefined()
    expect(whyUnfitMongodb({ ...fit, status: undefined })).toBeUndefined()
    const old = { version: "5.0.9", versionArray: [5, 0, 9, 0] }
    expect(whyUnfitMongodb({ ...fit, build: old })).toContain("6.0 or newer")
    const ferret = { ...fit.build, ferretdb: { version: "v1.24.0" } }
    expect(whyUnfitMongodb({ ...fit, build: ferret })).toContain("FerretDB 2 or newer")
    expect(whyUnfitMongodb({ ...fit, hello: { isWritablePrimary: false } })).toContain("not a primary")
    const memory = { storageEngine: { name: "inMemory", persistent: false } }
    expect(whyUnfitMongodb({ ...fit, status: memory })).toContain("use wiredTiger")
  })

  test("a server without a journal or a user without rights is named with what to do", () => {
    const errorOf = (code: number, message: string) =>
      new MongoServerError({ message, errmsg: message, code })
    const journal = "cannot use 'j' option when a host does not have journaling enabled"
    expect(explainedMongodb(errorOf(2, journal), "here").message).toContain("Start it with a journal")
    const rights = explainedMongodb(errorOf(13, "not authorized on x"), "here").message
    expect(rights).toContain("the role readWrite")
  })
})
