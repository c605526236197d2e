// Runs the suites of the store's ports, and the tests of what only Cassandra has, on one Cassandra server, because its
// start takes 20 s.
import { documentsSuite } from "@punctual/documents/testkit/Documents.suite"
import { missingCassandra } from "../../../testkit/CassandraServer.ts"
import { cassandraFixture, cassandraForTests, cassandraStorageFixture } from "../../../testkit/cassandra.ts"
import { cassandraDocumentsFixture } from "../../../testkit/cassandraDocumentsFixture.ts"
import { describeNeeding } from "../../../testkit/describeUnless.ts"
import { shardLeasesSuite } from "../../../testkit/ShardLeases.suite.ts"
import { shardStorageSuite } from "../../../testkit/ShardStorage.suite.ts"
import { timerStoreSuite } from "../../../testkit/TimerStore.suite.ts"
import { commandTests } from "./commands.suite.ts"
import { fenceTests } from "./fence.suite.ts"
import { historyTests } from "./history.suite.ts"
import { tombstoneTests } from "./tombstones.suite.ts"

describeNeeding(missingCassandra(), "a store on Cassandra", () => {
  const server = cassandraForTests()
  timerStoreSuite(cassandraFixture(server))
  shardStorageSuite(cassandraStorageFixture(server))
  shardLeasesSuite(cassandraFixture(server))
  documentsSuite(cassandraDocumentsFixture(server))
  commandTests(server)
  fenceTests(server)
  historyTests(server)
  tombstoneTests(server)
})
