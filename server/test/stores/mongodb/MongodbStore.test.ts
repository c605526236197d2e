import { Documents } from "@punctual/documents/Documents"
import { documentsSuite } from "@punctual/documents/testkit/Documents.suite"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { describeFerret } from "../../../testkit/FerretBinaries.ts"
import {
  ferretForTests,
  inDatabase,
  mongodbFixture,
  mongodbStorageFixture,
  mongodbStoreAt,
} from "../../../testkit/mongodb.ts"
import { shardLeasesSuite } from "../../../testkit/ShardLeases.suite.ts"
import { shardStorageSuite } from "../../../testkit/ShardStorage.suite.ts"
import { timerStoreSuite } from "../../../testkit/TimerStore.suite.ts"

describeFerret("on FerretDB", () => {
  const server = ferretForTests()
  const fixture = mongodbFixture(server)
  timerStoreSuite(fixture)
  shardStorageSuite(mongodbStorageFixture(server))
  shardLeasesSuite(fixture)
  documentsSuite({
    name: "the MongoDB store",
    fresh: Effect.gen(function* () {
      const url = server().database()
      const first = yield* Scope.make()
      yield* Effect.addFinalizer(() => Scope.close(first, Exit.void))
      const services = yield* Layer.buildWithScope(mongodbStoreAt(url, 1), first)
      return {
        documents: Context.get(services, Documents),
        damage: (kind, id, json) =>
          Effect.promise(() =>
            inDatabase(url, (db) => db.collection("documents").updateOne({ kind, id }, { $set: { json } })),
          ),
        reopened: Scope.close(first, Exit.void).pipe(
          Effect.andThen(Layer.build(mongodbStoreAt(url, 1))),
          Effect.map(Context.get(Documents)),
        ),
      }
    }),
  })
})
