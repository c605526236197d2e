// The clock of a database that several nodes share, to tell a node whose own clock is off: nodes fire by their clocks,
// and two that differ fire the same timer at different times, depending on which of them owns it. Nothing is decided
// by it.
import { Context, type Effect } from "effect"
import type { StoreError } from "./TimerStore.ts"

export class StoreClock extends Context.Service<
  StoreClock,
  {
    /** How far the clock `nowMs` is ahead of the database's, half the round trip taken off; negative if behind. */
    offsetMs(nowMs: () => number): Effect.Effect<number, StoreError>
  }
>()("punctual/ports/StoreClock") {}
