// The other nodes of the cluster. If a write reaches a node that does not own its shard, the node forwards it to the
// owner unchanged, with ids and instants. If the result is unknown, the write is forwarded again with a mark. The mark
// makes the repeat harmless, no matter what others have written in between.
//
// Laws:
//  - `write` answers each item, in order, with the owner's own answer or with the reason why the owner refused it. A
//    timer or life in an answer may lack its payload, unless the item itself armed it.
//  - A failure says whether the items certainly did not arrive (`isUndelivered`: there was no connection, or the peer
//    refused the call before reading it) or may have been executed (a timeout, a broken connection).
//  - If a caller has given up on a write, the write does nothing once a later call of that caller has arrived.
//    Otherwise the first copy of a write could follow its repeat.
//  - Only the intended node answers. Another node at the same address, perhaps of another cluster, refuses. It would
//    write into another store, and its answer would be mistaken for the owner's.
//  - Every call is bounded in time and in size.
import { Context, type Effect, Schema } from "effect"
import type { Target, TimerKey } from "../domain/Timer.ts"
import type { FiringStatus } from "../domain/Waiting.ts"
import type { Cancel, Change, Discard, Put, Replay, Schedule, WriteAnswer } from "../domain/WriteItem.ts"

/** Another node and its address. */
export interface PeerNode {
  readonly node: string
  readonly address: string
  /** The node runs a release that does not sign calls, and recognises other nodes only by the secret itself. */
  readonly lacksSignatures?: true
}

/** The items that may be forwarded. Outcomes and records belong to the owner. The owner fills in `inFlight`. */
export type CarriedItem = Put | Change | Cancel | Schedule | Replay | Discard

export type CarriedAnswer =
  | { readonly kind: "answered"; readonly answer: WriteAnswer }
  /** The peer does not own the shard (any more), so the caller must find the owner. Nothing was done. */
  | { readonly kind: "notOwner" }
  /** The peer owns the shard but cannot accept the write now. Nothing was done. */
  | { readonly kind: "overloaded"; readonly retryAfterMs: number }
  /** The peer accepted the write and lost the shard before it knew the result. The write may have been executed. */
  | { readonly kind: "unknown" }

/** A pending timer that its owner is asked about. The owner may not have it in memory. */
export interface AskedTimer extends Omit<TimerKey, "timerId"> {
  readonly fireId: string
  readonly fireAt: number
  readonly updatedAt: number
  readonly targetType: Target["type"]
  /** What its attempts are counted by, beside the namespace. */
  readonly host: string
}

export class PeerError extends Schema.TaggedError<PeerError>()("PeerError", {
  message: Schema.String,
  isUndelivered: Schema.Boolean,
}) {}

export class Peers extends Context.Service<
  Peers,
  {
    write(
      to: PeerNode,
      items: ReadonlyArray<CarriedItem>,
    ): Effect.Effect<ReadonlyArray<CarriedAnswer>, PeerError>
    /** For each timer, in order: the status that its owner reports. */
    firing(
      to: PeerNode,
      timers: ReadonlyArray<AskedTimer>,
    ): Effect.Effect<ReadonlyArray<FiringStatus>, PeerError>
    /** Tells the peer to look for released shards at once. Some may be assigned to it. */
    nudge(to: PeerNode): Effect.Effect<void, PeerError>
  }
>()("punctual/ports/Peers") {}
