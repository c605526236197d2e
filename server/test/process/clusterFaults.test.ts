// A cluster on PostgreSQL, with every fault in every run. The other databases have files of their own.
import { clusterFaultsSuite } from "../../testkit/ClusterFaults.suite.ts"
import { PostgresClusterStore } from "../../testkit/PostgresClusterStore.ts"

clusterFaultsSuite(PostgresClusterStore.kind, "all")
