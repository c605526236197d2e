// The store of timers, as the engine sees it. A store does not read a clock: it gets the time with its arguments.
// domain/decide.ts decides what an item does, once for all stores (stores/DecidingStore.ts).
//
// Laws, which testkit/TimerStore.suite.ts checks for every adapter:
//  - Order: `due` pages are in (fireAt, fireId) order, the engine's order. A page of heads is short only if it is the
//    last. A page of timers also ends with the timer that brings it to `duePageBytes`, and says whether it is the last.
//    A page that is not the last has at least one timer.
//  - Durability: an answered write survives a kill of the process.
//  - Fence: a batch under an epoch that is not the shard's current one changes nothing and is answered with
//    `ownershipLost`. The fence conflicts with a claim: if a claim commits between check and commit, one of the two
//    fails. Only reading the epoch is not a fence.
//  - Order of calls: a call that was given up may arrive late. Once the owner has made a later call for the shard, the
//    late one changes nothing. If a caller still waits for it, it is answered with `overtaken`.
//  - Each batch succeeds or fails on its own, and the items of a batch are applied in order. One item that cannot be
//    stored (`unstorable`) does not fail its neighbours.
//  - A refused batch (`ownershipLost`, `overtaken`) has changed nothing. If a part of a batch may have been written and
//    the rest cannot be, the call fails with a StoreError instead.
//  - A repeated write is harmless and gets the answer that it got, or would have got, the first time. This is true as
//    long as nobody else has written its key since. A marked repeat (`isRepeat`) is harmless in any case. If the store
//    cannot tell whether it was executed before, it does nothing and answers `unknown`. A discard leaves no trace, so
//    its repeat finds nothing.
//  - A restored item overwrites nothing. If an arming with the same fireId exists, pending or ended, the answer is
//    `present`. A key with other lives is answered with `differs`. Each restored arming is counted as created, and by
//    its end if it has one, so that the tally balances.
//  - Damage: a row whose texts cannot be decoded fails neither a page nor a write of other keys. `due` and `find`
//    return it at its place with a spec that is `unreadable`. Lists return it separately from their items, and counts
//    include it. A write that would change it, or answer with it, changes nothing and is answered with `unstorable` and
//    `isUnreadable`. No item with such a spec is stored.
//  - Payloads are bytes and are read back unchanged. A retry does not rewrite them. Delivered and cancelled lives in
//    history have no payload; dead letters keep theirs.
import { Context, type Effect, Schema } from "effect"
import type { Tally } from "../domain/Decision.ts"
import type { Cursor } from "../domain/DueOrder.ts"
import type { ErrorClass } from "../domain/errorClassOf.ts"
import type { FinishedLife, FinishedState, Timer, TimerHead, TimerKey } from "../domain/Timer.ts"
import type { InsertAnswer, NamedLife, Put, WriteAnswer, WriteItem } from "../domain/WriteItem.ts"
import type { StorageLimits } from "./ShardStorage.ts"

/**
 * A call that failed. If it was a write, its result is unknown: it may or may not have happened, and it is repeated
 * unchanged. A fatal error (I/O, corruption) ends the process instead, because nothing may be acknowledged after it.
 */
export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  message: Schema.String,
  isFatal: Schema.Boolean,
}) {}

/** No page of this query returned this cursor. This is an error of the caller, not of the store. */
export class InvalidCursor extends Schema.TaggedError<InvalidCursor>()("InvalidCursor", {
  message: Schema.String,
}) {}

export interface ShardBatch {
  readonly shard: number
  readonly epoch: number
  readonly items: ReadonlyArray<WriteItem>
  /** The caller knows that no two items have the same key, so the store need not check it. */
  readonly hasEachKeyOnce?: boolean
}

export type BatchAnswer =
  | {
      readonly result: "written"
      readonly answers: ReadonlyArray<WriteAnswer>
      /**
       * By the index of an item: the place of the pending row that the item replaced or removed. Outcomes are not among
       * them, because they name the row themselves. Absent if there is none.
       */
      readonly vacated?: ReadonlyMap<number, Cursor>
    }
  | { readonly result: "ownershipLost" | "overtaken" }

export interface DueQuery {
  readonly shard: number
  readonly exclusiveAfter: Cursor
  readonly inclusiveUntilMs: number
  readonly limit: number
  /** Only this namespace. */
  readonly only?: string
  /** All namespaces except these. */
  readonly except?: ReadonlyArray<string>
}

export interface DuePage {
  readonly timers: ReadonlyArray<Timer>
  /** The query matches no timer beyond this page. If false, there may be more. */
  readonly isLast: boolean
}

/** Both bounds apply to fireAt for pending timers, and to finishedAt for finished lives. */
export interface ListFilter {
  readonly inclusiveFromMs?: number
  readonly exclusiveUntilMs?: number
  readonly idPrefix?: string
  /** Only this id, with its lives in the order of their revisions, also over several states. Used instead of a prefix. */
  readonly timerId?: string
  readonly correlationId?: string
  /** Only timers and lives with this tag. */
  readonly tag?: string
  /** Only webhooks to this host, in the form that domain/isOnHost.ts takes. */
  readonly host?: string
  /** Only dead letters and cancelled timers with this reason. */
  readonly reason?: string
  /** Only those whose last attempt failed in this way. */
  readonly error?: ErrorClass
  /** Only deliveries that were at least this late, and pending timers that are overdue by at least as much at `nowMs`. */
  readonly minLateness?: { readonly ms: number; readonly nowMs: number }
}

