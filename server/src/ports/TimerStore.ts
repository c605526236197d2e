// Where timers live. A store is told, never asked to know: `now` comes in with what it is given, and
// decisions are domain/decide.ts or their equal.
//
// Laws, which testkit/TimerStore.suite.ts checks for every adapter:
//  - Order: `due` pages are in (fireAt, fireId) order, the engine's order. A page is short only if it is
//    the last.
//  - Durability: an answered write survives a kill of the process.
//  - Fence: a batch under an epoch that is not the shard's current one changes nothing and is answered
//    `ownershipLost`. The fence conflicts with a claim: if a claim commits between check and commit,
//    one of the two fails. A mere read of the epoch is not a fence.
//  - Order of calls: a batch whose number is not above the last one taken under its epoch changes nothing and is
//    answered `overtaken`. A call that was given up may lie on the way for long: once the owner has made the next,
//    it does nothing. A claim begins anew. Whether a number was taken is decided with the fence, and as lasting as
//    what was written under it; a store whose calls can be overtaken by no others need only remember it while it runs.
//  - Batches stand or fall each alone, items of a batch apply in order, and one item that cannot be
//    stored (`unstorable`) does not fail its neighbours.
//  - A repeated write is harmless and gets the answer it got, or would have got, at first. That holds as long as nobody
//    else has written its key since; one that is marked (`isRepeat`) is harmless whatever was written, and is
//    answered `unknown`, with nothing done, where nothing tells any more whether it was done before. A discard leaves no
//    trace: again it finds nothing.
//  - Payloads are bytes and come back the same. A retry does not rewrite them. History keeps none of
//    what was delivered or cancelled; dead letters keep theirs.
import { Context, type Effect, Schema } from "effect"
import type { Cursor } from "../domain/DueOrder.ts"
import type { Tally } from "../domain/decide.ts"
import type { FinishedLife, FinishedState, Timer, TimerHead, TimerKey } from "../domain/Timer.ts"
import type { InsertAnswer, Put, WriteAnswer, WriteItem } from "../domain/WriteItem.ts"

/**
 * A call that failed. Of a write the result is then unknown: it may or may not have happened, and is
 * repeated as it was. A fatal error (I/O, corruption) ends the process instead: nothing may be
 * acknowledged after it.
 */
export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  message: Schema.String,
  isFatal: Schema.Boolean,
}) {}

/** A cursor that no page of this query answered: the caller's mistake, not the store's. */
export class InvalidCursor extends Schema.TaggedError<InvalidCursor>()("InvalidCursor", {
  message: Schema.String,
}) {}

export interface ShardBatch {
  readonly shard: number
  readonly epoch: number
  /** Counts the owner's calls of this shard under this epoch, from 1 on; a repeat is a call of its own. */
  readonly number: number
  readonly items: ReadonlyArray<WriteItem>
}

export type BatchAnswer =
  | { readonly result: "written"; readonly answers: ReadonlyArray<WriteAnswer> }
  | { readonly result: "ownershipLost" | "overtaken" }

export interface DueQuery {
  readonly shard: number
  readonly exclusiveAfter: Cursor
  readonly inclusiveUntilMs: number
  readonly limit: number
  /** Of this namespace only. */
  readonly only?: string
  /** Of all namespaces but these. */
  readonly except?: ReadonlyArray<string>
}

/** Both bounds are of fireAt for pending timers, of finishedAt for finished lives. */
export interface ListFilter {
  readonly inclusiveFromMs?: number
  readonly exclusiveUntilMs?: number
  readonly idPrefix?: string
  /** Of this id alone, its lives in the order of their revisions; in place of a prefix. */
  readonly timerId?: string
  readonly correlationId?: string
}

export interface ListQuery extends ListFilter {
  readonly namespace: string
  readonly state: "pending" | FinishedState
  /** Pending: earliest first unless reversed; finished: latest first unless reversed; by id: A first. */
  readonly reversed: boolean
  readonly includePayload: boolean
  /** Opaque: what an earlier page of the same query answered as `next`. */
  readonly cursor?: string
  readonly limit: number
}

export type Listed =
  | { readonly state: "pending"; readonly timer: Timer }
  | { readonly state: FinishedState; readonly life: FinishedLife }

/** A page may be short, even empty, with a `next`: a rare match must not scan without bound. */
export interface ListPage {
  readonly items: ReadonlyArray<Listed>
  readonly next?: string
}

export interface Found {
  readonly pending: Timer | undefined
  readonly last: FinishedLife | undefined
}

export class TimerStore extends Context.Service<
  TimerStore,
  {
    /** What one `write` may hold at most, and how many may be under way at once. */
    readonly limits: {
      readonly batchItems: number
      readonly batchBytes: number
      readonly itemBytes: number
      readonly concurrentWrites: number
    }
    /** One commit for all batches, or as few as the store can; at most one batch a shard. */
    write(batches: ReadonlyArray<ShardBatch>): Effect.Effect<ReadonlyArray<BatchAnswer>, StoreError>
    due(query: DueQuery): Effect.Effect<ReadonlyArray<Timer>, StoreError>
    dueHeads(query: DueQuery): Effect.Effect<ReadonlyArray<TimerHead>, StoreError>
    /**
     * Unfenced, for a shard with no owner in reach: stores each put of whose key nothing is known, answers
     * `exists` or `livedBefore` for the others, and raises the shard's `foreign` counter if it stored any.
     * However late it comes, what became of the key meanwhile has left a trace, and stays as it is.
     */
    insertIfAbsent(
      shard: number,
      puts: ReadonlyArray<Put>,
    ): Effect.Effect<ReadonlyArray<InsertAnswer>, StoreError>
    find(key: TimerKey): Effect.Effect<Found, StoreError>
    list(query: ListQuery): Effect.Effect<ListPage, StoreError | InvalidCursor>
    /** Counts up to `limit`; one more is reported as `capped`. */
    count(
      query: ListFilter & Pick<ListQuery, "namespace" | "state"> & { readonly limit: number },
    ): Effect.Effect<{ readonly count: number; readonly capped: boolean }, StoreError>
    /** Removes at most `limit` history entries that ended before; never dead letters. */
    prune(exclusiveBeforeMs: number, limit: number): Effect.Effect<number, StoreError>
    /** Armings by beginning and end, over all shards, since the store was made. */
    tally: Effect.Effect<Tally, StoreError>
  }
>()("punctual/ports/TimerStore") {}
