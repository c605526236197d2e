// What a database must do for timers. A storage makes no decisions: stores/DecidingStore.ts looks at keys, decides, and
// commits changes that state what they expect to find.
//
// Laws. testkit/ShardStorage.suite.ts checks the fence, the order, expectations, refusals and looks of every adapter.
// testkit/TimerStore.suite.ts checks reads, damage and payloads through the store that uses it.
//  - Snapshot: `look` reads everything about a key as of one instant. The last life is the one with the highest
//    revision.
//  - Fence: a commit under an epoch that is not the shard's current one changes nothing and is answered with
//    `ownershipLost`. The fence conflicts with a claim: if a claim commits between the check and the commit, one of the
//    two fails. Only reading the epoch is not a fence.
//  - Order: a commit is accepted only if its number is higher than the last accepted number of its epoch. Otherwise it
//    changes nothing and is answered with `overtaken`. Numbers may have gaps. A claim starts again from 0. The number
//    is stored with the fence and lasts as long as the data written under it, unless the adapter can prove that no call
//    ever arrives late.
//  - Expectations: a change is executed only if everything that it expects is true at that moment. Otherwise the whole
//    change is skipped, and its index is in `missed`. Tallies and history are written only for rows that the same step
//    really changed.
//  - Atomicity: all executed changes of a commit become visible and durable in one step. A commit that fails
//    (StoreError) has an unknown result. Each commit of a call succeeds or fails on its own.
//  - Neighbours: a change that the database cannot store is in `refused`, and the others are executed.
//  - Order of reads: `due` pages are in (fireAt, fireId) order, `scan` pages in the order that the query names, ids and
//    names by their UTF-8 bytes. A page is short only if it is the last. A page of `due` can also end because of its
//    bytes, and says whether it is the last (TimerStore.ts).
//  - Damage: a row whose texts (spec, attempts) cannot be decoded is read like any other, at its place in every order,
//    with a spec that is `unreadable` (stores/SpecText.ts). Its columns are trusted.
//  - Payloads are bytes and are read back unchanged. A change that keeps the payload neither reads nor writes it.
//    Finished lives that are not dead letters have no payload. A dead letter can be removed, but never corrected. A
//    corrected life keeps its entry number.
//  - Words: `words` of a change lists the rows to remove from the index of words and the rows to add to it. The step
//    that executes the change does both, removals first. `scan` by word finds the timers or lives that the index names
//    and that are still stored at the place that the index names. Pruning removes a life's words with the life or
//    later.
import { Context, type Effect } from "effect"
import type { Buckets } from "../domain/bucketOf.ts"
import type { Known, Tally } from "../domain/Decision.ts"
import type {
  Attempt,
  FinishedLife,
  FinishedState,
  Target,
  Timer,
  TimerHead,
  TimerKey,
} from "../domain/Timer.ts"
import type { NamedLife } from "../domain/WriteItem.ts"
import type { WordChange } from "../domain/words.ts"
import type { DuePage, DueQuery, StoreError } from "./TimerStore.ts"

/** A key to look at, and the finished lives to read beside its last one. */
export interface Look {
  readonly key: TimerKey
  readonly lives?: ReadonlyArray<NamedLife>
  readonly withPayload: boolean
}

/**
 * The state of a pending row. Each write of a row changes at least one of these fields: an attempt changes `attempts`, a
 * postponement changes `revision`, a new arming changes `fireId`, a repeated schedule command changes `askedAt`.
 * `fireAt` follows from these fields and is not compared. It says where the row is in the order of due times.
 */
export type PendingState = Pick<Timer, "fireId" | "attempts" | "revision" | "askedAt" | "fireAt">

/** What a change expects to find under its key. An absent field is not checked. */
export interface Expectation {
  /** `null` expects no pending row. */
  readonly pending?: PendingState | null
  /** The fireId of the last finished life. `null` expects no finished life. Only set if no pending row is expected. */
  readonly last?: string | null
  /** The life to correct or remove, in this state. The state `null` expects that no life has this fireId. */
  readonly life?: NamedLife & { readonly state: FinishedState | null }
}

/** The change of one key. */
export interface KeyChange {
  readonly key: TimerKey
  readonly expects: Expectation
  /** The new pending row. `null` removes the row. Absent leaves it unchanged. */
  readonly pending?: Timer | null
  /** The spec is the stored one, and need not be written. */
  readonly keepsSpec?: true
  /** `keep` leaves the stored payload as it is; `write` stores the one of `pending`. */
  readonly payload: "keep" | "write"
  /** A finished life to add. If `expects.life` names its state, this life replaces that one. */
  readonly finished?: FinishedLife
  /** Removes the dead letter that `expects.life` names. */
  readonly removesLife?: true
  /** How the index of words changes for the key's rows. Absent if they have no words, or keep them. */
  readonly words?: WordChange
  readonly tally: Partial<Tally>
}

/** The changes of one shard. Each key occurs once. */
export interface Commit {
  readonly shard: number
  readonly epoch: number
  readonly number: number
  readonly changes: ReadonlyArray<KeyChange>
}

export type CommitAnswer =
  | {
      readonly result: "committed"
      /** Indexes of changes whose expectations were not met. */
      readonly missed: ReadonlyArray<number>
      readonly refused: ReadonlyArray<{ readonly index: number; readonly reason: string }>
    }
  | { readonly result: "ownershipLost" | "overtaken" }

