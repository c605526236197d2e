// Who fires a shard. A lease is a counter that its owner keeps raising; whoever wants it watches the
// counter by its own monotonic clock, and claims by naming the epoch and the counter it watched. No
// wall clocks are compared, and the claim's new epoch fences every write of the owner before it.
//
// Laws, which testkit/ShardLeases.suite.ts checks for every adapter:
//  - A claim succeeds only under the epoch and counter it names, raises the epoch by at least one, and
//    of two claims that name the same pair one succeeds.
//  - After a claim, renewals and releases under an older epoch change nothing.
//  - A free shard (no node) is claimed like any other; a release frees it and keeps the epoch. A released shard cannot be
//    renewed; it must be claimed again.
//  - An adapter that can prove a predecessor dead frees its shards at once (a file lock can).
//  - `announce` raises the node's beat and keeps its address; a node that was retired joins anew. Members
//    serve the spreading of shards only: nothing is fenced by them. Where processes share a store, a name belongs to the
//    process that announced it first, until it is retired: an announcement by another process changes nothing.
import { Context, type Effect } from "effect"
import type { StoreError } from "./TimerStore.ts"

export interface Lease {
  readonly shard: number
  readonly epoch: number
  readonly counter: number
  /** Rises with every unfenced insert into the shard. */
  readonly foreign: number
  /** Absent: free. */
  readonly node?: string
}

/** A node that takes part. Whether it lives is judged by those who watch its beat, by their own clocks. */
export interface Member {
  readonly node: string
  /** Where the other nodes reach it. */
  readonly address: string
  readonly beat: number
  /** It drains: no shard is meant for it any more. */
  readonly isLeaving: boolean
}

export class ShardLeases extends Context.Service<
  ShardLeases,
  {
    /** Every shard of the store, in order. Their number is fixed when the store is made. */
    readonly owners: Effect.Effect<ReadonlyArray<Lease>, StoreError>
    /** The new lease, or nothing if another was quicker or is provably alive. */
    claim(expected: Lease, node: string): Effect.Effect<Lease | undefined, StoreError>
    /** For each, in order: its `foreign` counter, or nothing if the shard is free or the epoch is no longer its own. */
    renew(
      held: ReadonlyArray<{ readonly shard: number; readonly epoch: number }>,
    ): Effect.Effect<ReadonlyArray<{ readonly foreign: number } | undefined>, StoreError>
    release(shard: number, epoch: number): Effect.Effect<void, StoreError>
    /** False if the name belongs to another process. */
    announce(member: Omit<Member, "beat">): Effect.Effect<boolean, StoreError>
    /** In the order of their names. */
    readonly members: Effect.Effect<ReadonlyArray<Member>, StoreError>
    /** Forgets a node: itself when it stops, another that has been silent for long. */
    retire(node: string): Effect.Effect<void, StoreError>
  }
>()("punctual/ports/ShardLeases") {}
