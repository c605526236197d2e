// Rows that change without the store, as a disk fault or a manual mistake would change them.
import { Context, type Effect } from "effect"
import type { FinishedLife, Timer } from "../src/domain/Timer.ts"

/** The columns that hold JSON. The memory store has no such columns: there, any damage makes the row unreadable. */
export interface DamagedTexts {
  readonly spec?: string
  readonly last_attempt?: string
  readonly tags?: string
}

export class RowDamage extends Context.Service<
  RowDamage,
  {
    damage(row: Timer | FinishedLife, texts: DamagedTexts): Effect.Effect<void>
    /** Gives the row the spec, the log and the tags of this value. */
    repair(row: Timer | FinishedLife): Effect.Effect<void>
  }
>()("punctual/testkit/RowDamage") {}

/** The table that holds the row. */
export const tableOf = (row: Timer | FinishedLife): "timers" | "history" | "dead" => {
  if ("fireAt" in row) return "timers"
  return row.state === "dead" ? "dead" : "history"
}
