// The MongoDB store's archives, by the laws of the port, and what only this one does: it refuses to read while others
// write.
import { expect, test } from "bun:test"
import { Effect, Layer } from "effect"
import { mongodbKeeper } from "../../../src/stores/mongodb/mongodbKeeper.ts"
import { describeFerret } from "../../../testkit/FerretBinaries.ts"
import { type CommandFate, MongoProxy } from "../../../testkit/MongoProxy.ts"
import { addressOf, ferretForTests, inDatabase, mongodbStoreAt } from "../../../testkit/mongodb.ts"
import { ArchiveOpening, timerArchiveSuite } from "../../../testkit/TimerArchive.suite.ts"

describeFerret("archives on FerretDB", () => {
  const server = ferretForTests()
  timerArchiveSuite({
    name: "mongodb (FerretDB)",
    fresh: ({ shards }) =>
      Layer.unwrap(
        Effect.sync(() => {
          const url = server().database()
          const open = mongodbKeeper(addressOf(url)).archive
          return Layer.merge(mongodbStoreAt(url, shards), Layer.succeed(ArchiveOpening, { open }))
        }),
      ),
  })

  const openingOf = (url: string) =>
    Effect.runPromise(Effect.scoped(Effect.flip(mongodbKeeper(addressOf(url)).archive)))

  test("no store is created where there is none", async () => {
    expect((await openingOf(server().database())).message).toContain("There is no store in")
  })

  test("an archive of a store that is written all the time is refused, and the error says what to do", async () => {
    const url = server().database()
    await Effect.runPromise(Effect.scoped(Layer.build(mongodbStoreAt(url, 1))))
    await using proxy = await MongoProxy.to(server().host, server().port)
    let reads = 0
    // Each time that the archive reads the documents, after the timers, another commit has been written.
    proxy.decide = async ({ name, collection }): Promise<CommandFate> => {
      if (name !== "find" || collection !== "documents") return "pass"
      reads++
      const increment = { $inc: { number: 1 } }
      await inDatabase(url, (db) => db.collection<{ _id: number }>("shards").updateOne({ _id: 0 }, increment))
      return "pass"
    }
    const failure = await openingOf(url.replace(`${server().host}:${server().port}`, proxy.address))
    expect(reads).toBe(5)
    expect(failure.message).toContain("stop the services")
  })
})
