// Removes old history. DynamoDB removes expired lives by itself and free of charge, within a few days. So a service only
// removes what DynamoDB left, one part of the store in each call. Without a retention (commands, tests) nothing expires,
// and a call removes everything that it finds.
import type { DynamoItem } from "@punctual/aws/DynamoItem"
import { forAll } from "@punctual/aws/forAll"
import { timeOfText, timeText } from "@punctual/aws/sortableTime"
import { wordRowsOfLife } from "../../domain/words.ts"
import type { Database } from "./Database.ts"
import { endsOf, lifePlace, placeOfKey, wordKey } from "./keys.ts"
import { expiryGraceMs } from "./limits.ts"
import { lifeOf } from "./rows.ts"

const states = ["delivered", "cancelled"] as const

export class Pruning {
  readonly #database: Database
  #next = 0

  constructor(database: Database) {
    this.#database = database
  }

  async prune(exclusiveBeforeMs: number, limit: number): Promise<number> {
    const { shards, historyRetentionMs } = this.#database
    const parts = Array.from({ length: shards * states.length }, (_, index) => index)
    if (historyRetentionMs === undefined) {
      let removed = 0
      for (const part of parts) {
        if (removed >= limit) break
        removed += await this.#prunePart(part, exclusiveBeforeMs, limit - removed)
      }
      return removed
    }
    const part = this.#next++ % parts.length
    return this.#prunePart(part, exclusiveBeforeMs - expiryGraceMs, limit)
  }

  async #prunePart(part: number, exclusiveBeforeMs: number, limit: number): Promise<number> {
    const shard = Math.floor(part / states.length)
    const ends = await this.#oldEnds(
      endsOf(shard, states[part % states.length] ?? "delivered"),
      exclusiveBeforeMs,
      limit,
    )
    await this.#remove(ends)
    return ends.length
  }

  /** Goes from namespace to namespace. In each, the oldest lives come first. */
  async #oldEnds(pk: string, exclusiveBeforeMs: number, limit: number): Promise<ReadonlyArray<DynamoItem>> {
    const { tables, names } = this.#database
    const base = { table: names.history, partition: ["pk", pk] } as const
    const found: Array<DynamoItem> = []
    for (let from = "\u0001"; found.length < limit; ) {
      const { items } = await tables.page({ ...base, range: ["sk", from, "\u{10ffff}"] }, 1, undefined)
      const [first] = items
      if (first === undefined) break
      const prefix = `${String(first["namespace"])}/`
      if (timeOfText(String(first["sk"]).slice(prefix.length)) < exclusiveBeforeMs) {
        const range = ["sk", prefix, `${prefix}${timeText(exclusiveBeforeMs)}`] as const
        for await (const page of tables.pages({ ...base, range }, limit - found.length)) {
          found.push(...page.items)
          if (found.length >= limit) break
        }
      }
      from = `${prefix}\u{10ffff}`
    }
    return found.slice(0, limit)
  }

  /** The place in the order goes last, so that a prune that was interrupted is found again. */
  async #remove(ends: ReadonlyArray<DynamoItem>): Promise<void> {
    const { tables, names, shards } = this.#database
    const lives = ends.map((end) => {
      const life = lifeOf(end)
      return { life, state: String(end["pk"]).split("#")[2], atMs: atOf(end) }
    })
    await forAll(lives, ({ life }) =>
      tables.delete(placeOfKey(names, shards, life), (expression) =>
        [expression.lacks("due"), expression.lacks("held"), expression.equals("last_id", life.fireId)].join(
          " AND ",
        ),
      ),
    )
    const stored = lives.map(({ life }) => ({ delete: lifePlace(names, life.uuid, life.fireId).key }))
    const words = lives.flatMap(({ life, state, atMs }) =>
      wordRowsOfLife({
        ...life,
        state: state === "cancelled" ? "cancelled" : "delivered",
        finishedAt: atMs,
      }).map((row) => ({
        delete: wordKey(life, row),
      })),
    )
    await tables.writeAll(names.history, [...stored, ...words])
    await tables.writeAll(
      names.history,
      ends.map(({ pk, sk }) => ({ delete: { pk: pk ?? "", sk: sk ?? "" } })),
    )
  }
}

const atOf = ({ sk, namespace }: DynamoItem): number =>
  timeOfText(String(sk).slice(`${String(namespace)}/`.length))
