import { documentsSuite } from "@punctual/documents/testkit/Documents.suite"
import { shardLeasesSuite } from "../../../testkit/ShardLeases.suite.ts"
import { shardStorageSuite } from "../../../testkit/ShardStorage.suite.ts"
import {
  editable,
  sqliteAt,
  sqliteFixture,
  sqliteStorageFixture,
  temporaryFolder,
} from "../../../testkit/sqlite.ts"
import { storeDocumentsFixture } from "../../../testkit/storeDocumentsFixture.ts"
import { timerStoreSuite } from "../../../testkit/TimerStore.suite.ts"

timerStoreSuite(sqliteFixture)
shardStorageSuite(sqliteStorageFixture)
shardLeasesSuite(sqliteFixture)
documentsSuite(
  storeDocumentsFixture("the SQLite store", () => {
    const { database: path, dispose } = temporaryFolder()
    return {
      open: () => sqliteAt(path, { shards: 1 }),
      edit: async (sql) => {
        using database = editable(path)
        database.run(sql)
      },
      dispose,
    }
  }),
)
