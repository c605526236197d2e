import { Documents } from "@punctual/documents/Documents"
import { documentsSuite } from "@punctual/documents/testkit/Documents.suite"
import { SQL } from "bun"
import { Effect, Layer } from "effect"
import { PostgresStore } from "../../../src/stores/postgres/PostgresStore.ts"
import { postgresKeeper } from "../../../src/stores/postgres/postgresKeeper.ts"
import { isEveryVersionTried } from "../../../testkit/effort.ts"
import { describePostgres, type PostgresKind } from "../../../testkit/PostgresBinaries.ts"
import { postgresFixture, postgresStorageFixture, serverForTests } from "../../../testkit/postgres.ts"
import { shardLeasesSuite } from "../../../testkit/ShardLeases.suite.ts"
import { shardStorageSuite } from "../../../testkit/ShardStorage.suite.ts"
import { storeDocumentsFixture } from "../../../testkit/storeDocumentsFixture.ts"
import { timerStoreSuite } from "../../../testkit/TimerStore.suite.ts"
import { timerStoreFiltersSuite } from "../../../testkit/TimerStoreFilters.suite.ts"
import { timerStoreModelSuite } from "../../../testkit/TimerStoreModel.suite.ts"

for (const kind of ["installed", "packaged"] satisfies ReadonlyArray<PostgresKind>) {
  describePostgres(kind, `on the ${kind} server`, () => {
    const server = serverForTests(kind)
    const fixture = postgresFixture(kind, server)
    if (kind === "packaged" || isEveryVersionTried) timerStoreSuite(fixture)
    else {
      // Most of what versions could do differently: every kind of write at random, and every kind of list.
      timerStoreModelSuite(fixture)
      timerStoreFiltersSuite(fixture)
    }
    shardStorageSuite(postgresStorageFixture(kind, server))
    shardLeasesSuite(fixture)
    const documentsOf = (name: string, open: (url: string) => Layer.Layer<Documents, unknown>) =>
      documentsSuite(
        storeDocumentsFixture(`${name} (${kind})`, () => {
          const { url, schema } = server().database()
          return {
            open: () => open(url),
            edit: async (text) => {
              await using sql = new SQL({ url: server().url, max: 1 })
              await sql.unsafe(`SET search_path TO ${schema}`)
              await sql.unsafe(text)
            },
            dispose: () => {},
          }
        }),
      )
    const storeOn = (url: string) => PostgresStore.layer({ url, shards: 1, connections: 8 })
    documentsOf("the PostgreSQL store", storeOn)
    documentsOf("a PostgreSQL schema beside a service", (url) =>
      Layer.effect(Documents, Effect.andThen(Layer.build(storeOn(url)), postgresKeeper(url).documents)),
    )
  })
}
