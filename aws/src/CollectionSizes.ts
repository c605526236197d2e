// DynamoDB refuses every write to a shard whose pending timers reach 10 GB, because they have local indexes. That would
// also stop deliveries. So the store warns early, and refuses new timers of a full shard in time. DynamoDB tells the size
// of a collection with each commit, as a range that it estimates. The upper bound counts.
import type { TransactAnswer } from "./DynamoTables.ts"

/** The sizes at which it warns, and at which it refuses. DynamoDB's own limit is 10. */
export const alarmGigabytes = 5
export const fullGigabytes = 9

export class CollectionSizes {
  readonly #gigabytes = new Map<number, number>()
  readonly #warned = new Set<number>()

  /** Takes the sizes in an answer. Returns a warning, once for each shard that has become large. */
  noted(table: string, { ItemCollectionMetrics }: TransactAnswer): string | undefined {
    let warning: string | undefined
    for (const { ItemCollectionKey, SizeEstimateRangeGB } of ItemCollectionMetrics?.[table] ?? []) {
      const key = ItemCollectionKey["shard"]
      const shard = key !== undefined && "N" in key ? Number(key.N) : Number.NaN
      const size = SizeEstimateRangeGB.at(-1)
      if (Number.isNaN(shard) || size === undefined) continue
      this.#gigabytes.set(shard, size)
      if (size < alarmGigabytes) this.#warned.delete(shard)
      else if (!this.#warned.has(shard)) {
        this.#warned.add(shard)
        warning = `Shard ${shard} has up to ${size} GB of pending timers. At ${fullGigabytes} GB it takes no new timers: a store with more shards, or smaller payloads, is needed.`
      }
    }
    return warning
  }

  /** Why the shard takes no new timers. `undefined` if it does. */
  whyFull(shard: number): string | undefined {
    const size = this.#gigabytes.get(shard) ?? 0
    return size < fullGigabytes
      ? undefined
      : `The shard of this timer has up to ${size} GB of pending timers and takes no new ones (the limit is ${fullGigabytes} GB).`
  }
}
