// Writes the frozen layer into the orders of pending timers, in slices. A slice is a transaction of its own, which needs
// no fsync: the journal has everything until the merge has ended, and the next commit makes all earlier transactions
// durable.
//
// Each pass goes through one order in its own sequence. First the passes that remove entries, because a new timer can have
// the key of an ended one. Every statement has the same result however often it is executed. An entry of a key that
// belongs to another row would mean that a key has two pending timers: then the merge stops, and the process ends.
//
// If the orders are large, the entries of new timers go into a run instead (Runs.ts). If such a key also has an entry in another
// place, the move of the run finds it.
import type { Changes, Statement } from "bun:sqlite"
import type { TimerKey } from "../../../domain/Timer.ts"
import { prepareAll } from "../prepareAll.ts"
import { bitsOf, KeyFilter } from "./KeyFilter.ts"
import { quietTransaction } from "./quietTransaction.ts"
import { type RunLimits, usualRuns } from "./Runs.ts"
import type { MovedRow, WriterOrders } from "./WriterOrders.ts"

/** The journal and the orders contradict each other. After it nothing may be acknowledged. */
export class MergeContradiction extends Error {}

/** One entry to remove or to write. */
interface Entry {
  readonly row: MovedRow
  readonly fireAt: number
  readonly fireId: string
}

interface Pass {
  readonly statement: keyof typeof mergeSql
  readonly entries: ReadonlyArray<Entry>
  readonly compare: (a: Entry, b: Entry) => number
}

interface Progress {
  readonly ofSeq: number
  readonly passes: Array<Pass>
  readonly created: number
  readonly ended: number
  /** The keys that were written. It is stored if they are in a run. */
  readonly filter: KeyFilter
  /** The entries of the first pass, in parts that are sorted one after the other, each with the next entry to write. */
  sorted: Array<{ readonly entries: ReadonlyArray<Entry>; next: number }>
}

/** A part is sorted in about 10 ms. */
const entriesAPart = 8_000

/** A slice ends after this time, because commits wait for it. */
const sliceMs = 20
const entriesBetweenLooks = 64

/** What one transaction removes of the journal. The row of a large commit has hundreds of pages. */
const removedRows = 200
const removedBytes = 2 << 20

export class Merge {
  readonly #orders: WriterOrders
  readonly #limits: RunLimits
  readonly #sql: { readonly [name in keyof typeof mergeSql]: Statement }
  #progress: Progress | undefined

  constructor(orders: WriterOrders, limits: RunLimits = usualRuns) {
    this.#orders = orders
    this.#limits = limits
    this.#sql = prepareAll(orders.database, mergeSql)
  }

