// What one node last saw of the cluster. Whoever must find the owner of a shard asks here and nowhere else, and
// is told from memory: a request never waits for a read of the leases unless it asks for one.
import type { Effect } from "effect"
import type { PeerNode } from "../../ports/Peers.ts"

/** What this node last saw of the cluster, for those who must find an owner. */
export interface ClusterView {
  /** The shard's owner: undefined if that is this node, if it is free, or if its owner is silent for the lease time. */
  ownerOf(shard: number): PeerNode | undefined
  /** This node itself. */
  readonly node: string
  /** Reads leases and members again, soon; many calls at once are one read. */
  readonly refresh: Effect.Effect<void>
}

/** The cluster as this node sees it, for operators. */
export interface ClusterState {
  readonly node: string
  readonly members: ReadonlyArray<{
    readonly node: string
    readonly address: string
    /** Since its last beat was first seen here. */
    readonly beatAgeMs: number
    readonly isLeaving: boolean
    readonly isLive: boolean
  }>
  readonly shards: ReadonlyArray<{
    readonly shard: number
    /** Absent: free. */
    readonly owner?: string
    readonly epoch: number
    readonly isMine: boolean
    /** The age of the earliest due timer that is not settled; only where this node can tell. */
    readonly lagMs?: number
  }>
}
