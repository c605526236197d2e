// When the writer merges: after it has answered a call, never before. Under load it writes more entries after each commit
// than the commit has added, so that a merge always ends before the next layer is full. For each row that commits add to
// the journal, it later removes two that are merged, so that the journal stays short. In the same way it moves runs into the
// orders when there are enough of them. When nobody writes, it merges what there is, so that a start has little to read
// and reads need no layers. If nobody writes for longer, it also moves the runs that there are.
import { isTemporary } from "../failures.ts"
import type { ProcessLock } from "../ProcessLock.ts"
import { Merge } from "./Merge.ts"
import { RunMoves } from "./RunMoves.ts"
import { smallRuns, usualRuns } from "./Runs.ts"
import type { WriterOrders } from "./WriterOrders.ts"

/** A move is about 400 bytes in memory, so a layer has about 20 MiB. */
export const usualLayerMoves = 50_000

/** With long ids a layer is full before it has so many moves. */
const usualLayerBytes = 32 << 20

/** When a layer is full. Tests choose small ones. */
export interface LayerLimits {
  readonly moves?: number | undefined
  readonly bytes?: number | undefined
  /** How long nobody writes before all runs are moved. */
  readonly restMs?: number | undefined
}

/** Such a slice takes about 5 ms. */
const usualSliceEntries = 2_500

/** A move has at most four entries to write and to remove. */
const entriesAMove = 5

/** While runs are moved. A new timer adds three entries to them. */
const movedAMove = 4

/** How many merged rows of the journal are removed for each row that a commit adds. */
const removedARow = 2
/** Rows are removed when so many should be, or after so many moves: a row of a large commit is large. */
const usualRowsOwed = 200
const usualMovesBetween = 5_000
const mostRemovingMs = 10

/** For tests with small layers: merges proceed unevenly, so that calls meet every state of them. */
const unevenEntriesAMove = [0, 5, 1, 12, 3]
const mostUneven = 100

/** Merges of a call stop after this time, unless the layer is too full. */
const mostMs = 20
/** Then moves of runs go on until so long after the beginning, but at least one slice is done. */
const mostWithMovesMs = 30
/** A disk that was slow for long should not keep later calls waiting. */
const mostRunDebt = 25_000

/** A slice of a move has as many entries as take about so long. Before the first one nobody knows how fast the disk is. */
const movingMs = 6
const fewestMoved = 100
const firstMoved = 500

const quietMs = 250
/** Runs are moved early only after so long a rest, because few runs share few pages with the orders. */
const usualRestMs = 10_000
const oldestMs = 10_000
const betweenSlicesMs = 5
const afterBusyMs = 1_000

const isForTests = (layerMoves = usualLayerMoves): boolean => layerMoves < mostUneven

/** What merges a store, and moves its runs. With small layers, for tests, there are also small runs. */
export const mergingOf = (
  orders: WriterOrders,
  layerMoves?: number,
): { readonly merge: Merge; readonly runMoves: RunMoves } => {
  const limits = isForTests(layerMoves) ? smallRuns : usualRuns
  return { merge: new Merge(orders, limits), runMoves: new RunMoves(orders, limits) }
}

export class MergeWork {
  readonly #merge: Merge
  readonly #runMoves: RunMoves
  readonly #orders: WriterOrders
  readonly #lock: Pick<ProcessLock, "isHeld">
  readonly #layerMoves: number
  readonly #isForTests: boolean
  readonly #layerBytes: number
  readonly #sliceEntries: number
  readonly #rowsOwedMost: number
  readonly #restMs: number
  readonly #afterQuietSlice: () => void
  #calls = 0
  #movesBefore = 0
  /** Entries that should be written by now. */
  #debt = 0
  /** Entries of runs that should be moved by now, and how many one slice moves. */
  #runDebt = 0
  #movedASlice: number
  #seqBefore: number
  /** Rows of the journal that should be removed by now, and the moves since rows were removed. */
  #rowsOwed = 0
  #movesSinceRemoval = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #wakesAt = 0
  #lastCallAt = 0
  #waitingSince: number | undefined

  constructor(
    { merge, runMoves }: { readonly merge: Merge; readonly runMoves: RunMoves },
    orders: WriterOrders,
    lock: Pick<ProcessLock, "isHeld">,
    limits: LayerLimits = {},
    /** Called after work that is not followed by a call, because it fills the log, too. */
    afterQuietSlice: () => void = () => {},
  ) {
    const { moves: layerMoves = usualLayerMoves, bytes = usualLayerBytes, restMs = usualRestMs } = limits
    this.#merge = merge
    this.#runMoves = runMoves
    this.#orders = orders
    this.#lock = lock
    this.#layerMoves = layerMoves
    this.#layerBytes = bytes
    this.#restMs = restMs
    this.#isForTests = isForTests(layerMoves)
    this.#sliceEntries = this.#isForTests ? 1 : usualSliceEntries
    this.#rowsOwedMost = this.#isForTests ? 2 * removedARow : usualRowsOwed
    this.#seqBefore = orders.journal.knownSeq
    this.#movedASlice = this.#isForTests ? 1 : firstMoved
    this.#afterQuietSlice = afterQuietSlice
  }

