// Putting what an archive holds into the schema: fences first, like a write, then whole batches by a statement each
// for pending timers and for lives. What the statements rule is what domain/decideRestore.ts decides; a suite that
// every store runs holds the two together.
import type { ArchivedItem, RestoreResult } from "../../domain/decideRestore.ts"
import type { WriteItem } from "../../domain/WriteItem.ts"
import type { RestoreAnswer, RestoreBatch } from "../../ports/TimerArchive.ts"
import { type ItemRow, Luggage, rowOf, whyTooLarge, whyUnstorable } from "./itemRows.ts"
import { restoreSql } from "./statements.ts"

export const restoreBatches = async (
  sql: Bun.SQL,
  batches: ReadonlyArray<RestoreBatch>,
): Promise<ReadonlyArray<RestoreAnswer>> => {
  if (batches.length === 0) return []
  const rounds = new Rounds()
  const results = batches.map(({ shard, items }) => rounds.take(shard, items))
  const held: ReadonlySet<number> = await sql.begin(async (tx) => {
    const rows: ReadonlyArray<{ held: ReadonlyArray<number> }> = await tx.unsafe(restoreSql.lock, [
      batches.map(({ shard }) => shard),
      batches.map(({ epoch }) => epoch),
    ])
    const shards = Array.from(rows[0]?.held ?? [])
    for (const { kind, luggage, rows: given } of rounds.all) {
      const text = kind === "pending" ? restoreSql.pending : restoreSql.ended
      rounds.note(await tx.unsafe(text, [shards, JSON.stringify(given), luggage.specs, luggage.payloads]))
    }
    return new Set(shards)
  })
  return batches.map(({ shard }, index) =>
    held.has(shard) ? { result: "restored", results: results[index] ?? [] } : { result: "ownershipLost" },
  )
}

interface Round {
  readonly kind: ArchivedItem["kind"]
  readonly luggage: Luggage
  readonly rows: Array<ItemRow>
  /** What a statement takes must not be in it twice: the second one waits for the next, which sees the first. */
  readonly names: Set<string>
}

interface RulingRow {
  readonly place: number
  readonly ruling: "restored" | "present" | "differs"
}

class Rounds {
  readonly #pending: Array<Round> = []
  readonly #ended: Array<Round> = []
  readonly #places: Array<(ruling: RulingRow["ruling"]) => void> = []

  get all(): ReadonlyArray<Round> {
    return [...this.#pending, ...this.#ended]
  }

  /** The place of the results: those that are known already are in it. */
  take(shard: number, items: ReadonlyArray<ArchivedItem>): Array<RestoreResult> {
    const results: Array<RestoreResult> = []
    for (const [index, item] of items.entries()) {
      const asWrite = writeOf(item)
      const tooLarge = whyTooLarge(asWrite)
      if (tooLarge !== undefined) {
        results[index] = tooLarge
        continue
      }
      const round = this.#roundFor(item)
      const row = rowOf(asWrite, round.luggage)
      const unstorable = whyUnstorable(asWrite, row)
      if (unstorable !== undefined) {
        results[index] = unstorable
        continue
      }
      const place = this.#places.push((ruling) => {
        results[index] = { result: ruling }
      })
      const { revision } = item.kind === "pending" ? item.timer : item.life
      round.rows.push({ ...row, place: place - 1, shard, revision })
    }
    return results
  }

  note(rulings: ReadonlyArray<RulingRow>): void {
    for (const { place, ruling } of rulings) this.#places[place]?.(ruling)
  }

  #roundFor(item: ArchivedItem): Round {
    const [rounds, name] =
      item.kind === "pending" ? [this.#pending, item.timer.uuid] : [this.#ended, item.life.fireId]
    const free = rounds.find(({ names }) => !names.has(name))
    const round = free ?? { kind: item.kind, luggage: new Luggage(), rows: [], names: new Set<string>() }
    if (free === undefined) rounds.push(round)
    round.names.add(name)
    return round
  }
}

/** The write whose row has the columns of the item. */
const writeOf = (item: ArchivedItem): WriteItem =>
  item.kind === "pending"
    ? { kind: "put", timer: item.timer, onExisting: "fail", madeCorrelationId: false }
    : { kind: "record", life: item.life }
