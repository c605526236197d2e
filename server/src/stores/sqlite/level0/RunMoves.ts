// Moves the entries of runs into the orders, all runs together, in slices along each order, so that entries of many runs
// share the pages of the orders. A slice is a transaction: each entry is in a run or in the orders. So a move that a kill
// has interrupted is simply continued.
import type { Database, Statement } from "bun:sqlite"
import { codeOf } from "../failures.ts"
import { prepareAll } from "../prepareAll.ts"
import { MergeContradiction } from "./Merge.ts"
import { type PendingOrder, runsAsked } from "./orders.ts"
import { quietTransaction } from "./quietTransaction.ts"
import { type RunLimits, usualRuns } from "./Runs.ts"
import type { WriterOrders } from "./WriterOrders.ts"

/** A move that is under way: of the runs up to this one, and the orders that still have entries there. */
interface Progress {
  readonly lastRun: number
  readonly orders: ReadonlyArray<PendingOrder>
  /** Whether it began because there were enough timers, and not because nobody wrote. */
  readonly wasDue: boolean
}

/** Runs are moved when they have a fifth of all timers. */
const shareOfOrders = 5

export class RunMoves {
  readonly #orders: WriterOrders
  readonly #limits: RunLimits
  readonly #sql: { readonly [order in PendingOrder]: OrderStatements }
  readonly #ends: { readonly [name in keyof typeof endSql]: Statement }
  #progress: Progress | undefined

  constructor(orders: WriterOrders, limits: RunLimits = usualRuns) {
    const { database } = orders
    this.#orders = orders
    this.#limits = limits
    this.#sql = {
      keys: new OrderStatements(database, "keys"),
      dues: new OrderStatements(database, "dues"),
      times: new OrderStatements(database, "times"),
    }
    this.#ends = prepareAll(database, endSql)
  }

  /** Whether the runs have so many timers that they should be moved, or such a move is under way. */
  get isDue(): boolean {
    if (this.#progress?.wasDue === true) return true
    const { journal, runs } = this.#orders
    if (journal.runs === 0) return false
    const { movedFrom, mostRuns } = this.#limits
    if (journal.runs >= mostRuns) return true
    const share = this.#orders.mergedTimers / shareOfOrders
    return runs.timers >= Math.min(movedFrom.most, Math.max(movedFrom.least, share))
  }

  /** Moves at most so many entries, and returns how many. `undefined` if there is no run. */
  slice(mostEntries: number): number | undefined {
    const { journal } = this.#orders
    if (journal.runs === 0) {
      this.#progress = undefined
      return undefined
    }
    this.#progress ??= {
      lastRun: journal.state.lastRun,
      orders: ["keys", "dues", "times"],
      wasDue: this.isDue,
    }
    const { lastRun, orders } = this.#progress
    const [order, ...further] = orders
    try {
      const moved = quietTransaction(this.#orders, () => {
        if (order !== undefined) return this.#move(order, lastRun, mostEntries)
        this.#ends.removeRuns.run(lastRun)
        this.#ends.leaveRuns.run(lastRun)
        return 0
      })
      if (order === undefined) {
        this.#orders.leaveRuns(lastRun)
        this.#progress = undefined
      } else if (moved === 0) this.#progress = { ...this.#progress, orders: further }
      return moved
    } catch (error) {
      if (!codeOf(error).startsWith("SQLITE_CONSTRAINT")) throw error
      throw new MergeContradiction(`an entry of a run is also in the order of ${order}`)
    }
  }

  /** All runs give their entries up to the same place, so that the slice has one part of the order. */
  #move(order: PendingOrder, lastRun: number, mostEntries: number): number {
    const { firstRun } = this.#orders.journal.state
    const sql = this.#sql[order]
    const until = sql.placeAfter(mostEntries, firstRun, lastRun)
    let moved = 0
    for (let run = firstRun; run <= lastRun; run++) {
      const { changes } =
        until === undefined ? sql.all.copyRest.run(run) : sql.all.copyUntil.run(run, ...until)
      if (changes === 0) continue
      moved += changes
      if (until === undefined) sql.all.removeRest.run(run)
      else sql.all.removeUntil.run(run, ...until)
    }
    return moved
  }
}

type Place = ReadonlyArray<string | number | Uint8Array>

/** What one order needs. */
class OrderStatements {
  readonly all: { readonly [name in keyof ReturnType<typeof moveSql>]: Statement }
  readonly #database: Database
  readonly #order: PendingOrder
  /** By the number of runs. */
  readonly #places = new Map<number, Statement>()

  constructor(database: Database, order: PendingOrder) {
    this.#database = database
    this.#order = order
    this.all = prepareAll(database, moveSql(order))
  }

  /** The place of the last one of so many entries in all these runs. `undefined` if they have fewer. */
  placeAfter(entries: number, firstRun: number, lastRun: number): Place | undefined {
    const asked = runsAsked(lastRun - firstRun + 1)
    let statement = this.#places.get(asked)
    if (statement === undefined) {
      statement = this.#database.prepare(placeSql(this.#order, asked))
      this.#places.set(asked, statement)
    }
    const [place] = statement.values(firstRun, lastRun, entries - 1)
    return place as Place | undefined
  }
}

const columnsOf: { readonly [order in PendingOrder]: { readonly key: string; readonly rest: string } } = {
  keys: { key: "namespace, timer_id", rest: "id" },
  dues: { key: "shard, fire_at, fire_id, id", rest: "namespace" },
  times: { key: "namespace, fire_at, fire_id, id", rest: "shard" },
}

/** From run ?1 to run ?2. SQLite reads the runs side by side. */
const placeSql = (order: PendingOrder, runs: number): string => {
  const { key } = columnsOf[order]
  const levels = Array.from(
    { length: runs },
    (_, index) =>
      `SELECT ${key} FROM main.run_${order} WHERE run = (SELECT ?1 + ${index} WHERE ?1 + ${index} <= ?2)`,
  )
  return `${levels.join("\nUNION ALL ")} ORDER BY ${key} LIMIT 1 OFFSET ?3`
}

const moveSql = (order: PendingOrder) => {
  const { key, rest } = columnsOf[order]
  const copy = `INSERT INTO main.timer_${order} (${key}, ${rest}) SELECT ${key}, ${rest} FROM main.run_${order} WHERE run = ?1`
  const parameters = key.split(",").map((_, index) => `?${index + 2}`)
  const isBefore = `AND (${key}) <= (${parameters.join(", ")})`
  return {
    copyUntil: `${copy} ${isBefore}`,
    removeUntil: `DELETE FROM main.run_${order} WHERE run = ?1 ${isBefore}`,
    copyRest: copy,
    removeRest: `DELETE FROM main.run_${order} WHERE run = ?1`,
  } as const
}

const endSql = {
  removeRuns: "DELETE FROM main.runs WHERE run <= ?1",
  leaveRuns: "UPDATE main.merging SET first_run = ?1 + 1 WHERE one = 1",
} as const