  /** A service that nobody writes to moves the runs that its predecessor has left. */
  afterStart(onError: (error: unknown) => void): void {
    if (!this.#lock.isHeld || this.#orders.journal.runs === 0) return
    this.#lastCallAt = performance.now()
    this.#wake(this.#restMs, onError)
  }

  /** Must be called after a call was answered. */
  afterCall(onError: (error: unknown) => void): void {
    if (!this.#lock.isHeld) return
    const { totalMoves } = this.#orders
    const moved = totalMoves - this.#movesBefore
    this.#movesBefore = totalMoves
    if (moved > 0) {
      this.#lastCallAt = performance.now()
      this.#waitingSince ??= this.#lastCallAt
    }
    // First, because what follows may find the file busy.
    if (this.#waitingSince !== undefined) this.#wake(quietMs, onError)
    this.#runDebt = this.#runMoves.isDue ? Math.min(mostRunDebt, this.#runDebt + moved * movedAMove) : 0
    this.#movesSinceRemoval += moved
    if (this.#orders.journal.frozen === undefined && this.#fullness >= 1) this.#merge.freeze()
    if (this.#orders.journal.frozen !== undefined) this.#debt += moved * this.#pace()
    const startedAt = performance.now()
    this.#payDebt(startedAt + mostMs)
    this.#moveRuns(startedAt + mostWithMovesMs)
    this.#shortenJournal()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** 1 if the upper layer is full. */
  get #fullness(): number {
    return Math.max(this.#orders.moves / this.#layerMoves, this.#orders.bytes / this.#layerBytes)
  }

  #pace(): number {
    if (!this.#isForTests) return entriesAMove
    return unevenEntriesAMove[this.#calls++ % unevenEntriesAMove.length] ?? entriesAMove
  }

  #payDebt(until: number): void {
    // A layer that grows too large is worse than a call that waits.
    const deadline = this.#fullness > 2 ? Number.POSITIVE_INFINITY : until
    while (this.#debt >= this.#sliceEntries && performance.now() < deadline) {
      const written = this.#merge.slice(this.#sliceEntries)
      // A step without entries, such as sorting, also takes time.
      this.#debt = written === undefined ? 0 : this.#debt - Math.max(written, this.#sliceEntries / 5)
    }
  }

  /** Moves entries of runs, if there are enough runs. At least one slice, because runs cost reads. */
  #moveRuns(deadline: number): void {
    while (this.#runDebt >= this.#movedASlice) {
      const entries = this.#sliceOfRuns()
      // A step without entries also takes time.
      this.#runDebt = entries === undefined ? 0 : this.#runDebt - Math.max(entries, this.#movedASlice / 5)
      if (performance.now() >= deadline) return
    }
  }

  #sliceOfRuns(): number | undefined {
    const startedAt = performance.now()
    const entries = this.#runMoves.slice(this.#movedASlice)
    const tookMs = performance.now() - startedAt
    if (!this.#isForTests && entries === this.#movedASlice) {
      const fitting = (entries * movingMs) / Math.max(1, tookMs)
      // Not at once: one slow slice says little.
      const next = Math.round((this.#movedASlice + fitting) / 2)
      this.#movedASlice = Math.min(usualSliceEntries, Math.max(fewestMoved, next))
    }
    return entries
  }

  /** Removes merged rows of the journal if enough should be removed by now. If there are none, none are owed. */
  #shortenJournal(): void {
    const { knownSeq } = this.#orders.journal
    this.#rowsOwed += removedARow * (knownSeq - this.#seqBefore)
    this.#seqBefore = knownSeq
    if (this.#rowsOwed < this.#rowsOwedMost && this.#movesSinceRemoval < usualMovesBetween) return
    this.#movesSinceRemoval = 0
    const deadline = performance.now() + mostRemovingMs
    while (this.#rowsOwed > 0 && performance.now() < deadline) {
      const removed = this.#merge.removeMerged(this.#rowsOwedMost)
      this.#rowsOwed = removed === 0 ? 0 : this.#rowsOwed - removed
    }
  }

  #wake(afterMs: number, onError: (error: unknown) => void): void {
    const at = performance.now() + afterMs
    if (this.#timer !== undefined && this.#wakesAt <= at) return
    clearTimeout(this.#timer)
    this.#wakesAt = at
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      try {
        const next = this.#workQuietly()
        if (next !== undefined) this.#wake(next, onError)
      } catch (error) {
        if (isTemporary(error)) this.#wake(afterBusyMs, onError)
        else onError(error)
      }
    }, afterMs)
  }

  /** Returns when to continue, if there is something left to do. */
  #workQuietly(): number | undefined {
    if (!this.#lock.isHeld) return undefined
    const now = performance.now()
    const isOld = this.#waitingSince !== undefined && now - this.#waitingSince > oldestMs
    const quietForMs = now - this.#lastCallAt
    if (quietForMs < quietMs && !isOld) return quietMs - quietForMs
    this.#waitingSince = undefined
    this.#merge.freeze()
    let done = this.#merge.slice(this.#sliceEntries)
    if (done === undefined && this.#orders.journal.runs > 0) {
      if (quietForMs < this.#restMs) return this.#restMs - quietForMs
      done = this.#sliceOfRuns()
    }
    if (done === undefined) return undefined
    this.#afterQuietSlice()
    return betweenSlicesMs
  }
}
