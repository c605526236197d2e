// The version of a store's schema, and how to migrate it to the version that this program uses. A service migrates by
// itself when it starts. A command can do it in advance.
import type { Effect } from "effect"
import type { StoreError } from "./TimerStore.ts"

export interface StoreSchema {
  /** `stored` is 0 if there is no store yet. Fails if the store is newer than the program. */
  readonly versions: Effect.Effect<{ readonly stored: number; readonly program: number }, StoreError>
  /** Migrates completely or not at all. Succeeds if there is nothing to do. */
  readonly migrate: Effect.Effect<void, StoreError>
  /** Who is told how far a long migration is. Absent if the store cannot say it. */
  readonly onProgress?: (listener: (message: string) => void) => void
}
