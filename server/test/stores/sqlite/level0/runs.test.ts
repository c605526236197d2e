// Runs: when a merge writes one, where entries are removed from, how runs are moved into the orders, and what a damaged
// file is answered with. The suites with small layers (merging.test.ts) and the cuts (cutPoints.test.ts) have runs, too.
import type { Database } from "bun:sqlite"
import { afterEach, beforeEach, expect, test } from "bun:test"
import { keyOf } from "../../../../src/domain/TimerKey.ts"
import { faultsOfOrders } from "../../../../src/stores/sqlite/level0/faultsOfOrders.ts"
import { Merge, MergeContradiction } from "../../../../src/stores/sqlite/level0/Merge.ts"
import type { Place } from "../../../../src/stores/sqlite/level0/Move.ts"
import { openOrders } from "../../../../src/stores/sqlite/level0/openOrders.ts"
import { ReaderOrders } from "../../../../src/stores/sqlite/level0/ReaderOrders.ts"
import { RunMoves } from "../../../../src/stores/sqlite/level0/RunMoves.ts"
import { type RunLimits, smallRuns, usualRuns } from "../../../../src/stores/sqlite/level0/Runs.ts"
import type { WriterOrders } from "../../../../src/stores/sqlite/level0/WriterOrders.ts"
import { openForWriting } from "../../../../src/stores/sqlite/openDatabase.ts"
import { type TemporaryFolder, temporaryFolder } from "../../../../testkit/sqlite.ts"
import { sampleTimer } from "../../../../testkit/timers.ts"

let folder: TemporaryFolder
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(() => folder.dispose())

/** Orders with entries whose timers have no rows: only the orders are looked at. */
class Rig {
  readonly database: Database
  readonly orders: WriterOrders
  readonly #places = new Map<string, { readonly id: number; readonly place: Place }>()

  constructor(database: Database) {
    this.database = database
    this.orders = openOrders(database, folder.database)
  }

  create(...timerIds: ReadonlyArray<string>): void {
    this.#committed(() => {
      for (const timerId of timerIds) this.#move(timerId, this.orders.newId(), placeOf(this.#places.size))
    })
  }

  end(...timerIds: ReadonlyArray<string>): void {
    this.#committed(() => {
      for (const timerId of timerIds) this.#move(timerId, this.#known(timerId).id, undefined)
    })
  }

  retry(timerId: string, fireAt: number): void {
    const { id, place } = this.#known(timerId)
    this.#committed(() => this.#move(timerId, id, { ...place, fireAt }))
  }

  merge(limits: RunLimits = smallRuns): void {
    const merge = new Merge(this.orders, limits)
    merge.finish()
  }

  /** How many entries each table has: keys, due times by shard, due times by namespace. */
  count(tables: "run" | "timer"): ReadonlyArray<number> {
    return ["keys", "dues", "times"].map((order) =>
      Number(this.database.query(`SELECT count(*) FROM ${tables}_${order}`).values()[0]?.[0]),
    )
  }

  pagesOfLog(): number {
    return Number(this.database.query("PRAGMA wal_checkpoint(NOOP)").values()[0]?.[1])
  }

  #known(timerId: string) {
    const known = this.#places.get(timerId)
    if (known === undefined) throw new Error(`there is no timer ${timerId}`)
    return known
  }

  #move(timerId: string, id: number, to: Place | undefined): void {
    this.orders.move({
      id,
      shard: 0,
      key: keyOf("shop", timerId),
      from: this.#places.get(timerId)?.place,
      to,
    })
    if (to === undefined) this.#places.delete(timerId)
    else this.#places.set(timerId, { id, place: to })
  }

  #committed(body: () => void): void {
    this.orders.keeping(() =>
      this.database.transaction(() => {
        this.orders.follow()
        body()
        this.orders.writeJournal()
      })(),
    )
  }
}

const placeOf = (fireAt: number): Place => ({ fireAt, fireId: sampleTimer().fireId })

const withRig = (work: (rig: Rig) => void): void => {
  const { database, lock } = openForWriting({ path: folder.database, shards: 1 })
  try {
    work(new Rig(database))
  } finally {
    database.close()
    lock.close()
  }
}

const movedWhole = (orders: WriterOrders): void => {
  const moves = new RunMoves(orders, smallRuns)
  while (moves.slice(2) !== undefined) {}
}

test("new timers get into a run only if the layer and the orders are large enough", () =>
  withRig((rig) => {
    const limits = { ...smallRuns, fromTimers: 3, leastTimers: 2 }
    rig.create("a", "b")
    rig.merge(limits)
    rig.create("c", "d")
    rig.merge(limits)
    expect([rig.count("run"), rig.count("timer")]).toEqual([
      [0, 0, 0],
      [4, 4, 4],
    ])
    rig.create("e")
    rig.retry("a", 100)
    rig.merge(limits)
    expect(rig.count("run")).toEqual([0, 0, 0])
    rig.create("f", "g")
    rig.merge(limits)
    expect([rig.count("run"), rig.count("timer"), rig.orders.mergedTimers]).toEqual([[2, 2, 2], [5, 5, 5], 7])
  }))

test("no more runs are written than there may be", () =>
  withRig((rig) => {
    for (const timerId of ["a", "b", "c", "d", "e", "f"]) {
      rig.create(timerId)
      rig.merge()
    }
    expect([rig.orders.journal.runs, rig.count("run"), rig.count("timer")]).toEqual([
      smallRuns.mostRuns,
      [3, 3, 3],
      [3, 3, 3],
    ])
  }))

