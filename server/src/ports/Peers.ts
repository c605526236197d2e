// The other nodes of the cluster. A write that lands on a node that does not own its shard is carried to the
// owner as the item it is, ids and instants included; carried again after an unknown result it is marked as a repeat,
// so that carrying it twice is harmless, even if others have written in between.
//
// Laws:
//  - `write` answers each item in order with the owner's own answer, or with why the owner refused it. What an answer
//    tells of a timer or a life may come without its payload, unless the item itself has armed it.
//  - A failure says whether the items surely did not arrive (`isUndelivered`: no connection could be made, or the
//    peer refused the call before reading it) or may have been done (a time-out, a connection that broke off).
//  - A write that its caller has given up does nothing once a later call of that caller has arrived: the repeat of a
//    write must not be followed by its first copy.
//  - Only the node that is meant answers. Another that is found at its address, one of another cluster perhaps, refuses
//    to: it would write into another store, and its word would be taken for the owner's.
//  - Every call is bounded in time and in size.
import { Context, type Effect, Schema } from "effect"
import type { Target, TimerKey } from "../domain/Timer.ts"
import type { FiringStatus } from "../domain/Waiting.ts"
import type { Cancel, Change, Discard, Put, Replay, Schedule, WriteAnswer } from "../domain/WriteItem.ts"

/** Another node, and where it is reached. */
export interface PeerNode {
  readonly node: string
  readonly address: string
}

/** What may be carried: outcomes and records are the owner's own. `inFlight` is filled in by the owner. */
export type CarriedItem = Put | Change | Cancel | Schedule | Replay | Discard

export type CarriedAnswer =
  | { readonly kind: "answered"; readonly answer: WriteAnswer }
  /** The peer does not own the shard (any more): ask who does. Nothing was done. */
  | { readonly kind: "notOwner" }
  /** The peer owns it and cannot take the write now. Nothing was done. */
  | { readonly kind: "overloaded"; readonly retryAfterMs: number }
  /** The peer took it and lost the shard before it knew the result: it may have been done. */
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
    /** For each in order, what its owner says about it. */
    firing(
      to: PeerNode,
      timers: ReadonlyArray<AskedTimer>,
    ): Effect.Effect<ReadonlyArray<FiringStatus>, PeerError>
    /** Tells the peer to look at once for released shards: some may be its own. */
    nudge(to: PeerNode): Effect.Effect<void, PeerError>
  }
>()("punctual/ports/Peers") {}
