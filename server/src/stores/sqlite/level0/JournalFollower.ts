// Level 0: commits write a journal, and only merges write the orders of pending timers.
//
// A timer has a row with its fields, and an entry in each of three orders: by key, by due time in its shard, and by due
// time in its namespace. New rows are appended to the end of their table. But the entry of a new timer belongs to a
// random place in each order. If each commit wrote its entries, it would write a page of 4 KiB for each of them,
// and read it before, if the file is larger than the memory. So a commit writes rows, and one row of the journal with its
// moves (Move.ts). A merge (Merge.ts) writes the entries of many commits, sorted, so that neighbours share pages.
//
// What is durable when:
//  - A commit is durable with all its rows: timers, bodies, history, dead letters, words, tally. Rows are always
//    in their tables. Only where a pending timer is in the three orders is in the journal.
//  - A freeze stores `frozen_seq`, the last row of the journal. The moves up to there are the frozen layer.
//  - A merge writes the frozen layer into the orders, in slices. Each slice is a transaction of its own.
//  - The end of a merge sets `merged_seq` to `frozen_seq`. From then on nobody reads the journal up to there, and its
//    rows are removed in slices.
//  - If the orders are large, a merge writes new timers into a run (Runs.ts), which readers ask beside the orders from the end
//    of the merge on. A slice that moves entries of runs into the orders (RunMoves.ts) is a transaction: each entry is
//    in a run or in the orders. So nothing must be stored about how far a move has come.
//
// What a start does: it reads the journal above `merged_seq`. The moves up to `frozen_seq` become the frozen layer again,
// those after it the upper layer, as before. Then the merge of the frozen layer begins again. Its statements have the
// same result however often they are executed, so it does not matter how far it had come.
//
// What a read does: it sees the upper layer over the frozen one over the tables. Every id that a layer has moved
// is hidden in all levels below, whatever a merge has already written there. So no timer is missing, and none appears
// twice.
//
// Each connection follows the journal inside its own transaction, so that its layers and the tables show the same
// instant: the writer in maps (WriterOrders.ts), readers in a database in memory (ReaderOrders.ts). A second process that
// writes without the store's lock appends to the journal as well. Only the process with the lock freezes and merges.
import type { Database, Statement } from "bun:sqlite"
import { prepareAll } from "../prepareAll.ts"
import { DamagedJournal, type Move, movesOfText } from "./Move.ts"

/** The two layers change their roles with each freeze. */
export type LayerNumber = 0 | 1

export interface JournalState {
  readonly upper: LayerNumber
  /** The last row of the journal that the layers have. */
  readonly knownSeq: number
  readonly frozenSeq: number
  readonly mergedSeq: number
  /** The runs in use. There is none if the last one is lower than the first one. */
  readonly firstRun: number
  readonly lastRun: number
  /** Whether the new timers of the frozen layer get into a run, which follows the last one. */
  readonly isFrozenToRun: boolean
}

const beginning: JournalState = {
  upper: 0,
  knownSeq: 0,
  frozenSeq: 0,
  mergedSeq: 0,
  firstRun: 1,
  lastRun: 0,
  isFrozenToRun: false,
}

/** Where a connection keeps the moves. */
export interface Layers {
  apply(layer: LayerNumber, move: Move): void
  clear(layer: LayerNumber): void
}

export class JournalFollower {
  readonly #layers: Layers
  readonly #sql: { readonly [name in keyof typeof followSql]: Statement }
  #state = beginning

  constructor(database: Database, layers: Layers) {
    this.#layers = layers
    this.#sql = prepareAll(database, followSql)
  }

  get upper(): LayerNumber {
    return this.#state.upper
  }

  /** The layer that is being merged. */
  get frozen(): LayerNumber | undefined {
    const { upper, frozenSeq, mergedSeq } = this.#state
    return frozenSeq > mergedSeq ? otherOf(upper) : undefined
  }

  get knownSeq(): number {
    return this.#state.knownSeq
  }

  get frozenSeq(): number {
    return this.#state.frozenSeq
  }

  get mergedSeq(): number {
    return this.#state.mergedSeq
  }

