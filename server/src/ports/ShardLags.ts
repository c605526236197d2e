// How far other nodes lag with their shards, which only the owner of a shard knows. This is for operators. It is
// separate from Peers, because no timer depends on it.
import { Context, type Effect } from "effect"
import type { PeerError, PeerNode } from "./Peers.ts"

export interface ShardLag {
  readonly shard: number
  /** The epoch of the ownership that is reported. */
  readonly epoch: number
  /** The age of the earliest due timer that is not settled. */
  readonly lagMs: number
}

export class ShardLags extends Context.Service<
  ShardLags,
  {
    /** The lags of the shards that the node owns. Bounded in time. */
    of(to: PeerNode): Effect.Effect<ReadonlyArray<ShardLag>, PeerError>
  }
>()("punctual/ports/ShardLags") {}