  /** Freezes the upper layer, unless it is empty or a merge is under way. Returns whether there is something to merge. */
  freeze(): boolean {
    const orders = this.#orders
    const { journal } = orders
    if (journal.frozen !== undefined) return true
    if (orders.moves === 0) return false
    return this.#transaction(() => {
      if (journal.frozen !== undefined) return true
      if (orders.moves === 0) return false
      const toRun = this.#isForRun()
      this.#sql.freeze.run(journal.knownSeq, toRun ? 1 : 0)
      journal.freezeAt(journal.knownSeq, toRun)
      return true
    })
  }

  /** Whether the upper layer is large enough for a run, and the orders so large that it would share few pages there. */
  #isForRun(): boolean {
    const { fromTimers, leastTimers, mostRuns } = this.#limits
    const orders = this.#orders
    if (orders.moves < leastTimers || orders.journal.runs >= mostRuns) return false
    return orders.mergedTimers >= fromTimers && orders.created >= leastTimers
  }

  /** Writes at most so many entries, and returns how many. `undefined` if there was nothing left to do. */
  slice(mostEntries: number): number | undefined {
    if (this.#orders.journal.frozen === undefined) return this.removeMerged() > 0 ? 0 : undefined
    const written = this.#written(mostEntries)
    if (written !== "merged") return written
    this.#progress = undefined
    this.#orders.leaveFrozen()
    return 0
  }

  /** Removes at most so many rows of the journal that are in the orders, in one transaction. Returns how many. */
  removeMerged(mostRows = removedRows): number {
    const rows = this.#sql.firstRows.all(this.#orders.journal.mergedSeq, Math.min(mostRows, removedRows))
    let until: number | undefined
    let bytes = 0
    for (const row of rows as ReadonlyArray<{ readonly seq: number; readonly bytes: number }>) {
      bytes += row.bytes
      if (until !== undefined && bytes > removedBytes) break
      until = row.seq
    }
    if (until === undefined) return 0
    const last = until
    return this.#transaction(() => this.#sql.removeRows.run(last).changes)
  }

  /** Writes everything into the orders and empties the journal. */
  finish(): void {
    while (this.freeze()) {
      while (this.#orders.journal.frozen !== undefined) this.slice(entriesOfFinish)
    }
    while (this.removeMerged() > 0) {}
  }

  #transaction<A>(body: () => A): A {
    return quietTransaction(this.#orders, body)
  }

  #written(mostEntries: number): number | "merged" {
    try {
      return this.#transaction(() => this.#write(mostEntries))
    } catch (error) {
      // Then the merge begins again, because its statements may be repeated.
      this.#progress = undefined
      throw error
    }
  }

  #write(mostEntries: number): number | "merged" {
    const { frozen, frozenSeq } = this.#orders.journal
    if (frozen === undefined) return 0
    const progress =
      this.#progress?.ofSeq === frozenSeq
        ? this.#progress
        : { ofSeq: frozenSeq, ...planOf(this.#orders.frozenRows), sorted: [] }
    this.#progress = progress
    const [pass] = progress.passes
    if (pass === undefined) {
      this.#end(progress)
      return "merged"
    }
    const from = progress.sorted.length * entriesAPart
    if (from < pass.entries.length) {
      const entries = pass.entries.slice(from, from + entriesAPart).sort(pass.compare)
      progress.sorted.push({ entries, next: 0 })
      return 0
    }
    const deadline = performance.now() + sliceMs
    for (let written = 0; ; written++) {
      if (written === mostEntries) return written
      if (written % entriesBetweenLooks === entriesBetweenLooks - 1 && performance.now() > deadline)
        return written
      const entry = nextOf(progress.sorted, pass.compare)
      if (entry === undefined) {
        progress.passes.shift()
        progress.sorted = []
        return written
      }
      this.#execute(pass.statement, entry, progress.filter)
    }
  }

  #execute(name: Pass["statement"], { row, fireAt, fireId }: Entry, filter: KeyFilter): void {
    const { id, shard, key } = row
    const run = row.from === undefined ? this.#orders.journal.frozenRun : undefined
    switch (name) {
      case "removeKey":
        if (this.#wasInRun(key, (from) => this.#sql.removeRunKey.run(from, key.namespace, key.timerId, id)))
          return
        this.#sql.removeKey.run(key.namespace, key.timerId, id)
        return
      case "writeKey": {
        filter.add(bitsOf(key))
        const { changes } =
          run === undefined
            ? this.#sql.writeKey.run(key.namespace, key.timerId, id)
            : this.#sql.writeRunKey.run(run, key.namespace, key.timerId, id)
        if (changes === 1) return
        throw new MergeContradiction(`the key of the row ${id} of timers belongs to another row`)
      }
      case "removeDue":
        if (this.#wasInRun(key, (from) => this.#sql.removeRunDue.run(from, shard, fireAt, fireId, id))) return
        this.#sql.removeDue.run(shard, fireAt, fireId, id)
        return
      case "writeDue":
        if (run === undefined) this.#sql.writeDue.run(shard, fireAt, fireId, id, key.namespace)
        else this.#sql.writeRunDue.run(run, shard, fireAt, fireId, id, key.namespace)
        return
      case "removeTime":
        if (
          this.#wasInRun(key, (from) => this.#sql.removeRunTime.run(from, key.namespace, fireAt, fireId, id))
        )
          return
        this.#sql.removeTime.run(key.namespace, fireAt, fireId, id)
        return
      case "writeTime":
        if (run === undefined) this.#sql.writeTime.run(key.namespace, fireAt, fireId, id, shard)
        else this.#sql.writeRunTime.run(run, key.namespace, fireAt, fireId, id, shard)
    }
  }

  /** Whether `remove` has removed the entry from a run. */
  #wasInRun(key: TimerKey, remove: (run: number) => Changes): boolean {
    return this.#orders.runs.of(key).some((run) => remove(run).changes === 1)
  }

  /** All entries are written. */
  #end({ created, ended, filter }: Progress): void {
    const { frozenRun } = this.#orders.journal
    if (frozenRun !== undefined) this.#sql.addRun.run(frozenRun, created, filter.bytes)
    this.#sql.merged.run(created - ended)
  }
}

const entriesOfFinish = 5_000

/** The first entry of all parts that is not yet written. */
const nextOf = (parts: Progress["sorted"], compare: Pass["compare"]): Entry | undefined => {
  let first: Entry | undefined
  let part: Progress["sorted"][number] | undefined
  for (const candidate of parts) {
    const entry = candidate.entries[candidate.next]
    if (entry === undefined || (first !== undefined && compare(first, entry) <= 0)) continue
    first = entry
    part = candidate
  }
  if (part !== undefined) part.next++
  return first
}