  /** Reads what the journal has beyond what is known. Must run inside a transaction. Returns whether it found anything. */
  follow(): boolean {
    const stored = this.#sql.state.get() as StoredState | null
    if (stored === null) throw new DamagedJournal("the row of the table merging is missing")
    const { frozen_seq: frozenSeq, merged_seq: mergedSeq, last_seq: lastSeq } = stored
    const { first_run: firstRun, last_run: lastRun } = stored
    const before = this.#state
    const isMoved = firstRun !== before.firstRun || lastRun !== before.lastRun
    const isMerged = mergedSeq !== before.mergedSeq || frozenSeq !== before.frozenSeq
    if (!isMoved && !isMerged && lastSeq <= before.knownSeq) return false
    if (mergedSeq > before.mergedSeq) this.#leaveMerged(mergedSeq)
    if (frozenSeq > this.#state.frozenSeq) {
      this.#readUntil(frozenSeq)
      this.freezeAt(frozenSeq, stored.frozen_to_run === 1)
    }
    this.#state = { ...this.#state, firstRun, lastRun }
    this.#readUntil(lastSeq)
    return true
  }

  /** The upper layer becomes the frozen one. */
  freezeAt(frozenSeq: number, isFrozenToRun: boolean): void {
    if (this.frozen !== undefined) throw new Error("a layer was frozen while another one was being merged")
    this.#state = { ...this.#state, upper: otherOf(this.#state.upper), frozenSeq, isFrozenToRun }
  }

  /** The frozen layer is in the tables. */
  leaveFrozen(): void {
    this.#layers.clear(otherOf(this.#state.upper))
    const { frozenSeq, lastRun, isFrozenToRun } = this.#state
    const withRun = isFrozenToRun ? { lastRun: lastRun + 1, isFrozenToRun: false } : {}
    this.#state = { ...this.#state, mergedSeq: frozenSeq, ...withRun }
  }

  /** The run that the merge of the frozen layer writes, if it writes one. */
  get frozenRun(): number | undefined {
    return this.#state.isFrozenToRun ? this.#state.lastRun + 1 : undefined
  }

  /** How many runs are in use. */
  get runs(): number {
    return this.#state.lastRun - this.#state.firstRun + 1
  }

  /** The runs up to this one are in the orders. */
  leaveRuns(lastMoved: number): void {
    this.#state = { ...this.#state, firstRun: lastMoved + 1 }
  }

  /** The next row of the journal has this number. Its moves are already in the upper layer. */
  appended(seq: number): void {
    this.#state = { ...this.#state, knownSeq: seq }
  }

  get nextSeq(): number {
    return Math.max(this.#state.knownSeq, this.#state.frozenSeq) + 1
  }

  /** For a rollback. */
  get state(): JournalState {
    return this.#state
  }

  set state(state: JournalState) {
    this.#state = state
  }

  /**
   * A freeze ends at the last row of the journal. So what was merged since the last look is all of the frozen layer, and
   * all or nothing of the upper one.
   */
  #leaveMerged(mergedSeq: number): void {
    const { upper, frozenSeq, knownSeq } = this.#state
    if (mergedSeq >= frozenSeq) this.#layers.clear(otherOf(upper))
    if (mergedSeq > frozenSeq) this.#layers.clear(upper)
    this.#state = {
      ...this.#state,
      mergedSeq,
      frozenSeq: Math.max(frozenSeq, mergedSeq),
      knownSeq: Math.max(knownSeq, mergedSeq),
      isFrozenToRun: false,
    }
  }

  #readUntil(untilSeq: number): void {
    for (let seq = this.#state.knownSeq + 1; seq <= untilSeq; seq++) {
      const row = this.#sql.row.get(seq) as { readonly entries: string } | null
      for (const move of movesOfRow(seq, row)) this.#layers.apply(this.#state.upper, move)
      this.appended(seq)
    }
  }
}

export const otherOf = (layer: LayerNumber): LayerNumber => (layer === 0 ? 1 : 0)

interface StoredState {
  readonly frozen_seq: number
  readonly merged_seq: number
  readonly last_seq: number
  readonly first_run: number
  readonly last_run: number
  readonly frozen_to_run: number
}

const followSql = {
  state: `SELECT frozen_seq, merged_seq, first_run, last_run, frozen_to_run, coalesce((SELECT max(seq) FROM main.journal), 0) AS last_seq
    FROM main.merging WHERE one = 1`,
  row: "SELECT entries FROM main.journal WHERE seq = ?1",
} as const

/** A row that is missing is damage, as a row that cannot be read. */
const movesOfRow = (seq: number, row: { readonly entries: string } | null): ReadonlyArray<Move> => {
  if (row === null) throw new DamagedJournal(`row ${seq} of the journal is missing`)
  try {
    return movesOfText(row.entries)
  } catch (error) {
    throw new DamagedJournal(
      `row ${seq} of the journal cannot be read: ${error instanceof Error ? error.message : error}`,
    )
  }
}
