// A cluster on DynamoDB Local. Every run kills one node; the matrix tries all faults.
import { clusterFaultsSuite } from "../../testkit/ClusterFaults.suite.ts"
import { DynamoClusterStore } from "../../testkit/DynamoClusterStore.ts"
import { clusterFaultsTried } from "../../testkit/effort.ts"

clusterFaultsSuite(DynamoClusterStore.kind, clusterFaultsTried)
