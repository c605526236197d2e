// The runs as the writer knows them.
//
// If the orders are large, the entries of a layer share no pages there: a merge would write a page of each order for
// each new timer. So a merge writes the entries of new timers into a run of their own, sorted, behind the entries of all
// earlier runs. Later the runs are moved into the orders together (RunMoves.ts): a million entries share pages there.
//
// Each entry is in one run or in the orders, never in both. Only new timers get into a run. An entry that a merge writes for
// a timer that has moved goes into the orders. An entry to remove can be in either. So no level hides entries of another, and nothing
// is decided by the age of a run.
import type { Database, Statement } from "bun:sqlite"
import type { TimerKey } from "../../../domain/Timer.ts"
import { prepareAll } from "../prepareAll.ts"
import type { JournalState } from "./JournalFollower.ts"
import { bitsOf, KeyFilter } from "./KeyFilter.ts"
import { DamagedJournal } from "./Move.ts"

/** When there are runs, and how many. */
export interface RunLimits {
  /** With fewer timers in the orders, merges write there. */
  readonly fromTimers: number
  /** A smaller layer is written into the orders, because runs cost reads. */
  readonly leastTimers: number
  /** The runs are moved when they have so many timers. The number grows with the orders. */
  readonly movedFrom: { readonly least: number; readonly most: number }
  /** Until some are moved, layers are written into the orders. */
  readonly mostRuns: number
}

/** Every read asks each run: a few microseconds. */
export const usualRuns: RunLimits = {
  fromTimers: 500_000,
  leastTimers: 20_000,
  movedFrom: { least: 200_000, most: 2_000_000 },
  mostRuns: 96,
}

/** For tests with small layers. */
export const smallRuns: RunLimits = {
  fromTimers: 1,
  leastTimers: 1,
  movedFrom: { least: 4, most: 8 },
  mostRuns: 3,
}

interface Run {
  readonly number: number
  readonly timers: number
  readonly filter: KeyFilter
}

export class Runs {
  readonly #sql: { readonly [name in keyof typeof runSql]: Statement }
  #runs: ReadonlyArray<Run> = []

  constructor(database: Database) {
    this.#sql = prepareAll(database, runSql)
  }

  /** How many timers the runs have got. Some may have ended. */
  get timers(): number {
    return this.#runs.reduce((sum, { timers }) => sum + timers, 0)
  }

  /** Reads the runs that are not known yet. */
  follow({ firstRun, lastRun }: JournalState): void {
    if (this.#runs.at(0)?.number === firstRun && this.#runs.at(-1)?.number === lastRun) return
    if (this.#runs.length === 0 && firstRun > lastRun) return
    const known = new Map(this.#runs.map((run) => [run.number, run]))
    const runs: Array<Run> = []
    for (let number = firstRun; number <= lastRun; number++)
      runs.push(known.get(number) ?? this.#read(number))
    this.#runs = runs
  }

  /** The numbers of the runs that may have the key. */
  of(key: TimerKey): ReadonlyArray<number> {
    if (this.#runs.length === 0) return none
    const bits = bitsOf(key)
    const found: Array<number> = []
    for (const { number, filter } of this.#runs) if (filter.mayHave(bits)) found.push(number)
    return found
  }

  /** The id of the row of a key that has an entry in a run. */
  idOf(key: TimerKey): number | undefined {
    for (const number of this.of(key)) {
      const row = this.#sql.id.get(number, key.namespace, key.timerId) as { readonly id: number } | null
      if (row !== null) return row.id
    }
    return undefined
  }

  #read(number: number): Run {
    const row = this.#sql.run.get(number) as { readonly timers: number; readonly filter: Uint8Array } | null
    // Without its filter its keys would look unused.
    if (row === null) throw new DamagedJournal(`run ${number} of the orders is missing`)
    return { number, timers: row.timers, filter: new KeyFilter(row.filter) }
  }
}

const none: ReadonlyArray<number> = []

const runSql = {
  run: "SELECT timers, filter FROM main.runs WHERE run = ?1",
  id: "SELECT id FROM main.run_keys WHERE run = ?1 AND namespace = ?2 AND timer_id = ?3",
} as const
