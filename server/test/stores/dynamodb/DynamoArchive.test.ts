// The archives and documents of the DynamoDB store, by the laws of their ports, and what is special about its archives:
// they fail if the store is written to.
import { expect, test } from "bun:test"
import { Documents } from "@punctual/documents/Documents"
import { documentsSuite } from "@punctual/documents/testkit/Documents.suite"
import { Context, Effect, Layer } from "effect"
import { DynamoArchive } from "../../../src/stores/dynamodb/DynamoArchive.ts"
import { DynamoKeeper } from "../../../src/stores/dynamodb/DynamoKeeper.ts"
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
    instantSkipped: "DynamoDB has no snapshots; the archive of a store that is written to fails",
    fresh: ({ shards }) =>
      Layer.unwrap(
        Effect.sync(() => {
          const url = server().url()
          const open = DynamoArchive.open(placeOf(url))
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
        Effect.andThen(Layer.build(dynamoStore(url, { shards: 1 })), DynamoKeeper.documents(placeOf(url))),
      ),
    ),
  )

  test("an archive fails if a timer or a document of it is written after it was opened", async () => {
    const url = server().url()
    await Effect.runPromise(
      Effect.gen(function* () {
        const services = yield* Layer.build(dynamoStore(url, { shards: 2 }))
        const { write, store } = yield* Effect.provideContext(owned, services)
        const documents = Context.get(services, Documents)
        yield* Effect.provideContext(write([samplePut(), samplePut()]), services)
        const changes = [
          Effect.provideContext(write([samplePut()]), services),
          store.insertIfAbsent(0, [samplePut()]),
        ]
        for (const change of changes) {
          const archive = yield* DynamoArchive.open(placeOf(url))
          yield* archive.page(undefined, 1)
          yield* change
          const failure = yield* Effect.flip(archive.page(undefined, 1))
          expect(failure.message).toContain("stop all services")
        }
        const archive = yield* DynamoArchive.open(placeOf(url))
        yield* documents.put({ kind: "settings", id: "a", value: 1, expectedVersion: 0, updatedAt: 1 })
        expect((yield* Effect.flip(archive.documents("settings", 0, 10))).message).toContain(
          "stop all services",
        )
        expect((yield* archive.documents("other", 0, 10)).length).toBe(0)
      }).pipe(Effect.scoped),
    )
  })

  test("an archive creates no tables where there are none", async () => {
    const failure = await Effect.runPromise(Effect.flip(DynamoArchive.open(placeOf(server().url()))))
    expect(failure.message).toContain("There is no store")
  })
})
