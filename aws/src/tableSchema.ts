// Creates tables and checks those that exist. A table is refused if timers could be lost on it: because of another shape,
// of another expiry, or of copies in other regions.
import { DynamoFailure } from "./DynamoFailure.ts"
import type { DynamoTables } from "./DynamoTables.ts"
import { TablesRefused } from "./TablesRefused.ts"

export interface DynamoTableShape {
  readonly name: string
  readonly keys: ReadonlyArray<readonly [attribute: string, type: "S" | "N"]>
  readonly indexes: Readonly<Record<string, { readonly type: "S" | "N"; readonly projection: "KEYS_ONLY" }>>
  readonly expires: boolean
}

export interface TableDescription {
  readonly TableStatus: string
  readonly KeySchema: ReadonlyArray<{ readonly AttributeName: string }>
  readonly LocalSecondaryIndexes?: ReadonlyArray<{ readonly IndexName: string }>
  readonly Replicas?: ReadonlyArray<{ readonly RegionName: string }>
  readonly TableSizeBytes?: number
}

/** `undefined` if there is no such table. */
export const describeTable = async (
  tables: DynamoTables,
  name: string,
): Promise<TableDescription | undefined> => {
  try {
    const body = { TableName: name }
    return (await tables.client.call<{ Table: TableDescription }>("DescribeTable", body, { isLong: true }))
      .Table
  } catch (error) {
    if (error instanceof DynamoFailure && error.code === "ResourceNotFoundException") return undefined
    throw error
  }
}

const statusEveryMs = 250
const statusTries = 480

/** Creates the table if there is none, and waits until it can be used. */
export const createTable = async (tables: DynamoTables, shape: DynamoTableShape): Promise<void> => {
  const { name, keys, indexes, expires } = shape
  const [hash = ["", "S"]] = keys
  const schema = (range: string) => [
    { AttributeName: hash[0], KeyType: "HASH" },
    { AttributeName: range, KeyType: "RANGE" },
  ]
  const body = {
    TableName: name,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [
      ...keys,
      ...Object.entries(indexes).map(([index, { type }]) => [index, type] as const),
    ].map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
    KeySchema: schema(keys[1]?.[0] ?? ""),
    ...(Object.keys(indexes).length === 0
      ? {}
      : {
          LocalSecondaryIndexes: Object.entries(indexes).map(([index, { projection }]) => ({
            IndexName: index,
            KeySchema: schema(index),
            Projection: { ProjectionType: projection },
          })),
        }),
  }
  await tables.client.call("CreateTable", body, { isLong: true }).catch((error: unknown) => {
    if (!(error instanceof DynamoFailure && error.code === "ResourceInUseException")) throw error
  })
  for (let tries = 0; (await describeTable(tables, name))?.TableStatus !== "ACTIVE"; tries++) {
    if (tries >= statusTries) throw new TablesRefused(`The DynamoDB table ${name} does not become active.`)
    await pause(statusEveryMs)
  }
  if (expires && (await expiryOfTable(tables, name)) === undefined) await enableExpiry(tables, name)
  await checkTable(tables, shape, await describeTable(tables, name))
}

const enableExpiry = async (tables: DynamoTables, name: string): Promise<void> => {
  const body = { TableName: name, TimeToLiveSpecification: { AttributeName: "ttl", Enabled: true } }
  await tables.client.call("UpdateTimeToLive", body, { isLong: true }).catch(async (error: unknown) => {
    // A repeat of the call finds it enabled.
    if ((await expiryOfTable(tables, name)) !== "ttl") throw error
  })
}

/** The attribute by which DynamoDB removes items. `undefined` if it removes none. */
const expiryOfTable = async (tables: DynamoTables, name: string): Promise<string | undefined> => {
  const { TimeToLiveDescription: found } = await tables.client.call<{
    TimeToLiveDescription?: { TimeToLiveStatus?: string; AttributeName?: string }
  }>("DescribeTimeToLive", { TableName: name }, { isLong: true })
  return found?.TimeToLiveStatus?.startsWith("ENABL") ? found.AttributeName : undefined
}

/** Refuses tables on which timers could be lost: another shape, another expiry, or copies that other regions may write. */
export const checkTable = async (
  tables: DynamoTables,
  shape: DynamoTableShape,
  found: TableDescription | undefined,
): Promise<void> => {
  const { name, keys, indexes, expires } = shape
  if (found === undefined)
    throw new TablesRefused(`The DynamoDB table ${name} is missing: restore it, or use another prefix.`)
  const hasKeys = keys.every(([key], index) => found.KeySchema[index]?.AttributeName === key)
  const has = new Set(found.LocalSecondaryIndexes?.map(({ IndexName }) => IndexName))
  if (!hasKeys || !Object.keys(indexes).every((index) => has.has(index)))
    throw new TablesRefused(
      `The DynamoDB table ${name} has other keys or indexes: it is not Punctual's. Use another prefix in the URL.`,
    )
  if (found.Replicas !== undefined && found.Replicas.length > 0)
    throw new TablesRefused(
      `The DynamoDB table ${name} is a global table. Its copies in other regions would not obey the shards' fences: remove the replicas.`,
    )
  const attribute = await expiryOfTable(tables, name)
  if (attribute !== undefined && (attribute !== "ttl" || !expires))
    throw new TablesRefused(
      `The DynamoDB table ${name} removes items by the attribute ${attribute}, which would lose timers: turn its time to live off${expires ? ', or set it to the attribute "ttl"' : ""}.`,
    )
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
