// How far other nodes lag with their shards: only the owner of a shard knows. For operators; apart from Peers, because
// no timer depends on it.
import { Context, type Effect } from "effect"
import type { PeerError, PeerNode } from "./Peers.ts"

export interface ShardLag {
  readonly shard: number
  /** Of the ownership that it is told of. */
  readonly epoch: number
  /** The age of the earliest due timer that is not settled. */
  readonly lagMs: number
}

export class ShardLags extends Context.Service<
  ShardLags,
  {
    /** Of the shards that the node owns. Bounded in time. */
    of(to: PeerNode): Effect.Effect<ReadonlyArray<ShardLag>, PeerError>
  }
>()("punctual/ports/ShardLags") {}
