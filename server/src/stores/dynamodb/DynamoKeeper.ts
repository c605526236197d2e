// Commands on the store itself. An examination reads all tables while services may run, so its counts can differ from the
// sums by what was written meanwhile.

import { alarmGigabytes } from "@punctual/aws/CollectionSizes"
import { type DynamoItem, itemSize } from "@punctual/aws/DynamoItem"
import type { DynamoTables } from "@punctual/aws/DynamoTables"
import type { DynamoPlace } from "@punctual/aws/dynamoUrl"
import type { Documents } from "@punctual/documents/Documents"
import { DynamoDocuments } from "@punctual/documents/dynamodb/DynamoDocuments"
import { Effect } from "effect"
import { emptyTally } from "../../domain/Decision.ts"
import { settingsKind } from "../../engine/namespaces/SettingsRecords.ts"
import type { ExamineOptions, StoreExamination, StoreReport } from "../../ports/StoreReport.ts"
import type { StoreSchema } from "../../ports/StoreSchema.ts"
import { RowCounting } from "../RowCounting.ts"
import { SettingsExamination } from "../SettingsExamination.ts"
import type { Database } from "./Database.ts"
import { callsOf, type DynamoOpenError, documentsAt, opening, readTallies, tablesAt } from "./DynamoStore.ts"
import { readOwners } from "./Leases.ts"
import { openExisting, openTables, programVersion, readSizes, storedSchema } from "./openTables.ts"
import { lifeOf, timerOf } from "./rows.ts"

const calling = callsOf(() => {})

const opened = async (place: DynamoPlace): Promise<Database> => {
  const tables = tablesAt(place)
  const { names, shards } = await openExisting(tables, place.prefix)
  return { tables, names, shards }
}

export const DynamoKeeper = {
  documents: (place: DynamoPlace): Effect.Effect<Documents["Service"], DynamoOpenError> =>
    Effect.map(
      opening(() => opened(place)),
      ({ tables, names }) => documentsAt(tables, names.control, calling),
    ),

  examination: (place: DynamoPlace): Effect.Effect<StoreExamination, DynamoOpenError> =>
    Effect.map(
      opening(() => opened(place)),
      (database) => ({ examine: (options) => calling(() => examine(database, options)) }),
    ),

  /** `shards` is used if the store must be created. */
  schema: (place: DynamoPlace, shards: number): Effect.Effect<StoreSchema, DynamoOpenError> =>
    Effect.sync(() => {
      const tables = tablesAt(place)
      const stored = () => storedSchema(tables, place.prefix)
      return {
        versions: calling(async () => ({ stored: (await stored()).version, program: programVersion })),
        migrate: calling(async () => {
          const { version, shards: known } = await stored()
          await openTables(tables, place.prefix, version === 0 ? shards : known)
        }),
      }
    }),
} as const

const examine = async (database: Database, options: ExamineOptions): Promise<StoreReport> => {
  const settings = await settingsIn(database)
  const { pause } = settings.found
  const beforeMs = pause === undefined ? options.overdueBeforeMs : options.overdueBeforeMsIfPaused
  const counting = new RowCounting(database.shards, beforeMs)
  const bytes = new ShardBytes()
  for await (const item of itemsOf(database.tables, database.names.timers)) {
    bytes.take(item)
    const timer = timerOf(item, false)
    if (timer !== undefined) counting.takeTimer(timer, textsOf(item, timer.uuid))
  }
  for await (const item of itemsOf(database.tables, database.names.history))
    if (String(item["pk"]).startsWith("L#"))
      counting.takeLife(lifeOf(item, false), textsOf(item, String(item["pk"]).slice(2)))
  const [tallies, owners, sizes] = await Promise.all([
    readTallies(database),
    readOwners(database),
    readSizes(database.tables, database.names),
  ])
  return {
    store: "dynamodb",
    schemaVersion: programVersion,
    programVersion,
    shards: owners.map(({ shard, epoch, node }, index) => ({
      shard,
      epoch,
      ...(node === undefined ? {} : { node }),
      tally: tallies[index] ?? emptyTally,
      rows: counting.rowsOf(shard),
    })),
    sizes,
    ...counting.found,
    faults: [...bytes.faults, ...counting.found.faults],
    integrity: "notChecked",
    ...settings.found,
    unreadable: [...settings.found.unreadable, ...counting.found.unreadable],
  }
}

async function* itemsOf(tables: DynamoTables, table: string): AsyncGenerator<DynamoItem> {
  let after: Awaited<ReturnType<DynamoTables["tablePage"]>>["next"]
  do {
    const page = await tables.tablePage(table, undefined, after)
    yield* page.items
    after = page.next
  } while (after !== undefined)
}

const settingsIn = async ({ tables, names }: Database): Promise<SettingsExamination> => {
  const settings = new SettingsExamination()
  const documents = new DynamoDocuments(tables, names.control)
  const limit = SettingsExamination.pageItems
  while (settings.take(await documents.changesAfter(settingsKind, settings.version, limit))) {}
  return settings
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

const textsOf = (item: DynamoItem, uuid: string) => {
  const text = (name: string) => (typeof item[name] === "string" ? item[name] : null)
  return { uuid, spec: text("spec"), last_attempt: text("last_attempt"), tags: text("tags") }
}
