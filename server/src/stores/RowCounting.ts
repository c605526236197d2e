// Counts and decodes all rows of an examined store: by shard and state, overdue timers, dead letters, unreadable rows. The
// store passes them one by one, as it reads them for an archive.
import type { FinishedState } from "../domain/Timer.ts"
import { type ArchivedItem, keyOfArchived } from "../domain/WriteItem.ts"
import { namedMost, type OverdueTimer, type ShardRows, type StoreReport } from "../ports/StoreReport.ts"
import { RowExamination } from "./RowExamination.ts"

/** A row of a store, for an archive or an examination. */
export interface KeptRow {
  readonly item: ArchivedItem
  /** Where the row is stored. */
  readonly shard: number
  /** Orders lives that ended at the same instant. */
  readonly entry?: number
}

/** So many overdue timers are kept before all but the worst are dropped. */
const overdueKept = 100 * namedMost

export class RowCounting {
  readonly #rows = new Map<number, Record<FinishedState | "pending", number>>()
  readonly #timers = new RowExamination("timers")
  readonly #lives = new RowExamination("lives")
  readonly #overdueBeforeMs: number
  readonly #dead = new Map<string, number>()
  #overdue = 0
  #worst: Array<OverdueTimer> = []

  constructor(overdueBeforeMs: number) {
    this.#overdueBeforeMs = overdueBeforeMs
  }

  take({ item, shard }: KeptRow): void {
    const rows = this.#rowsOf(shard)
    if (item.kind === "pending") {
      rows.pending++
      this.#timers.takeDecoded(item.timer)
      if (item.timer.fireAt < this.#overdueBeforeMs) this.#takeOverdue(item)
      return
    }
    const { state, namespace } = item.life
    rows[state]++
    this.#lives.takeDecoded(keyOfArchived(item))
    if (state === "dead") this.#dead.set(namespace, (this.#dead.get(namespace) ?? 0) + 1)
  }

  rowsOf(shard: number): ShardRows {
    return this.#rowsOf(shard)
  }

  get found(): Pick<StoreReport, "overdue" | "deadByNamespace" | "faults" | "targets" | "unreadable"> {
    const dead = [...this.#dead].map(([namespace, count]) => ({ namespace, count }))
    return {
      overdue: { count: this.#overdue, worst: this.#worstOf() },
      deadByNamespace: dead
        .sort((a, b) => b.count - a.count || (a.namespace < b.namespace ? -1 : 1))
        .slice(0, namedMost),
      faults: [...this.#timers.faults, ...this.#lives.faults],
      targets: this.#timers.targets,
      unreadable: [...this.#timers.found, ...this.#lives.found],
    }
  }

  #takeOverdue({ timer }: Extract<ArchivedItem, { readonly kind: "pending" }>): void {
    const { namespace, timerId, fireAt, attempts, attemptLog } = timer
    const lastAttempt = attemptLog?.at(-1)
    const overdue = { namespace, timerId, fireAt, attempts }
    this.#overdue++
    this.#worst.push(lastAttempt === undefined ? overdue : { ...overdue, lastAttempt })
    if (this.#worst.length >= overdueKept) this.#worst = this.#worstOf()
  }

  #worstOf(): Array<OverdueTimer> {
    return this.#worst.sort((a, b) => a.fireAt - b.fireAt).slice(0, namedMost)
  }

  #rowsOf(shard: number): Record<FinishedState | "pending", number> {
    const known = this.#rows.get(shard)
    if (known !== undefined) return known
    const rows = { pending: 0, delivered: 0, cancelled: 0, dead: 0 }
    this.#rows.set(shard, rows)
    return rows
  }
}
