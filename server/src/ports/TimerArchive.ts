// Everything that a store holds, to be carried to another: pending timers, history, dead letters and what operators
// have set, read as of one instant in pages, and restored as they were, ids and instants included.
//
// Laws, which testkit/TimerArchive.suite.ts checks for every adapter:
//  - An archive is of the instant at which it was opened: every timer and every life of that instant is in its pages
//    exactly once, whatever is written meanwhile. Opening it takes nothing from a service that runs on the store.
//  - What is restored is what was read: every field, payloads byte for byte.
//  - A restore is fenced like a write: under an epoch that is not the shard's nothing is changed.
//  - It overwrites nothing. An arming, told by its fireId, that is there already is `present`, whether it still is
//    pending or has ended since: so a restore may be repeated. A key that has gone another way `differs`.
//  - Every restored arming is counted as created, and by its end if it has one, so that the tally balances.
import { Context, type Effect } from "effect"
import type { ArchivedItem, RestoreResult } from "../domain/decideRestore.ts"
import type { SettingsRecord } from "./NamespaceStore.ts"
import type { StoreError } from "./TimerStore.ts"

/** Where a page ended. It means something only to the archive that answered it. */
export interface ArchivePlace {
  readonly part: "pending" | "history" | "dead"
  readonly key: ReadonlyArray<string | number>
}

export interface ArchivePage {
  readonly items: ReadonlyArray<ArchivedItem>
  /** Absent: that was all. A page may be short, even empty, with more to come. */
  readonly next?: ArchivePlace
}

/** What a store held at one instant. It ends with the scope in which it was opened. */
export interface TimerArchive {
  readonly shards: number
  page(after: ArchivePlace | undefined, limit: number): Effect.Effect<ArchivePage, StoreError>
  /** What operators had set, in the order of versions. */
  settings(afterVersion: number, limit: number): Effect.Effect<ReadonlyArray<SettingsRecord>, StoreError>
}

export interface RestoreBatch {
  readonly shard: number
  readonly epoch: number
  readonly items: ReadonlyArray<ArchivedItem>
}

export type RestoreAnswer =
  | { readonly result: "restored"; readonly results: ReadonlyArray<RestoreResult> }
  | { readonly result: "ownershipLost" }

export class TimerRestore extends Context.Service<
  TimerRestore,
  {
    /** One commit for all batches; at most one batch a shard, within the store's limits of a write. */
    restore(batches: ReadonlyArray<RestoreBatch>): Effect.Effect<ReadonlyArray<RestoreAnswer>, StoreError>
  }
>()("punctual/ports/TimerRestore") {}
