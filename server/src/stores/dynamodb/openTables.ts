// Creates the tables of a store, or checks those that exist. A store is created under a lock, so that of several nodes
// that start together one does the work.
import type { DynamoTables } from "@punctual/aws/DynamoTables"
import { lockItem } from "@punctual/aws/itemLock"
import { describeFailure, TablesRefused } from "@punctual/aws/TablesRefused"
import { checkTable, createTable, type DynamoTableShape, describeTable } from "@punctual/aws/tableSchema"
import { fencePlace, foreignPlace, leasesPlace, schemaPlace, type TableNames, tableNamesOf } from "./keys.ts"

/** The version of the tables that this program reads and writes. */
export const programVersion = 1

export interface OpenedTables {
  readonly names: TableNames
  readonly shards: number
}

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

/** The version and the shards of the store. The version is 0 if there is none. */
export const storedSchema = async (
  tables: DynamoTables,
  prefix: string,
): Promise<{ readonly version: number; readonly shards: number }> => {
  const names = tableNamesOf(prefix)
  if ((await describeTable(tables, names.control)) === undefined) return { version: 0, shards: 0 }
  const schema = await tables.get(schemaPlace(names))
  const version = Number(schema?.["version"] ?? 0)
  if (version > programVersion)
    throw new TablesRefused(
      `The DynamoDB tables ${prefix}-* have version ${version}, and this program knows version ${programVersion}: use a newer program.`,
    )
  return { version, shards: Number(schema?.["shards"] ?? 0) }
}

/** Opens an existing store without changing it. */
export const openExisting = async (tables: DynamoTables, prefix: string): Promise<OpenedTables> =>
  explained(async () => {
    const { version, shards } = await storedSchema(tables, prefix)
    if (version === 0)
      throw new TablesRefused(
        `There is no store in the DynamoDB tables ${prefix}-*: start a service on it first.`,
      )
    return { names: tableNamesOf(prefix), shards }
  })

export const openTables = async (
  tables: DynamoTables,
  prefix: string,
  shards: number,
): Promise<OpenedTables> =>
  explained(async () => {
    const names = tableNamesOf(prefix)
    const stored = await storedSchema(tables, prefix)
    if (stored.version < programVersion) await create(tables, names, shards)
    else
      for (const shape of shapesOf(names))
        await checkTable(tables, shape, await describeTable(tables, shape.name))
    const known = stored.version === 0 ? (await storedSchema(tables, prefix)).shards : stored.shards
    if (known !== shards)
      throw new TablesRefused(
        `The store in the DynamoDB tables ${prefix}-* has ${known} shards, not ${shards}: set TIMER_SHARDS=${known}. The number is fixed when a store is created.`,
      )
    return { names, shards }
  })

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

const explained = async <A>(open: () => Promise<A>): Promise<A> => {
  try {
    return await open()
  } catch (error) {
    throw error instanceof TablesRefused ? error : new TablesRefused(describeFailure(error))
  }
}
