// What the port writes: each call one round trip and one transaction, which the server ends by itself whatever
// becomes of this process. What the items do is decided there, by the functions in migrations.
import type { Uuid } from "../../domain/Timer.ts"
import {
  type InsertAnswer,
  keyOfItem,
  type Put,
  type WriteAnswer,
  type WriteItem,
} from "../../domain/WriteItem.ts"
import type { BatchAnswer, ShardBatch } from "../../ports/TimerStore.ts"
import { answerOf, type RulingRow } from "./answers.ts"
import { type ItemRow, Luggage, rowOf, whyTooLarge, whyUnstorable } from "./itemRows.ts"
import { writerSql } from "./statements.ts"

export const writeBatches = async (
  sql: Bun.SQL,
  batches: ReadonlyArray<ShardBatch>,
): Promise<ReadonlyArray<BatchAnswer>> => {
  if (batches.length === 0) return []
  const sending = new Sending()
  const answers = batches.map(({ shard, items }) => sending.take(shard, items))
  const rows: ReadonlyArray<RulingRow> = await sql.unsafe(writerSql.write, [
    batches.map(({ shard }) => shard),
    batches.map(({ epoch }) => epoch),
    batches.map(({ number }) => number),
    sending.waves,
    sending.hasOthers,
    ...sending.parameters,
  ])
  const refused = sending.fill(rows)
  return batches.map(({ shard }, index): BatchAnswer => {
    const result = refused.get(shard)
    // Only an insert without an owner is told that its key has lived before.
    return result === undefined
      ? { result: "written", answers: (answers[index] ?? []) as ReadonlyArray<WriteAnswer> }
      : { result }
  })
}

export const insertPuts = async (
  sql: Bun.SQL,
  shard: number,
  puts: ReadonlyArray<Put>,
): Promise<ReadonlyArray<InsertAnswer>> => {
  if (puts.length === 0) return []
  const sending = new Sending()
  const answers = sending.take(
    shard,
    puts.map((put) => ({ ...put, onExisting: "fail" })),
  )
  const rows: ReadonlyArray<RulingRow> = await sql.unsafe(writerSql.insertIfAbsent, [
    shard,
    sending.waves,
    ...sending.parameters,
  ])
  sending.fill(rows)
  return answers
}

export const prune = async (sql: Bun.SQL, exclusiveBeforeMs: number, limit: number): Promise<number> => {
  const rows: ReadonlyArray<{ pruned: number }> = await sql.unsafe(writerSql.prune, [
    exclusiveBeforeMs,
    limit,
  ])
  return rows[0]?.pruned ?? 0
}

type Refusal = Exclude<BatchAnswer["result"], "written">

interface Sent {
  readonly item: WriteItem
  readonly answers: Array<InsertAnswer>
  readonly index: number
}

/** Gathers the items of a write, and puts what was ruled back where it belongs. */
class Sending {
  readonly #luggage = new Luggage()
  readonly #rows: Array<ItemRow> = []
  readonly #sent: Array<Sent> = []
  waves = 1
  /** Whether some are not of the kinds that every write is looked through for. */
  hasOthers = false

  /** The place of the answers: those that are known already are in it. */
  take(shard: number, items: ReadonlyArray<WriteItem>): Array<InsertAnswer> {
    const answers: Array<InsertAnswer> = []
    const waves = new Map<Uuid, number>()
    for (const [index, item] of items.entries()) {
      const tooLarge = whyTooLarge(item)
      const row = tooLarge === undefined ? rowOf(item, this.#luggage) : undefined
      const unstorable = row === undefined ? tooLarge : whyUnstorable(item, row)
      if (unstorable !== undefined) {
        answers[index] = unstorable
        continue
      }
      // The same key again waits for the next wave, which sees what this one did.
      const { uuid } = keyOfItem(item)
      const wave = (waves.get(uuid) ?? 0) + 1
      waves.set(uuid, wave)
      this.waves = Math.max(this.waves, wave)
      if (item.kind === "record" || item.kind === "replay" || item.kind === "discard") this.hasOthers = true
      const place = this.#sent.push({ item, answers, index }) - 1
      this.#rows.push({ place, wave, shard, ...row })
    }
    return answers
  }

  get parameters(): ReadonlyArray<string | ReadonlyArray<string> | Uint8Array> {
    return [JSON.stringify(this.#rows), this.#luggage.specs, this.#luggage.payloads]
  }

  /** Answers the shards of which nothing was taken, and why. */
  fill(rows: ReadonlyArray<RulingRow>): ReadonlyMap<number, Refusal> {
    const refused = new Map<number, Refusal>()
    for (const row of rows) {
      const sent = this.#sent[row.place]
      if (row.place < 0) {
        refused.set(-1 - row.place, row.ruling === "overtaken" ? "overtaken" : "ownershipLost")
      } else if (sent !== undefined) sent.answers[sent.index] = answerOf(sent.item, row)
    }
    return refused
  }
}
