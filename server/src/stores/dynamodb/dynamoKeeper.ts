// Commands on the store itself. DynamoDB has no snapshots, so an archive is a copy. Every write of a timer raises the
// number of a fence or a count of inserts, which shows whether the store was written while it was copied. The counts of
// an examination can differ from the sums by what was written meanwhile.
import { alarmGigabytes } from "@punctual/aws/CollectionSizes"
import { type DynamoItem, itemSize } from "@punctual/aws/DynamoItem"
import type { DynamoTables } from "@punctual/aws/DynamoTables"
import type { DynamoPlace } from "@punctual/aws/dynamoUrl"
import { DynamoDocuments } from "@punctual/documents/dynamodb/DynamoDocuments"
import { shardOf } from "../../domain/TimerKey.ts"
import type { KeptRow } from "../RowCounting.ts"
import { keeperOf, type StoreKeeper } from "../storeKeeper.ts"
import type { Database } from "./Database.ts"
import { explainedDynamo, readCounters, readTallies, tablesAt } from "./DynamoStore.ts"
import { tableNamesOf } from "./keys.ts"
import { dynamoLeases } from "./Leases.ts"
import { openTables, programVersion, readSizes, shownTables, storedSchema } from "./openTables.ts"
import { lifeOf, timerOf } from "./rows.ts"

export const dynamoKeeper = (place: DynamoPlace): StoreKeeper => {
  const names = tableNamesOf(place.prefix)
  const bytes = new ShardBytes()
  return keeperOf<DynamoTables>({
    name: "dynamodb",
    shown: shownTables(place.prefix),
    programVersion,
    connect: async () => tablesAt(place),
    close: async () => {},
    explain: explainedDynamo,
    schema: (tables) => storedSchema(tables, place.prefix),
    migrate: (shards) => openTables(tablesAt(place), place.prefix, shards),
    documents: (tables) => new DynamoDocuments(tables, names.control),
    rows: {
      pages: async function* (tables, { shards }, withPayload) {
        for await (const items of pagesOf(tables, names.timers)) {
          for (const item of items) bytes.take(item)
          yield items.flatMap((item): ReadonlyArray<KeptRow> => {
            const timer = timerOf(item, withPayload)
            const shard = Number(item["shard"])
            return timer === undefined ? [] : [{ item: { kind: "pending", timer }, shard }]
          })
        }
        for await (const items of pagesOf(tables, names.history)) {
          yield items.flatMap((item): ReadonlyArray<KeptRow> => {
            const [kind, uuid = ""] = String(item["pk"]).split("#")
            if (kind !== "L") return []
            const life = { ...lifeOf(item, withPayload), uuid }
            const entry = Number(item["entry"])
            return [{ item: { kind: "ended", life }, shard: shardOf(uuid, shards), entry }]
          })
        }
      },
      state: (tables, { shards }) => writtenState({ tables, names, shards }),
    },
    owners: (tables, { shards }) => dynamoLeases.owners({ tables, names, shards }),
    tallies: (tables, { shards }) => readTallies({ tables, names, shards }),
    sizes: (tables) => readSizes(tables, names),
    faults: async () => bytes.faults,
  })
}

/** Changes with every write of a timer, a life or a document. */
export const writtenState = async (database: Database): Promise<string> => {
  const numbers = (await readCounters(database))
    .flat()
    .map(({ pk, epoch = 0, number = 0, created = 0 }) => `${pk} ${epoch} ${number} ${created}`)
  const documents = new DynamoDocuments(database.tables, database.names.control)
  return [...numbers, await documents.version()].join("\n")
}

async function* pagesOf(tables: DynamoTables, table: string): AsyncGenerator<ReadonlyArray<DynamoItem>> {
  let after: Awaited<ReturnType<DynamoTables["tablePage"]>>["next"]
  do {
    const page = await tables.tablePage(table, undefined, after)
    yield page.items
    after = page.next
  } while (after !== undefined)
}

/** The shards whose pending timers are near DynamoDB's limit. Each index has the key again, and its own. */
class ShardBytes {
  readonly #bytes = new Map<number, number>()

  take(item: DynamoItem): void {
    const shard = Number(item["shard"])
    const bytes = itemSize(item) + 2 * String(item["id"]).length + 200
    this.#bytes.set(shard, (this.#bytes.get(shard) ?? 0) + bytes)
  }

  get faults(): ReadonlyArray<string> {
    return [...this.#bytes].flatMap(([shard, bytes]) =>
      bytes < alarmGigabytes * 1e9
        ? []
        : [
            `shard ${shard} has ${(bytes / 1e9).toFixed(1)} GB of pending timers, and DynamoDB's limit is 10 GB`,
          ],
    )
  }
}
