// Everything that a store holds, to be carried to another: pending timers, history, dead letters and what operators
// have set, read as of one instant in pages. It is put into another store by `restore` items (ports/TimerStore.ts), as it
// was, ids and instants included.
//
// Laws, which testkit/TimerArchive.suite.ts checks for every adapter:
//  - An archive is of the instant at which it was opened: every timer and every life of that instant is in its pages
//    exactly once, whatever is written meanwhile. Opening it takes nothing from a service that runs on the store.
//  - Timers and lives that cannot be read are named apart from the items, and the pages go on behind them.
//  - What is restored is what was read: every field, payloads byte for byte.
import type { DocumentChange } from "@punctual/documents/Documents"
import type { Effect } from "effect"
import type { ArchivedItem } from "../domain/WriteItem.ts"
import type { StoreError } from "./TimerStore.ts"

/** Where a page ended. It means something only to the archive that answered it. */
export interface ArchivePlace {
  readonly part: "pending" | "history" | "dead"
  readonly key: ReadonlyArray<string | number>
}

export interface ArchivePage {
  readonly items: ReadonlyArray<ArchivedItem>
  /** Rows that cannot be read. They are not among the items. */
  readonly unreadable?: ReadonlyArray<ArchivedItem>
  /** Absent: that was all. A page may be short, even empty, with more to come. */
  readonly next?: ArchivePlace
}

/** What a store held at one instant. It ends with the scope in which it was opened. */
export interface TimerArchive {
  readonly shards: number
  page(after: ArchivePlace | undefined, limit: number): Effect.Effect<ArchivePage, StoreError>
  /** The documents of a kind, in the order of versions. */
  documents(
    kind: string,
    exclusiveAfterVersion: number,
    limit: number,
  ): Effect.Effect<ReadonlyArray<DocumentChange>, StoreError>
}
