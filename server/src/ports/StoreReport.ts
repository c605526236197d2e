// The report about a store as of one instant. It is made by reading only, so that a service can run on the store
// meanwhile. All counts are counted from the rows. The sums that a store keeps are reported beside them, and the caller
// judges whether the two agree.
import type { Effect } from "effect"
import type { Tally } from "../domain/Decision.ts"
import type { SealedSecret, ServicePause } from "../domain/NamespaceSettings.ts"
import type { Attempt } from "../domain/Timer.ts"
import type { StoreError } from "./TimerStore.ts"

/** The rows of a shard, by state. */
export interface ShardRows {
  readonly pending: number
  readonly delivered: number
  readonly cancelled: number
  readonly dead: number
}

export interface ShardReport {
  readonly shard: number
  readonly epoch: number
  /** The node that claimed the shard last and has not released it. It may be dead. */
  readonly node?: string
  /** The sums that the store keeps with each write. */
  readonly tally: Tally
  readonly rows: ShardRows
}

export interface OverdueTimer {
  readonly namespace: string
  readonly timerId: string
  readonly fireAt: number
  readonly attempts: number
  readonly lastAttempt?: Attempt
}

/** Unreadable rows. They stay unchanged, and everything else continues without them. */
export interface UnreadableRows {
  /** Lives are history and dead letters. */
  readonly what: "settings" | "timers" | "lives"
  readonly count: number
  /** The names of at most ten of them, for timers and lives with what is wrong. */
  readonly named: ReadonlyArray<string>
}

/** How many pending timers have webhooks to one scheme, host and port. */
export interface TargetCount {
  /** Without path and query, which may contain secrets. */
  readonly url: string
  readonly count: number
}

/** Namespaces that have webhook secrets. */
export interface SealedSecrets {
  readonly namespaces: number
  /** A secret of some of them, at most ten, to try a key on. */
  readonly samples: ReadonlyArray<{ readonly namespace: string; readonly secret: SealedSecret }>
}

export interface StoreReport {
  /** The name of its adapter. */
  readonly store: string
  readonly schemaVersion: number
  /** The version that this program reads and writes. */
  readonly programVersion: number
  readonly shards: ReadonlyArray<ShardReport>
  readonly sizes: ReadonlyArray<{ readonly name: string; readonly bytes: number }>
  readonly overdue: { readonly count: number; readonly worst: ReadonlyArray<OverdueTimer> }
  /** The namespaces with the most dead letters, at most ten. */
  readonly deadByNamespace: ReadonlyArray<{ readonly namespace: string; readonly count: number }>
  /** How far the file's structure was checked. A database server checks its own. */
  readonly integrity: "quick" | "full" | "notChecked"
  /** What is wrong with the structure, one sentence each, at most a hundred. */
  readonly faults: ReadonlyArray<string>
  readonly unreadable: ReadonlyArray<UnreadableRows>
  /** The targets with the most pending timers, at most a hundred. */
  readonly targets: ReadonlyArray<TargetCount>
  /** How far the clock of this machine is ahead of the database's clock. */
  readonly clockOffsetMs?: number
  readonly pause?: ServicePause
  readonly sealed?: SealedSecrets
}

export interface ExamineOptions {
  /** Pending timers that were due before this time count as overdue. */
  readonly overdueBeforeMs: number
  /** The same time while all firing is paused, when no timer is about to fire. */
  readonly overdueBeforeMsIfPaused: number
  /** Checks the whole structure, including indexes. This may take long. */
  readonly isFull: boolean
}

/** A store that can be examined until the scope in which it was opened closes. */
export interface StoreExamination {
  examine(options: ExamineOptions): Effect.Effect<StoreReport, StoreError>
}

/** How many of the worst or largest entries are named. */
export const namedMost = 10

/** How many targets of pending timers are reported. */
export const targetsMost = 100

/** How many faults of the structure are named. */
export const faultsMost = 100
