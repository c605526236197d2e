// Runs: when a merge writes one, where entries are removed from, how runs are moved into the orders, and what a damaged
// file is answered with. The suites with small layers (merging.test.ts) and the cuts (cutPoints.test.ts) have runs, too.
import type { Database } from "bun:sqlite"
import { afterEach, beforeEach, expect, test } from "bun:test"
import type { Timer } from "../../../../src/domain/Timer.ts"
import { keyOf } from "../../../../src/domain/TimerKey.ts"
import { Lookup } from "../../../../src/stores/sqlite/Lookup.ts"
import { faultsOfOrders } from "../../../../src/stores/sqlite/level0/faultsOfOrders.ts"
import { Merge, MergeContradiction } from "../../../../src/stores/sqlite/level0/Merge.ts"
import { MergeWork, mergingOf } from "../../../../src/stores/sqlite/level0/MergeWork.ts"
import type { Place } from "../../../../src/stores/sqlite/level0/Move.ts"
import { openOrders } from "../../../../src/stores/sqlite/level0/openOrders.ts"
import { idsOfWriter } from "../../../../src/stores/sqlite/level0/pendingIds.ts"
import { ReaderOrders } from "../../../../src/stores/sqlite/level0/ReaderOrders.ts"
import { RunMoves } from "../../../../src/stores/sqlite/level0/RunMoves.ts"
import { type RunLimits, smallRuns, usualRuns } from "../../../../src/stores/sqlite/level0/Runs.ts"
import type { WriterOrders } from "../../../../src/stores/sqlite/level0/WriterOrders.ts"
import { openForWriting } from "../../../../src/stores/sqlite/openDatabase.ts"
import { Writer } from "../../../../src/stores/sqlite/Writer.ts"
import { eventually } from "../../../../testkit/eventually.ts"
import { type TemporaryFolder, temporaryFolder } from "../../../../testkit/sqlite.ts"
import { putOf, sampleTimer } from "../../../../testkit/timers.ts"

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

  /** Timer a, whose entries are in the orders, and timer b, whose entries are in a run. */
  createOneInRun(): void {
    this.create("a")
    this.merge()
    this.create("b")
    this.merge()
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

const withRigAsync = async (work: (rig: Rig) => Promise<void>): Promise<void> => {
  const { database, lock } = openForWriting({ path: folder.database, shards: 1 })
  try {
    await work(new Rig(database))
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

test("the writer knows a run from the end of its merge, and forgets it at the end of its move", () =>
  withRig((rig) => {
    rig.create("a")
    rig.merge()
    rig.create("b")
    const merge = new Merge(rig.orders, smallRuns)
    merge.freeze()
    while (rig.orders.journal.frozen !== undefined) merge.slice(1)
    expect([rig.orders.runs.idOf(keyOf("shop", "b")), rig.orders.runs.timers]).toEqual([2, 1])
    movedWhole(rig.orders)
    expect(rig.orders.runs.timers).toBe(0)
  }))

test("a reader asks no more runs than there are", () =>
  withRig((rig) => {
    rig.createOneInRun()
    const reader = new ReaderOrders(rig.database, { isReadOnly: false })
    const runs = () => reader.atOneInstant(() => reader.shown.runs)
    // Statements are made for a few numbers of runs.
    expect(runs()).toBe(4)
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

test("runs whose entries follow each other are moved as fast as others", () =>
  withRig((rig) => {
    for (const run of ["a", "b", "c"]) {
      rig.create(...Array.from({ length: 20 }, (_, index) => `${run}-${10 + index}`))
      rig.merge({ ...smallRuns, fromTimers: 0 })
    }
    const moves = new RunMoves(rig.orders, smallRuns)
    expect([moves.slice(15), moves.slice(15), moves.slice(15), moves.slice(15), moves.slice(15)]).toEqual([
      15, 15, 15, 15, 0,
    ])
    expect(rig.count("run")).toEqual([0, 60, 60])
  }))

test("a key of a run cannot be created a second time", () =>
  withRig((rig) => {
    const writer = new Writer(rig.orders, new Lookup(rig.database, idsOfWriter(rig.orders)))
    const [first, second] = [sampleTimer({ timerId: "a" }), sampleTimer({ timerId: "b" })]
    const insert = (timer: Timer) => writer.insertNew(0, [timer])
    const stored = (timer: Timer) => {
      expect(insert(timer)).toEqual(["stored"])
      rig.merge()
    }
    stored(first)
    stored(second)
    expect(rig.count("run")).toEqual([1, 1, 1])
    expect([insert(first), insert(second)]).toEqual([["missed"], ["missed"]])
    const put = putOf(sampleTimer({ timerId: "b", fireAt: second.fireAt + 1 }))
    const { answers } = writer.write([{ shard: 0, epoch: 0, items: [put] }])
    expect(answers).toMatchObject([{ result: "written", answers: [{ result: "replaced" }] }])
    expect(rig.database.query("SELECT count(*) FROM timers").values()).toEqual([[2]])
  }))

test("a program of the version before that still has the file open cannot write any more", () =>
  withRig((rig) => {
    // What its statements name.
    expect(() => rig.database.query("SELECT frozen_seq, merged_seq FROM main.level0")).toThrow(
      "no such table",
    )
  }))

test("runs are moved after calls if there are enough of them, and others only after a long rest", () =>
  withRig((rig) => {
    const merging = mergingOf(rig.orders, 3)
    const work = new MergeWork(merging, rig.orders, { isHeld: true }, { moves: 3 })
    const afterCall = () =>
      work.afterCall((error) => {
        throw error
      })
    try {
      let most = 0
      for (let timer = 0; timer < 300; timer++) {
        rig.create(`t-${timer}`)
        afterCall()
        most = Math.max(most, rig.count("run")[0] ?? 0)
      }
      expect(most).toBeGreaterThan(3)
      expect(most).toBeLessThan(60)
      expect((rig.count("timer")[0] ?? 0) + (rig.count("run")[0] ?? 0)).toBeGreaterThan(280)
    } finally {
      work.close()
    }
  }))

test("a service that rests moves all runs, also those that it finds at its start", () =>
  withRigAsync(async (rig) => {
    const merging = mergingOf(rig.orders, 3)
    let slices = 0
    const lock = { isHeld: true }
    const limits = { moves: 3, restMs: 10 }
    const fail = (error: unknown) => {
      throw error
    }
    for (const begin of ["afterStart", "afterCall"] as const) {
      rig.create(`${begin}-a`)
      rig.merge()
      rig.create(`${begin}-b`)
      rig.merge()
      expect([rig.orders.journal.runs > 0, merging.runMoves.isDue]).toEqual([true, false])
      const work = new MergeWork(merging, rig.orders, lock, limits, () => slices++)
      if (begin === "afterCall") rig.create("c")
      work[begin](fail)
      await eventually("all runs are moved", () => rig.orders.journal.runs === 0 || undefined)
      work.close()
      expect(rig.count("run")).toEqual([0, 0, 0])
      expect(slices).toBeGreaterThan(3)
    }
  }))

test("runs are moved when they have a fifth of all timers, within bounds", () =>
  withRig((rig) => {
    const limits = { ...smallRuns, movedFrom: { least: 2, most: 20 }, mostRuns: 50, fromTimers: 0 }
    const ids = (name: string, count: number) =>
      Array.from({ length: count }, (_, index) => `${name}-${index}`)
    rig.create(...ids("old", 40))
    rig.merge(usualRuns)
    const moves = new RunMoves(rig.orders, limits)
    const dueAfter = (timers: number): boolean => {
      rig.create(...ids(`new-${timers}`, timers))
      rig.merge(limits)
      return moves.isDue
    }
    expect([dueAfter(9), dueAfter(4)]).toEqual([false, true])
  }))

test("a move that began in a rest does not go on under load, unless there are enough runs", () =>
  withRig((rig) => {
    rig.create("a")
    rig.merge()
    rig.create("b", "c")
    rig.merge()
    const moves = new RunMoves(rig.orders, smallRuns)
    moves.slice(1)
    expect(moves.isDue).toBe(false)
    rig.create("d", "e")
    rig.merge()
    expect(moves.isDue).toBe(true)
  }))

test("doctor finds keys that are missing in the filter of their run", () =>
  withRig((rig) => {
    const writer = new Writer(rig.orders, new Lookup(rig.database, idsOfWriter(rig.orders)))
    for (const timerId of ["a", "b"]) {
      writer.insertNew(0, [sampleTimer({ timerId })])
      rig.merge()
    }
    const faults = () => {
      const reader = new ReaderOrders(rig.database, { isReadOnly: false })
      return reader.atOneInstant(() => faultsOfOrders(reader))
    }
    expect(faults()).toEqual([])
    rig.database.run("UPDATE runs SET filter = zeroblob(8)")
    rig.database.run("DETACH l0a")
    rig.database.run("DETACH l0b")
    expect(faults()).toEqual(["the filter of run 1 lacks 1 of its ids"])
  }))

test("an entry that is in a run and in the orders stops the move", () =>
  withRig((rig) => {
    rig.createOneInRun()
    rig.database.run("INSERT INTO timer_keys SELECT namespace, timer_id, id FROM run_keys")
    expect(() => movedWhole(rig.orders)).toThrow(MergeContradiction)
    expect(rig.count("run")).toEqual([1, 1, 1])
  }))

test("doctor names entries of runs that do not exist", () =>
  withRig((rig) => {
    rig.createOneInRun()
    rig.database.run("UPDATE merging SET first_run = last_run + 1")
    const reader = new ReaderOrders(rig.database, { isReadOnly: false })
    expect(reader.atOneInstant(() => faultsOfOrders(reader))).toContain(
      "the order of ids has 1 in runs that do not exist",
    )
  }))

test("doctor counts the runs that have no row", () =>
  withRig((rig) => {
    rig.createOneInRun()
    rig.database.run("DELETE FROM runs")
    const reader = new ReaderOrders(rig.database, { isReadOnly: false })
    expect(reader.atOneInstant(() => faultsOfOrders(reader))).toContain(
      "1 of the runs that are in use have no row in the table runs",
    )
  }))

test("a run without its filter is damage", () =>
  withRig((rig) => {
    rig.createOneInRun()
    rig.database.run("DELETE FROM runs")
    expect(() => openOrders(rig.database, folder.database)).toThrow("run 1 of the orders is missing")
  }))
