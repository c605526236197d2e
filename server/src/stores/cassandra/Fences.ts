// What this process knows of the static columns of each shard: the epoch and the number that a commit must find, the
// tally that it replaces, and `low`, below which no pending timer is due. Deleted rows stay in the database for a day, and
// a read from the beginning of the due order would read all of them. So reads begin at `low`.
//
// `low` may only be raised if no commit can still add a timer below it. A read that began at `low` and found its first
// timer later raises it, but not above the timers of commits that were under way when the read began, or began since. A
// commit whose result is unknown stays under way until a later one is accepted, because then it cannot arrive any more.
import { emptyTally, type Tally } from "../../domain/Decision.ts"
import { jsonOf } from "../jsonText.ts"
import { kinds, placeOf } from "./places.ts"
import { numberIn, textIn } from "./rows.ts"
import type { BatchSession, Row } from "./Session.ts"

export const anchorPlace = placeOf("")

export interface Fence {
  readonly epoch: number
  readonly number: number
  readonly tally: Tally
}

const tallyOfText = (text: string | undefined): Tally => ({
  ...emptyTally,
  // Only this program writes the text.
  ...(jsonOf(text ?? "{}") as Partial<Tally>),
})

/** The lowest due time of a store without timers. */
const highest = Number.MAX_SAFE_INTEGER

class DueBound {
  readonly epoch: number
  #low: number
  readonly #reads = new Set<{ min: number }>()
  readonly #underWay = new Map<number, number>()

  constructor(epoch: number, low: number) {
    this.epoch = epoch
    this.#low = low
  }

  get low(): number {
    return this.#low
  }

  /** A commit is sent that adds timers, none of them due before `earliestMs`. */
  began(number: number, earliestMs: number): void {
    for (const read of this.#reads) read.min = Math.min(read.min, earliestMs)
    this.#underWay.set(number, Math.min(earliestMs, this.#underWay.get(number) ?? earliestMs))
    this.#low = Math.min(this.#low, earliestMs)
  }

  /** No commit up to this number can arrive any more. */
  settled(number: number): void {
    for (const sent of this.#underWay.keys()) if (sent <= number) this.#underWay.delete(sent)
  }

  /** Returns what to call with the due time of the first timer that the read has found. */
  reading(): (firstMs: number) => void {
    const read = { min: Math.min(highest, ...this.#underWay.values()) }
    this.#reads.add(read)
    return (firstMs) => {
      this.#reads.delete(read)
      this.#low = Math.max(this.#low, Math.min(firstMs, read.min))
    }
  }
}

const fenceColumns = "shard, kind, epoch, number, low, tally"

export class Fences {
  readonly #session: BatchSession
  readonly #known = new Map<number, Fence>()
  readonly #bounds = new Map<number, DueBound>()

  constructor(session: BatchSession) {
    this.#session = session
  }

  /** The fence as this process knows it. */
  async of(shard: number): Promise<Fence> {
    return this.#known.get(shard) ?? this.read(shard)
  }

  async read(shard: number): Promise<Fence> {
    const [row] = await this.#session.rows(
      `SELECT ${fenceColumns} FROM shards WHERE store = ? AND shard = ? AND kind = ${kinds.anchor} AND place = ?`,
      [this.#session.store, shard, anchorPlace],
    )
    if (row === undefined) throw new Error(`The store has no shard ${shard}.`)
    const fence = fenceOf(row)
    this.#known.set(shard, fence)
    if (this.#bounds.get(shard)?.epoch !== fence.epoch)
      this.#bounds.set(shard, new DueBound(fence.epoch, numberIn(row, "low")))
    return fence
  }

  async bound(shard: number): Promise<DueBound> {
    if (!this.#bounds.has(shard)) await this.read(shard)
    return this.#bounds.get(shard) ?? new DueBound(0, 0)
  }

  accepted(shard: number, fence: Fence): void {
    this.#known.set(shard, fence)
    this.#bounds.get(shard)?.settled(fence.number)
  }

  /** The shard may have changed without this process: a claim, or a commit whose result is unknown. */
  forget(shard: number): void {
    this.#known.delete(shard)
  }

  /** After a claim nothing of earlier epochs can arrive any more. */
  async claimed(shard: number): Promise<void> {
    await this.read(shard)
  }

  /** The claim of this epoch has usually read the fence already. */
  async opened(shard: number, epoch: number): Promise<void> {
    if (this.#known.get(shard)?.epoch !== epoch) await this.read(shard)
  }

  /** By shard, for readers that do not own the shards. */
  async lows(shards: ReadonlyArray<number>): Promise<ReadonlyMap<number, number>> {
    const rows = await this.#anchors("shard, kind, low", shards)
    return new Map(rows.map((row) => [numberIn(row, "shard"), numberIn(row, "low")]))
  }

  /** By shard. */
  async tallies(shards: ReadonlyArray<number>): Promise<ReadonlyArray<Tally>> {
    const rows = await this.#anchors(fenceColumns, shards)
    const found = new Map(rows.map((row) => [numberIn(row, "shard"), fenceOf(row).tally]))
    return shards.map((shard) => found.get(shard) ?? emptyTally)
  }

  #anchors(columns: string, shards: ReadonlyArray<number>): Promise<ReadonlyArray<Row>> {
    return this.#session.rows(
      `SELECT ${columns} FROM shards WHERE store = ? AND shard IN ? AND kind = ${kinds.anchor} AND place = ?`,
      [this.#session.store, shards, anchorPlace],
    )
  }
}

const fenceOf = (row: Row): Fence => ({
  epoch: numberIn(row, "epoch"),
  number: numberIn(row, "number"),
  tally: tallyOfText(textIn(row, "tally")),
})

/** A shard without timers has no lower bound that a timer could be below. */
export const firstLow = highest
