/**
 * `/cluster`: the nodes that share a store and the shards they fire, as the node that answers sees them. It is for
 * operators; callers do not need it.
 */
import { Schema } from "effect"
import { Count } from "./Count.ts"
import { emptyBody } from "./emptyBody.ts"

export const GetCluster = emptyBody("GetCluster")

export type GetCluster = typeof GetCluster.Type

const ClusterNode = Schema.Struct({
  node: Schema.String,
  address: Schema.String.annotate({
    description: "The address at which other nodes reach it; empty if there is only one node.",
  }),
  isLive: Schema.Boolean.annotate({
    description:
      "Whether its heartbeat changed within the lease time, by the clock of the node that answers.",
  }),
  isLeaving: Schema.Boolean.annotate({
    description: "The node is draining: its shards move to other nodes.",
  }),
  heartbeatAgeMs: Count.annotate({
    description: "The time since the node that answers first saw this heartbeat.",
  }),
  shards: Count.annotate({ description: "How many shards it owns." }),
}).annotate({ identifier: "ClusterNode", description: "A node that shares the store." })

const ClusterShard = Schema.Struct({
  shard: Count,
  owner: Schema.optionalKey(
    Schema.String.annotate({
      description: "The node that fires the timers of the shard; absent while no node owns it.",
    }),
  ),
  epoch: Count.annotate({
    description: "Grows with every claim of the shard, and fences off the writes of earlier owners.",
  }),
  lagMs: Schema.optionalKey(
    Count.annotate({
      description:
        "How long the earliest unsettled due timer has been due, as the owner says; absent if the owner did not answer.",
    }),
  ),
}).annotate({ identifier: "ClusterShard", description: "A shard, and the node that fires its timers." })

export const ClusterAnswer = Schema.Struct({
  node: Schema.String.annotate({ description: "The node that answers." }),
  nodes: Schema.Array(ClusterNode),
  shards: Schema.Array(ClusterShard),
  clockOffsetMs: Schema.optionalKey(
    Schema.Int.annotate({
      description:
        "How far the clock of this node is ahead of the clock of the database; negative if it is behind.",
    }),
  ),
}).annotate({ identifier: "ClusterAnswer", description: "The cluster as one of its nodes sees it." })

export type ClusterAnswer = typeof ClusterAnswer.Type
