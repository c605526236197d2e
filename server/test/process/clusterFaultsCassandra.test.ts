// A cluster on Cassandra. Every run kills one node; the matrix tries all faults.
import { CassandraClusterStore } from "../../testkit/CassandraClusterStore.ts"
import { clusterFaultsSuite } from "../../testkit/ClusterFaults.suite.ts"
import { clusterFaultsTried } from "../../testkit/effort.ts"

clusterFaultsSuite(CassandraClusterStore.kind, clusterFaultsTried)
