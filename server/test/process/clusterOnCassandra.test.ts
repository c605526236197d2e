// A cluster on Cassandra, with every fault, in the matrix. Its server needs a core of its own: beside other tests it takes
// more than the ten seconds that the timers of a killed node may wait.
import { test } from "bun:test"
import { CassandraClusterStore } from "../../testkit/CassandraClusterStore.ts"
import { clusterFaultsSuite } from "../../testkit/ClusterFaults.suite.ts"
import { clusterFaultsTried } from "../../testkit/effort.ts"

if (clusterFaultsTried === "all") clusterFaultsSuite(CassandraClusterStore.kind, clusterFaultsTried)
else
  test.skip("a cluster under load on Cassandra (skipped: it runs in the matrix, on an idle machine)", () => {})
