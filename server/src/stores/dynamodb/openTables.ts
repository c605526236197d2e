// Creates the tables of a store, or checks those that exist. A store is created under a lock, so that of several nodes
// that start together one does the work.
import type { DynamoTables } from "@punctual/aws/DynamoTables"
import { lockItem } from "@punctual/aws/itemLock"
import { checkTable, createTable, type DynamoTableShape, describeTable } from "@punctual/aws/tableSchema"
import { checkNotNewer, checkShards, type StoredSchema } from "../openingStores.ts"
import { fencePlace, foreignPlace, leasesPlace, schemaPlace, type TableNames, tableNamesOf } from "./keys.ts"

/** The version of the tables that this program reads and writes. */
export const programVersion = 1

/** The tables for messages. */
export const shownTables = (prefix: string): string => `DynamoDB (tables ${prefix}-*)`

const shapesOf = ({ timers, history, control }: TableNames): ReadonlyArray<DynamoTableShape> => [
  {
    name: control,
    keys: [
      ["pk", "S"],
      ["sk", "S"],
    ],
    indexes: { version: { type: "N", projection: "KEYS_ONLY" } },
    expires: false,
  },
  {
    name: timers,
    keys: [
      ["shard", "N"],
      ["id", "S"],
    ],
    indexes: { due: { type: "S", projection: "KEYS_ONLY" }, ns_due: { type: "S", projection: "KEYS_ONLY" } },
    expires: true,
  },
  {
    name: history,
    keys: [
      ["pk", "S"],
      ["sk", "S"],
    ],
    indexes: {},
    expires: true,
  },
]

/** The sizes of the tables, which DynamoDB updates about every six hours. */
export const readSizes = async (tables: DynamoTables, names: TableNames) =>
  Promise.all(
    Object.values(names).map(async (name: string) => ({
      name,
      bytes: (await describeTable(tables, name))?.TableSizeBytes ?? 0,
    })),
  )

/** The version is 0 if there is no store. */
export const storedSchema = async (tables: DynamoTables, prefix: string): Promise<StoredSchema> => {
  const names = tableNamesOf(prefix)
  if ((await describeTable(tables, names.control)) === undefined) return { version: 0, shards: 0 }
  const schema = await tables.get(schemaPlace(names))
  const version = Number(schema?.["version"] ?? 0)
  checkNotNewer(shownTables(prefix), version, programVersion)
  return { version, shards: Number(schema?.["shards"] ?? 0) }
}

export const openTables = async (tables: DynamoTables, prefix: string, shards: number): Promise<void> => {
  const names = tableNamesOf(prefix)
  const stored = await storedSchema(tables, prefix)
  if (stored.version < programVersion) await create(tables, names, shards)
  else
    for (const shape of shapesOf(names))
      await checkTable(tables, shape, await describeTable(tables, shape.name))
  const known = stored.version === 0 ? await storedSchema(tables, prefix) : stored
  checkShards(shownTables(prefix), known.shards, shards, "another prefix")
}

const create = async (tables: DynamoTables, names: TableNames, shards: number): Promise<void> => {
  const [control, ...others] = shapesOf(names)
  if (control === undefined) return
  await createTable(tables, control)
  const unlock = await lockItem(tables, { table: names.control, key: { pk: "lock", sk: "-" } })
  try {
    // Another node may have created the store while this one waited.
    if ((await tables.get(schemaPlace(names))) !== undefined) return
    for (const shape of others) await createTable(tables, shape)
    const all = Array.from({ length: shards }, (_, shard) => shard)
    const free = Object.fromEntries(
      all.flatMap((shard) => [`e${shard}`, `c${shard}`]).map((name) => [name, 0]),
    )
    const items = [
      { ...leasesPlace(names).key, ...free },
      foreignPlace(names).key,
      ...all.map((shard) => ({ ...fencePlace(names, shard).key, epoch: 0, number: 0 })),
    ]
    await tables.writeAll(
      names.control,
      items.map((put) => ({ put })),
    )
    // Nobody uses the store before this item exists.
    await tables.put(names.control, { ...schemaPlace(names).key, version: programVersion, shards })
  } finally {
    await unlock()
  }
}
