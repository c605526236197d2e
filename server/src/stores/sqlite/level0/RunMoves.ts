// Moves the entries of runs into the orders, all runs together, in slices along each order, so that entries of many runs
// share the pages of the orders. A slice is a transaction: each entry is in a run or in the orders. So a move that a kill
// has interrupted is simply continued.
import type { Database, Statement } from "bun:sqlite"
import { codeOf } from "../failures.ts"
import { prepareAll } from "../prepareAll.ts"
import { MergeContradiction } from "./Merge.ts"
import type { PendingOrder } from "./orders.ts"
import { quietTransaction } from "./quietTransaction.ts"
import { type RunLimits, usualRuns } from "./Runs.ts"
import type { WriterOrders } from "./WriterOrders.ts"

/** A move that is under way: of the runs up to this one, and the orders that still have entries there. */
interface Progress {
  readonly lastRun: number
  readonly orders: ReadonlyArray<PendingOrder>
}

/** Runs are moved when they have a fifth of all timers. */
const shareOfOrders = 5

export class RunMoves {
  readonly #orders: WriterOrders
  readonly #limits: RunLimits
  readonly #sql: { readonly [order in PendingOrder]: MoveStatements }
  readonly #ends: { readonly [name in keyof typeof endSql]: Statement }
  #progress: Progress | undefined

  constructor(orders: WriterOrders, limits: RunLimits = usualRuns) {
    const { database } = orders
    this.#orders = orders
    this.#limits = limits
    this.#sql = {
      keys: statementsOf(database, "keys"),
      dues: statementsOf(database, "dues"),
      times: statementsOf(database, "times"),
    }
    this.#ends = prepareAll(database, endSql)
  }

  /** Whether the runs have so many timers that they should be moved, or a move is under way. */
  get isDue(): boolean {
    if (this.#progress !== undefined) return true
    const { journal, runs } = this.#orders
    if (journal.runs === 0) return false
    const { movedFrom, mostRuns } = this.#limits
    if (journal.runs >= mostRuns) return true
    const share = this.#orders.mergedTimers / shareOfOrders
    return runs.timers >= Math.min(movedFrom.most, Math.max(movedFrom.least, share))
  }

  /** Moves about so many entries at most, and returns how many. `undefined` if there is no run. */
  slice(mostEntries: number): number | undefined {
    const { journal } = this.#orders
    if (journal.runs === 0) {
      this.#progress = undefined
      return undefined
    }
    this.#progress ??= { lastRun: journal.state.lastRun, orders: ["keys", "dues", "times"] }
    const { lastRun, orders } = this.#progress
    const [order] = orders
    try {
      const moved = quietTransaction(this.#orders, () => {
        if (order !== undefined) return this.#move(order, lastRun, mostEntries)
        this.#ends.removeRuns.run(lastRun)
        this.#ends.leaveRuns.run(lastRun)
        return 0
      })
      if (order === undefined) {
        journal.leaveRuns(lastRun)
        this.#progress = undefined
      } else if (moved === 0) this.#progress = { lastRun, orders: orders.slice(1) }
      return moved
    } catch (error) {
      // Its state may be another one now.
      this.#progress = undefined
      if (!codeOf(error).startsWith("SQLITE_CONSTRAINT")) throw error
      throw new MergeContradiction(`an entry of a run is also in the order of ${order}`)
    }
  }

  /** Each run gives its entries up to the same place, so that the slice has one part of the order. */
  #move(order: PendingOrder, lastRun: number, mostEntries: number): number {
    const { firstRun } = this.#orders.journal.state
    const sql = this.#sql[order]
    const entriesARun = Math.max(1, Math.floor(mostEntries / (lastRun - firstRun + 1)))
    const [until] = sql.until.values(firstRun, lastRun, entriesARun - 1) as Array<Array<Value>>
    let moved = 0
    for (let run = firstRun; run <= lastRun; run++) {
      if (until === undefined) {
        moved += sql.copyRest.run(run).changes
        sql.removeRest.run(run)
      } else {
        moved += sql.copyUntil.run(run, ...until).changes
        sql.removeUntil.run(run, ...until)
      }
    }
    return moved
  }
}

type Value = string | number | Uint8Array

type MoveStatements = { readonly [name in keyof ReturnType<typeof moveSql>]: Statement }

const columnsOf: { readonly [order in PendingOrder]: { readonly key: string; readonly rest: string } } = {
  keys: { key: "namespace, timer_id", rest: "id" },
  dues: { key: "shard, fire_at, fire_id, id", rest: "namespace" },
  times: { key: "namespace, fire_at, fire_id, id", rest: "shard" },
}

const moveSql = (order: PendingOrder) => {
  const { key, rest } = columnsOf[order]
  const copy = `INSERT INTO main.timer_${order} (${key}, ${rest}) SELECT ${key}, ${rest} FROM main.run_${order} WHERE run = ?1`
  const parameters = key.split(",").map((_, index) => `?${index + 2}`)
  const isBefore = `AND (${key}) <= (${parameters.join(", ")})`
  const numbered = (of: string) => key.split(",").map((column) => `${of}.${column.trim()}`)
  return {
    /** The lowest of the places at which the runs reach so many entries. None if no run has so many. */
    until: `SELECT ${numbered("e").join(", ")} FROM main.runs AS r CROSS JOIN main.run_${order} AS e
      ON e.run = r.run AND (${numbered("e").join(", ")}) = (SELECT ${key} FROM main.run_${order} WHERE run = r.run
        ORDER BY ${key} LIMIT 1 OFFSET ?3)
      WHERE r.run BETWEEN ?1 AND ?2 ORDER BY ${numbered("e").join(", ")} LIMIT 1`,
    copyUntil: `${copy} ${isBefore} ORDER BY ${key}`,
    removeUntil: `DELETE FROM main.run_${order} WHERE run = ?1 ${isBefore}`,
    copyRest: `${copy} ORDER BY ${key}`,
    removeRest: `DELETE FROM main.run_${order} WHERE run = ?1`,
  } as const
}

const statementsOf = (database: Database, order: PendingOrder): MoveStatements =>
  prepareAll(database, moveSql(order))

const endSql = {
  removeRuns: "DELETE FROM main.runs WHERE run <= ?1",
  leaveRuns: "UPDATE main.level0 SET first_run = ?1 + 1 WHERE one = 1",
} as const
