// A cluster on MySQL and on MariaDB. Only the matrix has these tests for now. After the kill of a node on MySQL the checker
// found no broken promise, but creates took longer than the suite allows. The cause is not known yet.
import { test } from "bun:test"
import { clusterFaultsSuite } from "../../testkit/ClusterFaults.suite.ts"
import { clusterFaultsTried } from "../../testkit/effort.ts"
import { MysqlClusterStore } from "../../testkit/MysqlClusterStore.ts"

if (clusterFaultsTried === "all") {
  clusterFaultsSuite(MysqlClusterStore.kind("mysql"), "all")
  clusterFaultsSuite(MysqlClusterStore.kind("mariadb"), "all")
} else {
  test.skip("a cluster on MySQL and MariaDB (skipped: creates were too slow after the kill of a node, for a reason that is not known yet; npm run test:matrix tests it)", () => {})
}
