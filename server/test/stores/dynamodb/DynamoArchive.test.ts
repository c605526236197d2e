// The archives and documents of the DynamoDB store, by the laws of their ports, and what is special about its archives:
// they are copied again if the store is written to meanwhile.
import { expect, test } from "bun:test"
import { Documents } from "@punctual/documents/Documents"
import { documentsSuite } from "@punctual/documents/testkit/Documents.suite"
import { Context, Effect, Layer } from "effect"
import { tablesAt } from "../../../src/stores/dynamodb/DynamoStore.ts"
import { dynamoKeeper, writtenState } from "../../../src/stores/dynamodb/dynamoKeeper.ts"
import { tableNamesOf } from "../../../src/stores/dynamodb/keys.ts"
import { dynamoMissing } from "../../../testkit/DynamoServer.ts"
import { describeNeeding } from "../../../testkit/describeUnless.ts"
import { dynamoDocumentsFixture, dynamoForTests, dynamoStore, placeOf } from "../../../testkit/dynamodb.ts"
import { owned } from "../../../testkit/StoreFixture.ts"
import { ArchiveOpening, timerArchiveSuite } from "../../../testkit/TimerArchive.suite.ts"
import { samplePut } from "../../../testkit/timers.ts"

describeNeeding(dynamoMissing(), "on DynamoDB Local", () => {
  const server = dynamoForTests()
  timerArchiveSuite({
    name: "dynamodb",
    fresh: ({ shards }) =>
      Layer.unwrap(
        Effect.sync(() => {
          const url = server().url()
          const open = dynamoKeeper(placeOf(url)).archive
          return Layer.merge(dynamoStore(url, { shards }), Layer.succeed(ArchiveOpening, { open }))
        }),
      ),
  })
  documentsSuite(
    dynamoDocumentsFixture("the DynamoDB store", server, (url) => dynamoStore(url, { shards: 1 })),
  )
  documentsSuite(
    dynamoDocumentsFixture("DynamoDB tables beside a service", server, (url) =>
      Layer.effect(
        Documents,
        Effect.andThen(Layer.build(dynamoStore(url, { shards: 1 })), dynamoKeeper(placeOf(url)).documents),
      ),
    ),
  )

  test("every write of a timer or a document changes what tells an archive that the store was written", async () => {
    const url = server().url()
    const place = placeOf(url)
    const database = { tables: tablesAt(place), names: tableNamesOf(place.prefix), shards: 2 }
    await Effect.runPromise(
      Effect.gen(function* () {
        const services = yield* Layer.build(dynamoStore(url, { shards: 2 }))
        const { write, store } = yield* Effect.provideContext(owned, services)
        const documents = Context.get(services, Documents)
        const writes: ReadonlyArray<Effect.Effect<unknown, { readonly message: string }>> = [
          Effect.provideContext(write([samplePut()]), services),
          store.insertIfAbsent(0, [samplePut()]),
          documents.put({ kind: "settings", id: "a", value: 1, expectedVersion: 0, updatedAt: 1 }),
        ]
        for (const change of writes) {
          const before = yield* Effect.promise(() => writtenState(database))
          yield* change
          expect(yield* Effect.promise(() => writtenState(database))).not.toBe(before)
        }
      }).pipe(Effect.scoped),
    )
  })

  test("an archive creates no tables where there are none", async () => {
    const { archive } = dynamoKeeper(placeOf(server().url()))
    const failure = await Effect.runPromise(Effect.scoped(Effect.flip(archive)))
    expect(failure.message).toContain("There is no store")
  })
})
