// The counts of one pass over the shards of a node, and how far the pass has come. All shards are walked side by side
// in due order, so that the counts are complete up to an instant long before the pass ends.
//
// Every write moves a timer from one place of the due order to another. The part of a move that is at or before the
// place that the walk of its shard has reached changes the counts. The walk itself finds the rest later. A page may or
// may not show a write that is answered while the page is read. So these keys are left out of the page, and their last
// known places count instead. If a page shows a write whose answer arrives after the page, the timer counts twice until
// the next pass.
import { beginning, type Cursor, isBefore } from "../../domain/DueOrder.ts"
import type { TimerHead, Uuid } from "../../domain/Timer.ts"
import type { HeldShard } from "../ownership/LeaseHolder.ts"
import { CensusCells } from "./CensusCells.ts"
import type { PendingMove } from "./PendingMove.ts"

interface Walk extends HeldShard {
  /** All timers at or before this place are counted. */
  reached: Cursor
  timers: number
}

const end: Cursor = { fireAt: Number.POSITIVE_INFINITY, fireId: "" }

export class CensusTable {
  readonly startedAtMs: number
  readonly cells: CensusCells
  readonly #walks: ReadonlyMap<number, Walk>
  /** The walk whose next page is read, and the keys that were written since. */
  #reading: { readonly walk: Walk; readonly moves: Map<Uuid, PendingMove> } | undefined

  constructor(shards: ReadonlyArray<HeldShard>, startedAtMs: number, mostCells: number) {
    this.startedAtMs = startedAtMs
    this.cells = new CensusCells(mostCells)
    this.#walks = new Map(
      shards.map(({ shard, epoch }) => [shard, { shard, epoch, reached: beginning, timers: 0 }]),
    )
  }

  /** The shard that is behind the others, and where its next page begins. `undefined` if all shards are counted. */
  beginPage(): (HeldShard & { readonly exclusiveAfter: Cursor }) | undefined {
    let behind: Walk | undefined
    for (const walk of this.#walks.values()) {
      if (behind === undefined || isBefore(walk.reached, behind.reached)) behind = walk
    }
    if (behind === undefined || behind.reached === end) return undefined
    this.#reading = { walk: behind, moves: new Map() }
    const { shard, epoch, reached } = behind
    return { shard, epoch, exclusiveAfter: reached }
  }

  /** Takes the page that was read. */
  finishPage(heads: ReadonlyArray<TimerHead>, isLast: boolean): void {
    const reading = this.#reading
    if (reading === undefined) throw new Error("a page of the census was not asked for")
    this.#reading = undefined
    const { walk, moves } = reading
    const before = walk.reached
    walk.reached = isLast ? end : (heads.at(-1) ?? end)
    for (const head of heads) if (!moves.has(head.uuid)) this.#count(walk, head.namespace, head.fireAt)
    for (const { namespace, from, to } of moves.values()) {
      if (from !== undefined && !isBefore(before, from)) this.#uncount(walk, namespace, from.fireAt)
      if (to !== undefined && !isBefore(walk.reached, to)) this.#count(walk, namespace, to.fireAt)
    }
  }

  /** The page could not be read. The moves since then count as usual. */
  abandonPage(): void {
    const reading = this.#reading
    this.#reading = undefined
    for (const move of reading?.moves.values() ?? [])
      if (reading !== undefined) this.#apply(reading.walk, move)
  }

  note({ shard, epoch }: HeldShard, move: PendingMove): void {
    const walk = this.#walks.get(shard)
    if (walk?.epoch !== epoch) return
    const reading = this.#reading
    if (reading?.walk !== walk) {
      this.#apply(walk, move)
      return
    }
    const earlier = reading.moves.get(move.uuid)
    if (earlier === undefined) reading.moves.set(move.uuid, move)
    else {
      // What counts is where the timer was before the page, and where it is now.
      const { from: _, ...rest } = move
      reading.moves.set(move.uuid, earlier.from === undefined ? rest : { ...rest, from: earlier.from })
    }
  }

  /** All timers before this instant are counted. Infinity after the pass. */
  get completeUntilMs(): number {
    let until = Number.POSITIVE_INFINITY
    for (const { reached } of this.#walks.values()) until = Math.min(until, reached.fireAt)
    return until
  }

  /** Whether the table counts exactly these shards, under their epochs. */
  isOf(shards: ReadonlyArray<HeldShard>): boolean {
    return shards.length === this.#walks.size && shards.every((held) => this.#has(held))
  }

  /**
   * By how much to multiply the counts for these shards. Keys are spread evenly over the shards, so shards that the
   * table lacks have about as many timers in each cell, and shards that it has too many, too. 0 if it has none of them.
   */
  scaleFor(shards: ReadonlyArray<HeldShard>): number {
    const common = shards.filter((held) => this.#has(held))
    if (common.length === 0) return 0
    if (common.length === this.#walks.size) return shards.length / common.length
    let [all, ours] = [0, 0]
    for (const { timers } of this.#walks.values()) all += timers
    for (const { shard } of common) ours += this.#walks.get(shard)?.timers ?? 0
    return all === 0 ? 0 : (ours / all) * (shards.length / common.length)
  }

  #has({ shard, epoch }: HeldShard): boolean {
    return this.#walks.get(shard)?.epoch === epoch
  }

  #apply(walk: Walk, { namespace, from, to }: PendingMove): void {
    if (from !== undefined && !isBefore(walk.reached, from)) this.#uncount(walk, namespace, from.fireAt)
    if (to !== undefined && !isBefore(walk.reached, to)) this.#count(walk, namespace, to.fireAt)
  }

  #count(walk: Walk, namespace: string, atMs: number): void {
    if (isReserved(namespace)) return
    walk.timers++
    this.cells.add(namespace, atMs)
  }

  #uncount(walk: Walk, namespace: string, atMs: number): void {
    if (isReserved(namespace)) return
    walk.timers = Math.max(0, walk.timers - 1)
    this.cells.remove(namespace, atMs)
  }
}

/** No caller can name these namespaces, and lists over all namespaces leave them out. */
const isReserved = (namespace: string): boolean => namespace.startsWith("_")