test("what ends or moves leaves its run, whether the run is being moved or not", () =>
  withRig((rig) => {
    rig.create("a")
    rig.merge()
    rig.create("b", "c", "d", "e")
    rig.merge()
    rig.end("b")
    rig.retry("c", 100)
    rig.merge({ ...smallRuns, mostRuns: 1 })
    expect([rig.count("run"), rig.count("timer")]).toEqual([
      [3, 2, 2],
      [1, 2, 2],
    ])
    // One slice: the keys of all, and no due time yet.
    new RunMoves(rig.orders, smallRuns).slice(100)
    expect([rig.count("run"), rig.count("timer")]).toEqual([
      [0, 2, 2],
      [4, 2, 2],
    ])
    rig.end("c", "d")
    rig.merge({ ...smallRuns, mostRuns: 1 })
    movedWhole(rig.orders)
    expect([rig.count("run"), rig.count("timer"), rig.orders.mergedTimers]).toEqual([[0, 0, 0], [2, 2, 2], 2])
  }))

test("the writer finds the keys of runs, also after another one has written and moved them", () =>
  withRig((rig) => {
    rig.create("a")
    rig.merge()
    rig.create("b", "c")
    rig.merge()
    const other = openOrders(rig.database, folder.database)
    const idOf = (orders: WriterOrders, timerId: string) => orders.runs.idOf(keyOf("shop", timerId))
    expect(["a", "b", "c", "d"].map((timerId) => idOf(other, timerId))).toEqual([undefined, 2, 3, undefined])
    movedWhole(rig.orders)
    other.keeping(() => rig.database.transaction(() => other.follow())())
    expect(idOf(other, "b")).toBeUndefined()
  }))

test("a reader asks no more runs than there are", () =>
  withRig((rig) => {
    rig.create("a")
    rig.merge()
    rig.create("b")
    rig.merge()
    const reader = new ReaderOrders(rig.database, { isReadOnly: false })
    const runs = () => reader.atOneInstant(() => reader.shown.runs)
    expect(runs()).toBe(1)
    movedWhole(rig.orders)
    expect(runs()).toBe(0)
  }))

test("a slice moves runs side by side, and never more than it may", () =>
  withRig((rig) => {
    rig.create("a")
    rig.merge()
    rig.create(...Array.from({ length: 40 }, (_, index) => `b-${index}`))
    rig.merge()
    rig.create(...Array.from({ length: 3 }, (_, index) => `c-${index}`))
    rig.merge()
    const moves = new RunMoves(rig.orders, smallRuns)
    const moved: Array<number> = []
    for (;;) {
      const entries = moves.slice(10)
      if (entries === undefined) break
      moved.push(entries)
      const both = ["keys", "dues", "times"].map((_, order) => {
        const [inRuns = 0, inOrders = 0] = [rig.count("run")[order], rig.count("timer")[order]]
        return inRuns + inOrders
      })
      expect(both).toEqual([44, 44, 44])
    }
    expect(Math.max(...moved)).toBeLessThanOrEqual(10)
    expect(moved.reduce((sum, entries) => sum + entries, 0)).toBe(3 * 43)
    expect(rig.database.query("SELECT count(*) FROM runs").values()).toEqual([[0]])
  }))

test("in large orders, a run writes less than a fifth of the pages that the same entries would write there", () =>
  withRig((rig) => {
    const random = (name: string, count: number) =>
      Array.from({ length: count }, (_, index) => keyOf("shop", `${name}-${index}`).uuid)
    for (let part = 0; part < 10; part++) {
      rig.create(...random(`old-${part}`, 5_000))
      rig.merge(usualRuns)
    }
    const written = (name: string, limits: RunLimits): number => {
      rig.database.run("PRAGMA wal_checkpoint(TRUNCATE)")
      rig.create(...random(name, 500))
      rig.merge(limits)
      return rig.pagesOfLog()
    }
    const direct = written("direct", usualRuns)
    const toRun = written("run", smallRuns)
    expect(toRun).toBeLessThan(direct / 5)
  }))

test("an entry that is in a run and in the orders stops the move", () =>
  withRig((rig) => {
    rig.create("a")
    rig.merge()
    rig.create("b")
    rig.merge()
    rig.database.run("INSERT INTO timer_keys SELECT namespace, timer_id, id FROM run_keys")
    expect(() => movedWhole(rig.orders)).toThrow(MergeContradiction)
    expect(rig.count("run")).toEqual([1, 1, 1])
  }))

test("doctor names entries of runs that do not exist", () =>
  withRig((rig) => {
    rig.create("a")
    rig.merge()
    rig.create("b")
    rig.merge()
    rig.database.run("UPDATE level0 SET first_run = last_run + 1")
    const reader = new ReaderOrders(rig.database, { isReadOnly: false })
    expect(reader.atOneInstant(() => faultsOfOrders(reader))).toContain(
      "the order of ids has 1 in runs that do not exist",
    )
  }))

test("a run without its filter is damage", () =>
  withRig((rig) => {
    rig.create("a")
    rig.merge()
    rig.create("b")
    rig.merge()
    rig.database.run("DELETE FROM runs")
    expect(() => openOrders(rig.database, folder.database)).toThrow("run 1 of the orders is missing")
  }))
