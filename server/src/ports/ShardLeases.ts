// Which node fires a shard. A lease is a counter that its owner keeps incrementing. A node that wants the shard watches
// the counter with its own monotonic clock. Its claim names the epoch and the counter that it watched. No wall clocks
// are compared. The new epoch of the claim fences every write of the previous owner.
//
// Laws, which testkit/ShardLeases.suite.ts checks for every adapter:
//  - A claim succeeds only under the epoch and counter that it names, and raises the epoch by at least one. Of two
//    claims that name the same pair, only one succeeds.
//  - After a claim, renewals and releases under an older epoch change nothing.
//  - A free shard (no node) is claimed like any other. A release frees it and keeps the epoch. A released shard cannot
//    be renewed; it must be claimed again.
//  - An adapter that can prove that the previous process is dead frees its shards at once (a file lock can prove it).
//  - `announce` increments the node's beat and stores its address. A retired node joins again. Members only serve to
//    distribute shards; they fence nothing.
//  - The name of a node belongs to one process. `announce` and `retire` change only the entry of their own process.
//    `retireSilent` removes an entry only if its process and its beat are those that the caller saw.
import { Context, type Effect } from "effect"
import type { StoreError } from "./TimerStore.ts"

export interface Lease {
  readonly shard: number
  readonly epoch: number
  readonly counter: number
  /** Increases with every unfenced insert into the shard. */
  readonly foreign: number
  /** Absent if the shard is free. */
  readonly node?: string
}

/** A participating node. The other nodes watch its beat with their own clocks to decide whether it is alive. */
export interface Member {
  readonly node: string
  /** The address at which other nodes reach it. */
  readonly address: string
  readonly beat: number
  /**
   * The process that has the name, as an opaque text. Empty if the store has only one process, or if a release that
   * did not store it wrote the entry.
   */
  readonly process: string
  /** The node is draining, so no shard is assigned to it any more. */
  readonly isLeaving: boolean
  /** A release that does not sign calls between nodes wrote the entry. */
  readonly lacksSignatures?: true
}

/** What a node says about itself. The store adds the rest. */
export type Announcement = Omit<Member, "beat" | "process" | "lacksSignatures">

/** Identifies one beat of one process. */
export type SeenBeat = Pick<Member, "node" | "process" | "beat">

export class ShardLeases extends Context.Service<
  ShardLeases,
  {
    /** Every shard of the store, in order. Their number is fixed when the store is created. */
    readonly owners: Effect.Effect<ReadonlyArray<Lease>, StoreError>
    /** Returns the new lease. `undefined` if another process was faster, or if the owner is provably alive. */
    claim(expected: Lease, node: string): Effect.Effect<Lease | undefined, StoreError>
    /** For each, in order: its `foreign` counter. `undefined` if the shard is free or has another epoch. */
    renew(
      held: ReadonlyArray<{ readonly shard: number; readonly epoch: number }>,
    ): Effect.Effect<ReadonlyArray<{ readonly foreign: number } | undefined>, StoreError>
    release(shard: number, epoch: number): Effect.Effect<void, StoreError>
    /** False if the name belongs to another process. */
    announce(member: Announcement): Effect.Effect<boolean, StoreError>
    /** Sorted by name. */
    readonly members: Effect.Effect<ReadonlyArray<Member>, StoreError>
    /** Removes this process's own node when it stops. If another process has the name now, nothing changes. */
    retire(node: string): Effect.Effect<void, StoreError>
    /** Removes a silent node. If it has sent a beat, or another process has the name now, nothing changes. */
    retireSilent(seen: SeenBeat): Effect.Effect<void, StoreError>
  }
>()("punctual/ports/ShardLeases") {}
