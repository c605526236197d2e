// A store copied whole into a file, and put back from it. Only a store that is a file can be copied this way; those on
// a database server are backed up by that server's own means.
//
// What a copy promises: it is the store at one instant, everything of it; making it takes nothing from a service that
// runs on the store; the file has its name only when it is complete, was checked, and is on the disk.
//
// What putting it back promises: no service runs on the store; what was there is kept beside it; whoever opens the
// store finds the old or the new one, whole, whenever the machine stops; epochs are above those of either.
import type { Effect } from "effect"
import type { StoreError } from "./TimerStore.ts"

export interface CopyFacts {
  readonly bytes: number
  readonly schemaVersion: number
  readonly shards: number
  readonly pending: number
  readonly history: number
  readonly dead: number
  /** When the copy was made; for a file that is no backup of ours, the last instant that is written in it. */
  readonly takenAtMs: number
}

export interface CopyOptions {
  readonly file: string
  /** Its name until it is complete, in the same folder. Removed again if the copy fails. */
  readonly partial: string
  readonly takenAtMs: number
}

/** One store, for as long as the scope in which it was opened. */
export interface StoreCopies {
  /** Where the store itself is. */
  readonly path: string
  /** A file that has the name already is replaced. */
  copy(options: CopyOptions): Effect.Effect<CopyFacts, StoreError>
}

/** The place of a store that nothing runs on, nor starts to, for as long as the scope in which it was opened. */
export interface StorePlace {
  readonly path: string
  /** A store is there already. */
  readonly isTaken: boolean
  /** The file that `prepare` makes: a store like any other, until it is put in place. */
  readonly prepared: string
  /** What the file is; fails if it is no store of ours, too new, or damaged. */
  inspect(file: string): Effect.Effect<CopyFacts, StoreError>
  /** Makes the store that is to be put in place, from the file, with epochs above all that were ever claimed. */
  prepare(file: string): Effect.Effect<void, StoreError>
  /** Puts what was prepared in place. A store that is there stays under the given name. */
  put(keepAs: string | undefined): Effect.Effect<void, StoreError>
}
