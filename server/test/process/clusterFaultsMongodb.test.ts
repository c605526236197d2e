import { clusterFaultsSuite } from "../../testkit/ClusterFaults.suite.ts"
import { clusterFaultsTried } from "../../testkit/effort.ts"
import { MongodbClusterStore } from "../../testkit/MongodbClusterStore.ts"

clusterFaultsSuite(MongodbClusterStore.kind, clusterFaultsTried)
