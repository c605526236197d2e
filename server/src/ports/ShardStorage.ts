// What a database must do for timers. A storage decides nothing: stores/DecidingStore.ts looks at keys, decides, and
// commits changes that say what they expect to find.
//
// Laws. testkit/ShardStorage.suite.ts checks the fence, the order, expectations, refusals and looks of every adapter.
// testkit/TimerStore.suite.ts checks reads, damage and payloads through the store that uses it.
//  - Snapshot: `look` reads all that it answers of a key as of one instant. The last life is the one with the highest
//    revision.
//  - Fence: a commit under an epoch that is not the shard's current one changes nothing and is answered
//    `ownershipLost`. The fence conflicts with a claim: if a claim commits between the check and the commit, one of
//    the two fails. Reading the epoch alone is not a fence.
//  - Order: a commit is accepted only if its number is higher than the last accepted number of its epoch. Otherwise it
//    changes nothing and is answered `overtaken`. Numbers may skip values. A claim starts again from 0. The number is
//    stored with the fence and lasts as long as what was written under it, unless the adapter can prove that no call
//    ever arrives late.
//  - Expectations: a change is carried out only if all that it expects holds at that moment. Otherwise the whole change
//    is left out and its index is answered as `missed`. Tallies and history are written only for rows that the same
//    step really changed.
//  - Atomicity: all changes of a commit that are carried out become visible and durable in one step. A commit that
//    fails (StoreError) has an unknown result. Commits of one call stand or fall each alone.
//  - Neighbours: a change that the database cannot hold is answered as `refused`, and the others are carried out.
//  - Order of reads: `due` pages are in (fireAt, fireId) order, `scan` pages in the order that the query names, ids
//    and names by their UTF-8 bytes. A page is short only if it is the last.
//  - Damage: a row whose texts (spec, attempts) cannot be decoded is read like any other, in its place in every order,
//    with a spec that is `unreadable` (stores/SpecText.ts). Its columns are trusted.
//  - Payloads are bytes and come back the same. A change that keeps the payload neither reads nor writes it. Finished
//    lives that are not dead letters carry no payload. A dead letter is removed, never corrected. A corrected life keeps
//    its entry number.
//  - Words: `words` of a change lists the rows that are removed from the index of words and the rows that are added to it. The
//    step that carries the change out does both, removals first. `scan` by word finds the timers or lives that the index
//    names and that are still stored, at the place that the index names. Pruning removes a life's words with the life or later.
import { Context, type Effect } from "effect"
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
import type { DueQuery, StoreError } from "./TimerStore.ts"

/** A key to look at, and the finished lives to read beside its last one. */
export interface Look {
  readonly key: TimerKey
  readonly lives?: ReadonlyArray<NamedLife>
  readonly withPayload: boolean
}

/** A pending row in a certain state: each write of a row changes at least one of these. */
export type PendingState = Pick<Timer, "fireId" | "attempts" | "revision" | "askedAt">

/** What a change expects to find under its key. What is absent is not checked. */
export interface Expectation {
  /** `null`: no pending row. */
  readonly pending?: PendingState | null
  /** The fireId of the last finished life; `null`: no finished life. Only set where no pending row is expected. */
  readonly last?: string | null
  /** The life that is corrected or removed, in this state; with the state `null`: no life has this fireId. */
  readonly life?: NamedLife & { readonly state: FinishedState | null }
}

/** What happens to one key. */
export interface KeyChange {
  readonly key: TimerKey
  readonly expects: Expectation
  /** The pending row from now on; `null` removes it; absent leaves it alone. */
  readonly pending?: Timer | null
  /** The spec is the stored one, and need not be written. */
  readonly keepsSpec?: true
  /** `keep` leaves the stored payload as it is; `write` stores the one of `pending`. */
  readonly payload: "keep" | "write"
  /** A finished life to add, or, if `expects.life` names its state, to put in the place of that life. */
  readonly finished?: FinishedLife
  /** Removes the dead letter that `expects.life` names. */
  readonly removesLife?: true
  /** How the change alters the words of the key's rows; absent if they have none, or keep them. */
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
      /** Indexes of changes that found something else than they expected. */
      readonly missed: ReadonlyArray<number>
      readonly refused: ReadonlyArray<{ readonly index: number; readonly reason: string }>
    }
  | { readonly result: "ownershipLost" | "overtaken" }

