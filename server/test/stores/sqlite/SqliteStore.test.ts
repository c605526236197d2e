import { namespaceStoreSuite } from "../../../testkit/NamespaceStore.suite.ts"
import { shardLeasesSuite } from "../../../testkit/ShardLeases.suite.ts"
import { sqliteFixture } from "../../../testkit/sqlite.ts"
import { timerStoreSuite } from "../../../testkit/TimerStore.suite.ts"

timerStoreSuite(sqliteFixture)
shardLeasesSuite(sqliteFixture)
namespaceStoreSuite(sqliteFixture)
