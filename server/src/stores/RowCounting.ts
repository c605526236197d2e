// Examines a store that has no query language: the store passes all its rows one by one. The class counts them by shard and
// state, decodes them, and finds the overdue timers and the dead letters.
import type { FinishedLife, FinishedState, Timer, TimerKey } from "../domain/Timer.ts"
import { shardOf } from "../domain/TimerKey.ts"
import { namedMost, type OverdueTimer, type ShardRows, type StoreReport } from "../ports/StoreReport.ts"
import { type ExaminedRow, RowExamination } from "./RowExamination.ts"

/** The texts of a row as they are stored. */
type StoredTexts = Omit<ExaminedRow, "namespace" | "timer_id">

/** So many overdue timers are kept before all but the worst are dropped. */
const overdueKept = 100 * namedMost

export class RowCounting {
  readonly #rows: Array<Record<FinishedState | "pending", number>>
  readonly #timers = new RowExamination("timers")
  readonly #lives = new RowExamination("lives")
  readonly #overdueBeforeMs: number
  readonly #dead = new Map<string, number>()
  #overdue = 0
  #worst: Array<OverdueTimer> = []

  constructor(shards: number, overdueBeforeMs: number) {
    this.#overdueBeforeMs = overdueBeforeMs
    this.#rows = Array.from({ length: shards }, () => ({ pending: 0, delivered: 0, cancelled: 0, dead: 0 }))
  }

  takeTimer(timer: Timer, texts: StoredTexts): void {
    this.#count(timer, "pending")
    const { namespace, timerId, fireAt, attempts, attemptLog } = timer
    this.#timers.take({ namespace, timer_id: timerId, ...texts })
    if (fireAt >= this.#overdueBeforeMs) return
    this.#overdue++
    const lastAttempt = attemptLog?.at(-1)
    this.#worst.push({
      namespace,
      timerId,
      fireAt,
      attempts,
      ...(lastAttempt === undefined ? {} : { lastAttempt }),
    })
    if (this.#worst.length >= overdueKept) this.#worst = this.#worstOf()
  }

  takeLife({ namespace, timerId, uuid, state }: FinishedLife, texts: StoredTexts): void {
    this.#count({ namespace, timerId, uuid }, state)
    this.#lives.take({ namespace, timer_id: timerId, ...texts })
    if (state === "dead") this.#dead.set(namespace, (this.#dead.get(namespace) ?? 0) + 1)
  }

  rowsOf(shard: number): ShardRows {
    return this.#rows[shard] ?? { pending: 0, delivered: 0, cancelled: 0, dead: 0 }
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

  #worstOf(): Array<OverdueTimer> {
    return this.#worst.sort((a, b) => a.fireAt - b.fireAt).slice(0, namedMost)
  }

  #count({ uuid }: TimerKey, state: FinishedState | "pending"): void {
    const rows = this.#rows[shardOf(uuid, this.#rows.length)]
    if (rows !== undefined) rows[state]++
  }
}
