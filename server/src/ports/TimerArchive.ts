// Everything in a store, to be copied to another store: pending timers, history, dead letters and the settings of
// operators, read as of one instant in pages. `restore` items (ports/TimerStore.ts) write it into another store
// unchanged, with ids and instants.
//
// Laws, which testkit/TimerArchive.suite.ts checks for every adapter:
//  - An archive shows the instant at which it was opened. Every timer and every life of that instant is in its pages
//    exactly once, no matter what is written meanwhile. A service on the store keeps running undisturbed.
//  - Unreadable timers and lives are listed separately from the items, and the pages continue after them.
//  - What is restored equals what was read: every field, and payloads byte for byte.
import type { DocumentChange } from "@punctual/documents/Documents"
import type { Effect } from "effect"
import type { ArchivedItem } from "../domain/WriteItem.ts"
import type { StoreError } from "./TimerStore.ts"

/** Where a page ended. Only the archive that returned it can interpret it. */
export interface ArchivePlace {
  readonly part: "pending" | "history" | "dead"
  readonly key: ReadonlyArray<string | number>
}

export interface ArchivePage {
  readonly items: ReadonlyArray<ArchivedItem>
  /** Unreadable rows, which are not among the items. */
  readonly unreadable?: ReadonlyArray<ArchivedItem>
  /** Absent if there is no more. A page may be short or even empty although more follow. */
  readonly next?: ArchivePlace
}

/** The contents of a store at one instant. It is valid until the scope in which it was opened closes. */
export interface TimerArchive {
  readonly shards: number
  page(after: ArchivePlace | undefined, limit: number): Effect.Effect<ArchivePage, StoreError>
  /** The documents of a kind, sorted by version. */
  documents(
    kind: string,
    exclusiveAfterVersion: number,
    limit: number,
  ): Effect.Effect<ReadonlyArray<DocumentChange>, StoreError>
}
