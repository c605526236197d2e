// Copies a whole store into a file, and restores it from there. Only a store that is a file can be copied this way. A
// store on a database server is backed up with that server's own tools.
//
// A copy guarantees: it contains the whole store as of one instant. A service on the store keeps running undisturbed
// while the copy is made. The file gets its name only when it is complete, checked, and on disk.
//
// A restore guarantees: no service runs on the store. The previous store is kept beside the new one. At any time, even
// after a crash of the machine, the store that opens is either the whole old one or the whole new one. Its epochs are
// above those of both.
import type { Effect } from "effect"
import type { StoreError } from "./TimerStore.ts"

export interface CopyFacts {
  readonly bytes: number
  readonly schemaVersion: number
  readonly shards: number
  readonly pending: number
  readonly history: number
  readonly dead: number
  /** When the copy was made. For a file that is not a backup made by this program, the last instant stored in it. */
  readonly takenAtMs: number
}

export interface CopyOptions {
  readonly file: string
  /** Its name until it is complete, in the same folder. The file is removed if the copy fails. */
  readonly partial: string
  readonly takenAtMs: number
}

/** One store, usable until the scope in which it was opened closes. */
export interface StoreCopies {
  /** The path of the store itself. */
  readonly path: string
  /** Replaces a file that already has the name. */
  copy(options: CopyOptions): Effect.Effect<CopyFacts, StoreError>
}

/** The place of a store. Until its scope closes, nothing runs on the store and nothing can start on it. */
export interface StorePlace {
  readonly path: string
  /** Whether there is already a store. */
  readonly isTaken: boolean
  /** The file that `prepare` creates. It is a complete store that is not in place yet. */
  readonly prepared: string
  /** Describes the file. Fails if it is not a store of this program, too new, or damaged. */
  inspect(file: string): Effect.Effect<CopyFacts, StoreError>
  /** Creates the new store from the file, with epochs above all that were ever claimed. */
  prepare(file: string): Effect.Effect<void, StoreError>
  /** Puts the prepared store in place. The previous store is kept under the given name. */
  put(keepAs: string | undefined): Effect.Effect<void, StoreError>
}