export type ListedState = "pending" | FinishedState

/** Several namespaces, each at most once. A cursor is bound to the caller's request (`asked`), not to the names. */
export interface NamespaceSet {
  readonly asked: ReadonlyArray<string>
  readonly names: ReadonlyArray<string>
  /**
   * The number of shards to read instead of `names`. Then the list covers all namespaces except reserved ones, by due
   * time. Only for pending timers, and without `idPrefix`, `tag` and `correlationId`, whose indexes are by namespace.
   */
  readonly shards?: number
}

/** The rows to read: one or several namespaces, one or several states, each at most once. */
export interface ListScope {
  readonly namespace: string | NamespaceSet
  readonly state: ListedState | ReadonlyArray<ListedState>
}

export interface ListQuery extends ListFilter, ListScope {
  /**
   * Only pending timers: earliest first unless reversed. With finished lives: latest first unless reversed. By id: A
   * first unless reversed.
   */
  readonly reversed: boolean
  readonly includePayload: boolean
  /** Opaque: the `next` of an earlier page of the same query. */
  readonly cursor?: string
  readonly limit: number
}

export interface CountQuery extends ListFilter, ListScope {
  readonly limit: number
}

/** `capped`: there may be more, because counting stopped at the limit or at the limit of examined rows. */
export interface Counted {
  readonly count: number
  readonly capped: boolean
  /** How many rows were examined. Only present if a filter has no index (`host`, `reason`, `error`, `minLateness`). */
  readonly examined?: number
}

/** Counts rows by time, in equal parts of the span between the two bounds. */
export interface HistogramQuery extends ListFilter, ListScope {
  readonly inclusiveFromMs: number
  readonly exclusiveUntilMs: number
  readonly buckets: number
}

/** `capped`: counting stopped at the limit of examined rows. */
export interface CountedBuckets {
  /** As many as the query asks for. */
  readonly counts: ReadonlyArray<number>
  readonly examined: number
  readonly capped: boolean
  /** Only if counting stopped: all rows before this instant are counted. Absent if rows were read by id. */
  readonly exclusiveCountedUntilMs?: number
}

export type Listed =
  | { readonly state: "pending"; readonly timer: Timer }
  | { readonly state: FinishedState; readonly life: FinishedLife }

/** A page may be short or even empty and still have a `next`, because a rare match must not scan without a bound. */
export interface ListPage {
  /** How many rows were looked at; only where a filter has no index. */
  readonly examined?: number
  readonly items: ReadonlyArray<Listed>
  /** Matching rows that cannot be read. They are not among the items. */
  readonly unreadable?: ReadonlyArray<Listed>
  readonly next?: string
}

export interface Found {
  readonly pending: Timer | undefined
  readonly last: FinishedLife | undefined
  /** The life that the caller named, if it is stored. Absent if the caller named none. */
  readonly named?: FinishedLife | undefined
}

export class TimerStore extends Context.Service<
  TimerStore,
  {
    /** The limits of one `write`, and how many may run at once. */
    readonly limits: StorageLimits
    /** Called after a claim and before any other call under its epoch. It may be repeated. */
    open(shard: number, epoch: number): Effect.Effect<void, StoreError>
    /** Writes all batches in one commit, or in as few as the store can. At most one batch for each shard. */
    write(batches: ReadonlyArray<ShardBatch>): Effect.Effect<ReadonlyArray<BatchAnswer>, StoreError>
    due(query: DueQuery): Effect.Effect<DuePage, StoreError>
    dueHeads(query: DueQuery): Effect.Effect<ReadonlyArray<TimerHead>, StoreError>
    /**
     * Inserts without a fence, for a shard without a reachable owner. Stores each put whose key is unknown, and
     * increments the shard's `foreign` counter if it stored any. The other puts are answered with the timer that is
     * there, or with `needsOwner`. A late insert finds the current state of the key, and changes nothing.
     */
    insertIfAbsent(
      shard: number,
      puts: ReadonlyArray<Put>,
    ): Effect.Effect<ReadonlyArray<InsertAnswer>, StoreError>
    /** What is stored under the key at one instant. `life` also names a finished life to read. */
    find(key: TimerKey, life?: NamedLife): Effect.Effect<Found, StoreError>
    list(query: ListQuery): Effect.Effect<ListPage, StoreError | InvalidCursor>
    /** Counts up to `limit`. If there are more, `capped` is true. */
    count(query: CountQuery): Effect.Effect<Counted, StoreError>
    /** Counts by time. It examines a limited number of rows, those with the earliest times first. */
    histogram(query: HistogramQuery): Effect.Effect<CountedBuckets, StoreError>
    /**
     * The names of namespaces that have pending timers, history or dead letters, sorted bytewise, without those that
     * begin with `_`.
     */
    namespaces(exclusiveAfter: string, limit: number): Effect.Effect<ReadonlyArray<string>, StoreError>
    /** Removes at most `limit` history entries that ended before this time, but never dead letters. */
    prune(exclusiveBeforeMs: number, limit: number): Effect.Effect<number, StoreError>
    /** Counts of armings by how they began and ended, over all shards, since the store was created. */
    tally: Effect.Effect<Tally, StoreError>
  }
>()("punctual/ports/TimerStore") {}
