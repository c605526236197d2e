// The cluster as one node last saw it. Code that must find the owner of a shard asks only here, and gets the answer
// from memory. A request never waits for a read of the leases unless it asks for one.
import type { Effect } from "effect"
import type { PeerNode } from "../../ports/Peers.ts"

/** The last known state of the cluster, for code that must find an owner. */
export interface ClusterView {
  /**
   * The shard's owner. `undefined` if that is this node, if the shard is free, or if its owner has been silent for the
   * lease time.
   */
  ownerOf(shard: number): PeerNode | undefined
  /** This node itself. */
  readonly node: string
  /** Reads leases and members again soon. Concurrent calls share one read. */
  readonly refresh: Effect.Effect<void>
}

/** The cluster as this node sees it, for operators. */
export interface ClusterState {
  readonly node: string
  /** The time since this node last saw a member that does not sign its calls. Absent if it never saw one. */
  readonly unsignedAgeMs?: number
  readonly members: ReadonlyArray<{
    readonly node: string
    readonly address: string
    /** The time since this node first saw the member's last beat. */
    readonly beatAgeMs: number
    readonly isLeaving: boolean
    readonly isLive: boolean
    /** The node runs a release that does not sign calls between nodes. */
    readonly lacksSignatures?: true
  }>
  readonly shards: ReadonlyArray<{
    readonly shard: number
    /** Absent if the shard is free. */
    readonly owner?: string
    readonly epoch: number
    readonly isMine: boolean
    /** The age of the earliest due timer that is not settled. Only present if this node knows it. */
    readonly lagMs?: number
  }>
}
