// Rows that are changed past the store, as a fault of a disk or a wrong hand would change them.
import { Context, type Effect } from "effect"
import type { FinishedLife, Timer } from "../src/domain/Timer.ts"

/** The columns that hold JSON. Memory holds none: there every damage makes the row unreadable. */
export interface DamagedTexts {
  readonly spec?: string
  readonly last_attempt?: string
  readonly tags?: string
}

export class RowDamage extends Context.Service<
  RowDamage,
  {
    damage(row: Timer | FinishedLife, texts: DamagedTexts): Effect.Effect<void>
    /** The row gets the spec, the log and the tags that it is given here with. */
    repair(row: Timer | FinishedLife): Effect.Effect<void>
  }
>()("punctual/testkit/RowDamage") {}

/** In which of the tables the row is. */
export const tableOf = (row: Timer | FinishedLife): "timers" | "history" | "dead" => {
  if ("fireAt" in row) return "timers"
  return row.state === "dead" ? "dead" : "history"
}
