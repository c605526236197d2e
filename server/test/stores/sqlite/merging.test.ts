// The laws of the store, with layers of three moves: nearly every call meets a merge at another step. The matrix runs all
// suites in this way, `npm test` those about what is pending and in which order.
import { describe } from "bun:test"
import { isEveryCrashTried } from "../../../testkit/effort.ts"
import { shardStorageSuite } from "../../../testkit/ShardStorage.suite.ts"
import { mergingFixture, mergingStorageFixture } from "../../../testkit/sqlite.ts"
import { timerStoreSuite } from "../../../testkit/TimerStore.suite.ts"
import { timerStoreInsertsSuite } from "../../../testkit/TimerStoreInserts.suite.ts"
import { timerStoreModelSuite } from "../../../testkit/TimerStoreModel.suite.ts"
import { timerStoreReadsSuite } from "../../../testkit/TimerStoreReads.suite.ts"

if (isEveryCrashTried) timerStoreSuite(mergingFixture)
else {
  describe(`TimerStore: ${mergingFixture.name}`, () => {
    timerStoreInsertsSuite(mergingFixture)
    timerStoreReadsSuite(mergingFixture)
    timerStoreModelSuite(mergingFixture)
  })
}
shardStorageSuite(mergingStorageFixture)
