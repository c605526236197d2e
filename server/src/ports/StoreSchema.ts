// The version of a store's schema, and how it is brought up to the one that this program reads and writes. A service
// does it by itself when it starts; a command does it ahead of that.
import type { Effect } from "effect"
import type { StoreError } from "./TimerStore.ts"

export interface StoreSchema {
  /** `stored` is 0 where there is no store yet. Fails if it is newer than the program. */
  readonly versions: Effect.Effect<{ readonly stored: number; readonly program: number }, StoreError>
  /** As a whole or not at all; nothing to do is no failure. */
  readonly migrate: Effect.Effect<void, StoreError>
}
