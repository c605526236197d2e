// The clock of a database that several nodes share. It shows a node that its own clock is wrong. Nodes fire by their
// own clocks, and if two clocks differ, the time at which a timer fires depends on which node owns it. No decision uses
// this clock.
import { Context, type Effect } from "effect"
import type { StoreError } from "./TimerStore.ts"

export class StoreClock extends Context.Service<
  StoreClock,
  {
    /** How far the clock `nowMs` is ahead of the database's clock, less half the round trip. Negative if behind. */
    offsetMs(nowMs: () => number): Effect.Effect<number, StoreError>
  }
>()("punctual/ports/StoreClock") {}
