// A cluster on FerretDB, which speaks MongoDB's protocol. Every run kills one node; the matrix tries all faults.
import { clusterFaultsSuite } from "../../testkit/ClusterFaults.suite.ts"
import { clusterFaultsTried } from "../../testkit/effort.ts"
import { MongodbClusterStore } from "../../testkit/MongodbClusterStore.ts"

clusterFaultsSuite(MongodbClusterStore.kind, clusterFaultsTried)
