import { Documents } from "@punctual/documents/Documents"
import { documentsSuite } from "@punctual/documents/testkit/Documents.suite"
import { Effect, Layer } from "effect"
import { mysqlKeeper } from "../../../src/stores/mysql/mysqlKeeper.ts"
import type { MysqlFlavour } from "../../../testkit/MysqlServer.ts"
import {
  describeMysql,
  mysqlFixture,
  mysqlForTests,
  mysqlStorageFixture,
  mysqlStoreAt,
  onNewDatabase,
  targetAt,
} from "../../../testkit/mysql.ts"
import { shardLeasesSuite } from "../../../testkit/ShardLeases.suite.ts"
import { shardStorageSuite } from "../../../testkit/ShardStorage.suite.ts"
import { storeDocumentsFixture } from "../../../testkit/storeDocumentsFixture.ts"
import { ArchiveOpening, timerArchiveSuite } from "../../../testkit/TimerArchive.suite.ts"
import { timerStoreSuite } from "../../../testkit/TimerStore.suite.ts"

for (const flavour of ["mysql", "mariadb", "tidb"] satisfies ReadonlyArray<MysqlFlavour>) {
  describeMysql(flavour, `on ${flavour}`, () => {
    const server = mysqlForTests(flavour)
    const fixture = mysqlFixture(flavour, server)
    timerStoreSuite(fixture)
    shardStorageSuite(mysqlStorageFixture(flavour, server))
    shardLeasesSuite(fixture)
    timerArchiveSuite({
      name: flavour,
      fresh: ({ shards }) =>
        onNewDatabase(server, ({ url }) =>
          Layer.merge(
            mysqlStoreAt(url, shards),
            Layer.succeed(ArchiveOpening, { open: mysqlKeeper(targetAt(url)).archive }),
          ),
        ),
    })
    const documentsOf = (name: string, open: (url: string) => Layer.Layer<Documents, unknown>) =>
      documentsSuite(
        storeDocumentsFixture(`${name} (${flavour})`, () => {
          const database = server().database()
          return {
            open: () =>
              Layer.unwrap(
                Effect.map(
                  Effect.promise(() => database),
                  ({ url }) => open(url),
                ),
              ),
            edit: async (text) => {
              await server().admin(`USE ${(await database).name}`, text)
            },
            dispose: () => {},
          }
        }),
      )
    const storeOn = (url: string) => mysqlStoreAt(url, 1)
    documentsOf("the store", storeOn)
    documentsOf("a database beside a service", (url) =>
      Layer.effect(
        Documents,
        Effect.andThen(Layer.build(storeOn(url)), mysqlKeeper(targetAt(url)).documents),
      ),
    )
  })
}
