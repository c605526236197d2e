/**
 * `/cluster`: the nodes that share a store and the shards they fire, as the node that is asked sees them. For
 * operators: nothing that a timer's owner needs to know depends on it.
 */
import { Schema } from "effect"
import { Count } from "./Count.ts"
import { emptyBody } from "./emptyBody.ts"

export const GetCluster = emptyBody("GetCluster")

export type GetCluster = typeof GetCluster.Type

const ClusterNode = Schema.Struct({
  node: Schema.String,
  address: Schema.String.annotate({
    description: "Where the other nodes reach it; empty where there are none.",
  }),
  isLive: Schema.Boolean.annotate({
    description:
      "Whether its heartbeat has moved within the lease time, by the clock of the node that answers.",
  }),
  isLeaving: Schema.Boolean.annotate({ description: "It drains: its shards go to the others." }),
  heartbeatAgeMs: Count.annotate({
    description: "Since the node that answers first saw its present heartbeat.",
  }),
  shards: Count.annotate({ description: "How many shards it owns." }),
}).annotate({ identifier: "ClusterNode", description: "A node that shares the store." })

const ClusterShard = Schema.Struct({
  shard: Count,
  owner: Schema.optionalKey(
    Schema.String.annotate({ description: "The node that fires it; absent while it is free." }),
  ),
  epoch: Count.annotate({ description: "Rises with every claim, and fences the writes of owners before." }),
  lagMs: Schema.optionalKey(
    Count.annotate({
      description:
        "The age of the earliest due timer that is not settled, as its owner says; absent if that did not answer.",
    }),
  ),
}).annotate({ identifier: "ClusterShard", description: "A shard, and the node that fires its timers." })

export const ClusterAnswer = Schema.Struct({
  node: Schema.String.annotate({ description: "The node that answers." }),
  nodes: Schema.Array(ClusterNode),
  shards: Schema.Array(ClusterShard),
  clockOffsetMs: Schema.optionalKey(
    Schema.Int.annotate({
      description: "How far this node's clock is ahead of the database's; negative if it is behind.",
    }),
  ),
}).annotate({ identifier: "ClusterAnswer", description: "The cluster as one of its nodes sees it." })

export type ClusterAnswer = typeof ClusterAnswer.Type
