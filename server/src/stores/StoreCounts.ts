// Counts and examines the decoded rows of a store, for the doctor of databases that cannot count by themselves. The
// store passes every pending timer and every life.
import type { FinishedLife, Timer } from "../domain/Timer.ts"
import { namedMost, type OverdueTimer, type StoreReport } from "../ports/StoreReport.ts"
import { textOfLog } from "./AttemptLogText.ts"
import { addedColumns, addedValues } from "./addedValues.ts"
import { RowExamination } from "./RowExamination.ts"
import { textOfSpec } from "./SpecText.ts"

export class StoreCounts {
  readonly timers = new RowExamination("timers")
  readonly lives = new RowExamination("lives")
  readonly #overdueBeforeMs: number
  readonly #dead = new Map<string, number>()
  overdue = 0
  worst: ReadonlyArray<OverdueTimer> = []

  constructor(overdueBeforeMs: number) {
    this.#overdueBeforeMs = overdueBeforeMs
  }

  takeTimer(timer: Timer): void {
    this.timers.take(examined(timer))
    if (timer.fireAt >= this.#overdueBeforeMs) return
    this.overdue++
    const { namespace, timerId, fireAt, attempts, attemptLog } = timer
    const lastAttempt = attemptLog?.at(-1)
    const overdue = {
      namespace,
      timerId,
      fireAt,
      attempts,
      ...(lastAttempt === undefined ? {} : { lastAttempt }),
    }
    this.worst = [...this.worst, overdue].sort((a, b) => a.fireAt - b.fireAt).slice(0, namedMost)
  }

  takeLife(life: FinishedLife): void {
    if (life.state === "dead") this.#dead.set(life.namespace, (this.#dead.get(life.namespace) ?? 0) + 1)
    this.lives.take(examined(life))
  }

  get deadByNamespace(): StoreReport["deadByNamespace"] {
    return [...this.#dead]
      .map(([namespace, count]) => ({ namespace, count }))
      .sort((a, b) => b.count - a.count)
      .slice(0, namedMost)
  }
}

/** Rows are decoded already. A spec that says why it is unreadable stays unreadable. */
const examined = (row: Timer | FinishedLife) => ({
  namespace: row.namespace,
  timer_id: row.timerId,
  uuid: row.uuid,
  spec: textOfSpec(row.spec),
  last_attempt: row.attemptLog === undefined ? null : textOfLog(row.attemptLog),
  ...Object.fromEntries(addedColumns.map((column, index) => [column, addedValues(row)[index]])),
})