/**
 * `due`: pending by (fireAt, fireId). `pendingId`: pending by timerId. `end`: finished lives of one state by
 * (finishedAt, entry number), where later lives have higher numbers. `finishedId`: finished lives by (timerId,
 * revision); lives in other states than the requested one may be among them. `word`: timers or lives of one state that
 * have a word, by (fireAt or finishedAt, fireId).
 */
export type ScanOrder = "due" | "pendingId" | "end" | "finishedId" | "word"

/** The place of a row in its order. */
export type SortKey =
  | readonly [fireAt: number, fireId: string]
  | readonly [timerId: string]
  | readonly [finishedAt: number, entry: number]
  | readonly [timerId: string, revision: number]
  | readonly [word: string, atMs: number, fireId: string]

/** A read along one order of one namespace or of one shard. */
export interface Scan {
  readonly order: ScanOrder
  /**
   * The name of a namespace, or the number of a shard. A scan of a shard reads all namespaces except reserved ones, and
   * only in the order `due`.
   */
  readonly namespace: string | number
  /** Required for finished lives. */
  readonly state?: FinishedState
  /** Required for the order by word. */
  readonly word?: string
  /** Bounds of fireAt or finishedAt, only for orders by time. */
  readonly inclusiveFromMs?: number
  readonly exclusiveUntilMs?: number
  /** Only this timerId, or bounds of it. Only for orders by id. */
  readonly timerId?: string
  readonly inclusiveFromId?: string
  readonly exclusiveUntilId?: string
  readonly isDescending: boolean
  readonly exclusiveAfter?: SortKey
  /** The answer also contains the details of each row. */
  readonly withDetails?: true
  readonly limit: number
}

/** Fields that filters check and that no index contains. A field is absent if its text cannot be decoded. */
export interface RowDetails {
  readonly target?: Target
  readonly lastAttempt?: Attempt
  readonly reason?: string
  readonly latenessMs?: number
}

/** The part of a row that filters need. */
export interface ScannedHead extends TimerKey {
  readonly place: SortKey
  readonly state: "pending" | FinishedState
  readonly fireId: string
  readonly revision: number
  /** fireAt or finishedAt. */
  readonly atMs: number
  readonly correlationId: string
  readonly tags?: ReadonlyArray<string>
  /** Only if the scan asks for them. */
  readonly details?: RowDetails
}

/** The result for one timer of `insertNew`: stored, skipped because its key is in use, or refused with the reason. */
export type Inserted = "stored" | "missed" | { readonly refused: string }

export class ShardStorage extends Context.Service<
  ShardStorage,
  {
    readonly limits: StorageLimits
    /** Called after a claim and before any other call under its epoch. It may be repeated. */
    open(shard: number, epoch: number): Effect.Effect<void, StoreError>
    /** In the order of the given keys. */
    look(looks: ReadonlyArray<Look>): Effect.Effect<ReadonlyArray<Known>, StoreError>
    /** At most one commit for each shard. */
    commit(commits: ReadonlyArray<Commit>): Effect.Effect<ReadonlyArray<CommitAnswer>, StoreError>
    /**
     * Inserts without a fence. Stores each timer whose key is unknown (no pending row, no finished life), counts it as
     * created, and increments the shard's `foreign` counter if any was stored. Optional.
     */
    readonly insertNew?: (
      shard: number,
      timers: ReadonlyArray<Timer>,
    ) => Effect.Effect<ReadonlyArray<Inserted>, StoreError>
    due(query: DueQuery): Effect.Effect<DuePage, StoreError>
    dueHeads(query: DueQuery): Effect.Effect<ReadonlyArray<TimerHead>, StoreError>
    /** One page for each scan, in the order of the scans. */
    scan(scans: ReadonlyArray<Scan>): Effect.Effect<ReadonlyArray<ReadonlyArray<ScannedHead>>, StoreError>
    /**
     * How many rows the scans would find together, up to the limit. Without this function, the store scans the rows.
     */
    readonly count?: (scans: ReadonlyArray<Scan>, limit: number) => Effect.Effect<number, StoreError>
    /**
     * How many rows the scans would find together in each bucket, or `undefined` if they would find more rows than the
     * limit. The scans are by time, and within the span of the buckets. Without this function, the store scans the rows.
     */
    readonly countByTime?: (
      scans: ReadonlyArray<Scan>,
      buckets: Buckets,
      limit: number,
    ) => Effect.Effect<ReadonlyArray<number> | undefined, StoreError>
    /**
     * The names of namespaces that have pending timers, history or dead letters, in order, without those that begin
     * with `_`.
     */
    namespaces(exclusiveAfter: string, limit: number): Effect.Effect<ReadonlyArray<string>, StoreError>
    /** Removes at most `limit` history entries that ended before this time, but never dead letters. */
    prune(exclusiveBeforeMs: number, limit: number): Effect.Effect<number, StoreError>
    /** Counts of armings by how they began and ended, over all shards, since the store was created. */
    readonly tally: Effect.Effect<Tally, StoreError>
  }
>()("punctual/ports/ShardStorage") {}

/** The limits of one commit, and how many commits may run at once. */
export interface StorageLimits {
  readonly batchItems: number
  readonly batchBytes: number
  readonly itemBytes: number
  readonly concurrentWrites: number
  /** How many shards one commit call may name. 1 if no transaction can span shards. */
  readonly shardsTogether: number
}
