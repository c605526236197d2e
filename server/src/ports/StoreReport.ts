// What a store says of itself when it is examined: as of one instant, by reading only, so that a service may run on it
// meanwhile. Everything that is counted here is counted from the rows; what a store keeps as sums stands beside it, and
// whether the two agree is judged by whoever asks.
import type { Effect } from "effect"
import type { Tally } from "../domain/Decision.ts"
import type { SealedSecret, ServicePause } from "../domain/NamespaceSettings.ts"
import type { Attempt } from "../domain/Timer.ts"
import type { StoreError } from "./TimerStore.ts"

/** Rows of a shard, by what they stand for. */
export interface ShardRows {
  readonly pending: number
  readonly delivered: number
  readonly cancelled: number
  readonly dead: number
}

export interface ShardReport {
  readonly shard: number
  readonly epoch: number
  /** Whoever claimed it last and has not released it: it may be dead. */
  readonly node?: string
  /** What the store has summed up, write by write. */
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

/** Rows that cannot be read. They stay as they are, and everything else goes on without them. */
export interface UnreadableRows {
  /** Lives are history and dead letters. */
  readonly what: "settings" | "timers" | "lives"
  readonly count: number
  /** Some of them by name, timers and lives with what is wrong with them, at most ten. */
  readonly named: ReadonlyArray<string>
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
  /** The one that this program reads and writes. */
  readonly programVersion: number
  readonly shards: ReadonlyArray<ShardReport>
  readonly sizes: ReadonlyArray<{ readonly name: string; readonly bytes: number }>
  readonly overdue: { readonly count: number; readonly worst: ReadonlyArray<OverdueTimer> }
  /** Those with the most, at most ten. */
  readonly deadByNamespace: ReadonlyArray<{ readonly namespace: string; readonly count: number }>
  /** How far the file's structure was checked; a database server looks after its own. */
  readonly integrity: "quick" | "full" | "notChecked"
  /** What is wrong with the structure, one sentence each, at most a hundred. */
  readonly faults: ReadonlyArray<string>
  readonly unreadable: ReadonlyArray<UnreadableRows>
  /** How far the clock of this machine is ahead of the database's. */
  readonly clockOffsetMs?: number
  readonly pause?: ServicePause
  readonly sealed?: SealedSecrets
}

export interface ExamineOptions {
  /** Pending timers that were due before this are overdue. */
  readonly overdueBeforeMs: number
  /** The same while all firing is paused: no timer is about to fire then. */
  readonly overdueBeforeMsIfPaused: number
  /** The whole structure, indexes included: it may take long. */
  readonly isFull: boolean
}

/** A store that can be examined, for as long as the scope in which it was opened. */
export interface StoreExamination {
  examine(options: ExamineOptions): Effect.Effect<StoreReport, StoreError>
}

/** How many of the worst, or the most, are named. */
export const namedMost = 10

/** How many faults of the structure are named. */
export const faultsMost = 100