/**
 * `due`: pending by (fireAt, fireId). `pendingId`: pending by timerId. `end`: finished lives of one state by
 * (finishedAt, entry number), where later lives have higher numbers. `finishedId`: finished lives by
 * (timerId, revision); lives of other states than the one asked for may be among them. `word`: timers or lives of one state
 * that have a word, by (fireAt or finishedAt, fireId).
 */
export type ScanOrder = "due" | "pendingId" | "end" | "finishedId" | "word"

/** The place of a row in its order. */
export type SortKey =
  | readonly [fireAt: number, fireId: string]
  | readonly [timerId: string]
  | readonly [finishedAt: number, entry: number]
  | readonly [timerId: string, revision: number]
  | readonly [word: string, atMs: number, fireId: string]

/** A walk along one order of one namespace, or of a shard. */
export interface Scan {
  readonly order: ScanOrder
  /** A namespace by its name. A number is a shard: all namespaces but reserved ones, in the order `due` only. */
  readonly namespace: string | number
  /** Given for finished lives. */
  readonly state?: FinishedState
  /** Given in the order by word. */
  readonly word?: string
  /** Bounds of fireAt or finishedAt, in orders by time only. */
  readonly inclusiveFromMs?: number
  readonly exclusiveUntilMs?: number
  /** This timerId alone, or bounds of it, in orders by id only. */
  readonly timerId?: string
  readonly inclusiveFromId?: string
  readonly exclusiveUntilId?: string
  readonly isDescending: boolean
  readonly exclusiveAfter?: SortKey
  /** Answers the details of each row, too. */
  readonly withDetails?: true
  readonly limit: number
}

/** What filters look at that no index has. A text that cannot be decoded leaves its part out. */
export interface RowDetails {
  readonly target?: Target
  readonly lastAttempt?: Attempt
  readonly reason?: string
  readonly latenessMs?: number
}

/** What filters need of a row. */
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

/** What became of one timer of `insertNew`: stored, left out because its key is in use, or refused with the reason. */
export type Inserted = "stored" | "missed" | { readonly refused: string }

export class ShardStorage extends Context.Service<
  ShardStorage,
  {
    readonly limits: StorageLimits
    /** Called after a claim and before any other call under its epoch. It may be repeated. */
    open(shard: number, epoch: number): Effect.Effect<void, StoreError>
    /** In the order in which the keys are given. */
    look(looks: ReadonlyArray<Look>): Effect.Effect<ReadonlyArray<Known>, StoreError>
    /** At most one commit a shard. */
    commit(commits: ReadonlyArray<Commit>): Effect.Effect<ReadonlyArray<CommitAnswer>, StoreError>
    /**
     * Without a fence: stores each timer whose key is unknown (no pending row, no finished life), counts it as
     * created, and raises the shard's `foreign` counter if any was stored. A storage may lack it.
     */
    readonly insertNew?: (
      shard: number,
      timers: ReadonlyArray<Timer>,
    ) => Effect.Effect<ReadonlyArray<Inserted>, StoreError>
    due(query: DueQuery): Effect.Effect<ReadonlyArray<Timer>, StoreError>
    dueHeads(query: DueQuery): Effect.Effect<ReadonlyArray<TimerHead>, StoreError>
    /** A page of each scan, in the order of the scans. */
    scan(scans: ReadonlyArray<Scan>): Effect.Effect<ReadonlyArray<ReadonlyArray<ScannedHead>>, StoreError>
    /** How many rows the scans would find together, up to the limit. A storage that lacks it is scanned instead. */
    readonly count?: (scans: ReadonlyArray<Scan>, limit: number) => Effect.Effect<number, StoreError>
    /**
     * The names of namespaces that have pending timers, history or dead letters, in order; without those that begin
     * with `_`.
     */
    namespaces(exclusiveAfter: string, limit: number): Effect.Effect<ReadonlyArray<string>, StoreError>
    /** Removes at most `limit` history entries that ended before; never dead letters. */
    prune(exclusiveBeforeMs: number, limit: number): Effect.Effect<number, StoreError>
    /** Armings by beginning and end, over all shards, since the store was made. */
    readonly tally: Effect.Effect<Tally, StoreError>
  }
>()("punctual/ports/ShardStorage") {}

/** What one commit may hold at most, and how many may run at once. */
export interface StorageLimits {
  readonly batchItems: number
  readonly batchBytes: number
  readonly itemBytes: number
  readonly concurrentWrites: number
  /** How many shards one commit call may name; 1 where no transaction spans shards. */
  readonly shardsTogether: number
}