const mergeSql = {
  freeze: "UPDATE main.merging SET frozen_seq = ?1, frozen_to_run = ?2 WHERE one = 1",
  merged: `UPDATE main.merging SET merged_seq = frozen_seq, last_run = last_run + frozen_to_run, frozen_to_run = 0,
    merged_timers = merged_timers + ?1 WHERE one = 1`,
  addRun: "INSERT INTO main.runs (run, timers, filter) VALUES (?1, ?2, ?3)",
  firstRows:
    "SELECT seq, octet_length(entries) AS bytes FROM main.journal WHERE seq <= ?1 ORDER BY seq LIMIT ?2",
  removeRows: "DELETE FROM main.journal WHERE seq <= ?1",
  removeKey: "DELETE FROM main.timer_keys WHERE namespace = ?1 AND timer_id = ?2 AND id = ?3",
  writeKey: `INSERT INTO main.timer_keys (namespace, timer_id, id) VALUES (?1, ?2, ?3)
    ON CONFLICT (namespace, timer_id) DO UPDATE SET id = excluded.id WHERE id = excluded.id`,
  removeDue: `DELETE FROM main.timer_dues
    WHERE shard = ?1 AND fire_at = ?2 AND fire_id = unhex(?3, '-') AND id = ?4`,
  writeDue: `INSERT OR IGNORE INTO main.timer_dues (shard, fire_at, fire_id, id, namespace)
    VALUES (?1, ?2, unhex(?3, '-'), ?4, ?5)`,
  removeRunKey: "DELETE FROM main.run_keys WHERE run = ?1 AND namespace = ?2 AND timer_id = ?3 AND id = ?4",
  writeRunKey: `INSERT INTO main.run_keys (run, namespace, timer_id, id) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (run, namespace, timer_id) DO UPDATE SET id = excluded.id WHERE id = excluded.id`,
  removeRunDue: `DELETE FROM main.run_dues
    WHERE run = ?1 AND shard = ?2 AND fire_at = ?3 AND fire_id = unhex(?4, '-') AND id = ?5`,
  writeRunDue: `INSERT OR IGNORE INTO main.run_dues (run, shard, fire_at, fire_id, id, namespace)
    VALUES (?1, ?2, ?3, unhex(?4, '-'), ?5, ?6)`,
  removeRunTime: `DELETE FROM main.run_times
    WHERE run = ?1 AND namespace = ?2 AND fire_at = ?3 AND fire_id = unhex(?4, '-') AND id = ?5`,
  writeRunTime: `INSERT OR IGNORE INTO main.run_times (run, namespace, fire_at, fire_id, id, shard)
    VALUES (?1, ?2, ?3, unhex(?4, '-'), ?5, ?6)`,
  removeTime: `DELETE FROM main.timer_times
    WHERE namespace = ?1 AND fire_at = ?2 AND fire_id = unhex(?3, '-') AND id = ?4`,
  writeTime: `INSERT OR IGNORE INTO main.timer_times (namespace, fire_at, fire_id, id, shard)
    VALUES (?1, ?2, unhex(?3, '-'), ?4, ?5)`,
} as const

const planOf = (rows: Iterable<MovedRow>): Pick<Progress, "passes" | "created" | "ended" | "filter"> => {
  const [removed, written, ended, created]: [Array<Entry>, Array<Entry>, Array<Entry>, Array<Entry>] = [
    [],
    [],
    [],
    [],
  ]
  for (const row of rows) {
    const { from, to } = row
    if (from !== undefined) removed.push({ row, ...from })
    if (to !== undefined) written.push({ row, ...to })
    if (to === undefined && from !== undefined) ended.push({ row, ...from })
    if (from === undefined && to !== undefined) created.push({ row, ...to })
  }
  const passes: ReadonlyArray<Pass> = [
    { statement: "removeKey", entries: ended, compare: byKey },
    { statement: "removeDue", entries: removed, compare: byDue },
    { statement: "removeTime", entries: removed, compare: byTime },
    { statement: "writeKey", entries: created, compare: byKey },
    { statement: "writeDue", entries: written, compare: byDue },
    { statement: "writeTime", entries: written, compare: byTime },
  ]
  return {
    passes: passes.filter(({ entries }) => entries.length > 0),
    created: created.length,
    ended: ended.length,
    filter: KeyFilter.for(created.length),
  }
}

const compared = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const byKey = ({ row: { key: a } }: Entry, { row: { key: b } }: Entry): number =>
  compared(a.namespace, b.namespace) || compared(a.timerId, b.timerId)

const byInstant = (a: Entry, b: Entry): number => a.fireAt - b.fireAt || compared(a.fireId, b.fireId)

const byDue = (a: Entry, b: Entry): number => a.row.shard - b.row.shard || byInstant(a, b)

const byTime = (a: Entry, b: Entry): number =>
  compared(a.row.key.namespace, b.row.key.namespace) || byInstant(a, b)
