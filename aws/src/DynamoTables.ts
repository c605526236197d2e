// The calls of DynamoDB that stores use, with plain items. Reads are consistent. A read goes on until DynamoDB says that
// there is no more: a Query ends at 1 MB, its `Limit` counts rows before the filter, and a batch may be answered in part.
import type { DynamoClient } from "./DynamoClient.ts"
import { DynamoExpression, type ItemUpdate, updateText } from "./DynamoExpression.ts"
import { DynamoFailure } from "./DynamoFailure.ts"
import { type DynamoItem, plainItem, type TaggedItem, taggedItem } from "./DynamoItem.ts"
import { forAll } from "./forAll.ts"

export interface ItemPlace {
  readonly table: string
  readonly key: DynamoItem
}

/** One write of a transaction. */
export interface TransactWrite {
  readonly Put?: object
  readonly Update?: object
  readonly Delete?: object
  readonly ConditionCheck?: object
}

type Condition = (expression: DynamoExpression) => string | undefined

export interface RangeQuery {
  readonly table: string
  readonly index?: string
  readonly partition: readonly [attribute: string, value: string | number]
  /** Both bounds are inclusive. */
  readonly range?: readonly [attribute: string, from: string | number, to: string | number]
  readonly isDescending?: boolean
  readonly filter?: Condition
  readonly attributes?: ReadonlyArray<string>
  readonly countsOnly?: boolean
}

export interface QueryPage {
  readonly items: ReadonlyArray<DynamoItem>
  readonly count: number
  /** Where to go on. Absent at the end. */
  readonly next: TaggedItem | undefined
}

/** A page must be read well within the time limit of a request, also if each row must be fetched from its table. */
const rowsOfPage = 300
const batchRounds = 8
const keysOfBatch = 100
const writesOfBatch = 25

export class DynamoTables {
  readonly client: DynamoClient

  constructor(client: DynamoClient) {
    this.client = client
  }

  async get({ table, key }: ItemPlace): Promise<DynamoItem | undefined> {
    const body = { TableName: table, Key: taggedItem(key), ConsistentRead: true }
    const { Item } = await this.client.call<{ Item?: TaggedItem }>("GetItem", body, { isRepeatable: true })
    return Item === undefined ? undefined : plainItem(Item)
  }

  /** The items that exist, in no order. Each key must occur once. */
  async getAll(table: string, keys: ReadonlyArray<DynamoItem>): Promise<ReadonlyArray<DynamoItem>> {
    const batches: Array<ReadonlyArray<DynamoItem>> = []
    for (let from = 0; from < keys.length; from += keysOfBatch)
      batches.push(keys.slice(from, from + keysOfBatch))
    const found = await Promise.all(batches.map((batch) => this.#batch(table, batch)))
    return found.flat()
  }

  async #batch(table: string, keys: ReadonlyArray<DynamoItem>): Promise<ReadonlyArray<DynamoItem>> {
    let left: ReadonlyArray<TaggedItem> = keys.map(taggedItem)
    const items: Array<DynamoItem> = []
    for (let round = 0; left.length > 0; round++) {
      if (round > batchRounds * keysOfBatch)
        throw new DynamoFailure("busy", "A read was answered in part again and again.")
      const answer = await this.client.call<BatchAnswer>(
        "BatchGetItem",
        { RequestItems: { [table]: { Keys: left, ConsistentRead: true } } },
        { isLong: true },
      )
      const got = answer.Responses[table] ?? []
      for (const item of got) items.push(plainItem(item))
      left = answer.UnprocessedKeys?.[table]?.Keys ?? []
      if (left.length > 0 && got.length === 0) await pause(20 * 2 ** Math.min(round, 5))
    }
    return items
  }

  /** All items of one instant, in order. At most 100 items and 4 MB. */
  async getTogether(places: ReadonlyArray<ItemPlace>): Promise<ReadonlyArray<DynamoItem | undefined>> {
    const { Responses } = await this.client.call<{ Responses: ReadonlyArray<{ Item?: TaggedItem }> }>(
      "TransactGetItems",
      {
        TransactItems: places.map(({ table, key }) => ({ Get: { TableName: table, Key: taggedItem(key) } })),
      },
      { isLong: true },
    )
    return Responses.map(({ Item }) => (Item === undefined ? undefined : plainItem(Item)))
  }

  /** One page. It may be short although more follow. */
  async page(
    query: RangeQuery,
    limit: number | undefined,
    after: TaggedItem | undefined,
  ): Promise<QueryPage> {
    const {
      table,
      index,
      partition,
      range,
      isDescending = false,
      filter,
      attributes,
      countsOnly = false,
    } = query
    const expression = new DynamoExpression()
    const conditions = [`${expression.name(partition[0])} = ${expression.value(partition[1])}`]
    if (range !== undefined) {
      const [attribute, from, to] = range
      if (isAfter(from, to)) return { items: [], count: 0, next: undefined }
      conditions.push(
        `${expression.name(attribute)} BETWEEN ${expression.value(from)} AND ${expression.value(to)}`,
      )
    }
    const filtered = filter?.(expression)
    const body = {
      TableName: table,
      ...(index === undefined ? {} : { IndexName: index }),
      KeyConditionExpression: conditions.join(" AND "),
      ...(filtered === undefined ? {} : { FilterExpression: filtered }),
      ...(countsOnly ? { Select: "COUNT" } : projection(expression, attributes)),
      ...expression.parameters,
      ConsistentRead: true,
      ScanIndexForward: !isDescending,
      ...(countsOnly ? {} : { Limit: Math.min(limit ?? rowsOfPage, rowsOfPage) }),
      ...(after === undefined ? {} : { ExclusiveStartKey: after }),
    }
    return pageOf(await this.client.call<PageAnswer>("Query", body, { isLong: true }))
  }

  /** All pages, as long as the caller asks for them. `limit` only sizes the pages. */
  async *pages(query: RangeQuery, limit?: number): AsyncGenerator<QueryPage> {
    let after: TaggedItem | undefined
    do {
      const page = await this.page(query, limit, after)
      yield page
      after = page.next
    } while (after !== undefined)
  }

  /** One page of a whole table. */
  async tablePage(
    table: string,
    limit: number | undefined,
    after: TaggedItem | undefined,
  ): Promise<QueryPage> {
    const body = {
      TableName: table,
      ConsistentRead: true,
      ...(limit === undefined ? {} : { Limit: limit }),
      ...(after === undefined ? {} : { ExclusiveStartKey: after }),
    }
    return pageOf(await this.client.call<PageAnswer>("Scan", body, { isLong: true }))
  }

  /** Writes all or nothing. DynamoDB knows a repeat by the token, so an unknown result is asked for again. */
  async writeTogether(writes: ReadonlyArray<TransactWrite>): Promise<TransactAnswer> {
    const body = {
      TransactItems: writes,
      ClientRequestToken: crypto.randomUUID(),
      ReturnItemCollectionMetrics: "SIZE",
    }
    return this.client.call<TransactAnswer>("TransactWriteItems", body, { isRepeatable: true })
  }

  /** Changes one item and returns it as it is afterwards. `undefined` if the condition does not hold. */
  async update(place: ItemPlace, update: ItemUpdate, condition?: Condition): Promise<DynamoItem | undefined> {
    const body = { ...itemUpdateOf(place, update, condition), ReturnValues: "ALL_NEW" }
    const answer = await conditional(this.client.call<{ Attributes?: TaggedItem }>("UpdateItem", body))
    return answer === undefined ? undefined : plainItem(answer.Attributes ?? {})
  }

  /** False if the condition does not hold. */
  async put(table: string, item: DynamoItem, condition?: Condition): Promise<boolean> {
    return (await conditional(this.client.call("PutItem", putOf(table, item, condition)))) !== undefined
  }

  /** False if the condition does not hold. */
  async delete(place: ItemPlace, condition?: Condition): Promise<boolean> {
    return (await conditional(this.client.call("DeleteItem", deletionOf(place, condition)))) !== undefined
  }

  /** Writes without conditions, each on its own. It is harmless to do them twice. */
  async writeAll(table: string, writes: ReadonlyArray<PlainWrite>): Promise<void> {
    const batches: Array<ReadonlyArray<PlainWrite>> = []
    for (let from = 0; from < writes.length; from += writesOfBatch)
      batches.push(writes.slice(from, from + writesOfBatch))
    await forAll(batches, (batch) => this.#writeBatch(table, batch))
  }

  async #writeBatch(table: string, writes: ReadonlyArray<PlainWrite>): Promise<void> {
    let left: ReadonlyArray<object> = writes.map((write) =>
      "put" in write
        ? { PutRequest: { Item: taggedItem(write.put) } }
        : { DeleteRequest: { Key: taggedItem(write.delete) } },
    )
    for (let round = 0; left.length > 0; round++) {
      if (round >= batchRounds) throw new DynamoFailure("busy", "DynamoDB throttles the writes of an index.")
      if (round > 0) await pause(20 * 2 ** round)
      const answer = await this.client.call<{
        UnprocessedItems?: Record<string, ReadonlyArray<object>>
      }>("BatchWriteItem", { RequestItems: { [table]: left } }, { isRepeatable: true })
      left = answer.UnprocessedItems?.[table] ?? []
    }
  }
}

export type PlainWrite = { readonly put: DynamoItem } | { readonly delete: DynamoItem }

/** DynamoDB compares texts by their bytes. */
const isAfter = (a: string | number, b: string | number): boolean =>
  typeof a === "number" || typeof b === "number" ? a > b : Buffer.compare(Buffer.from(a), Buffer.from(b)) > 0

interface BatchAnswer {
  readonly Responses: Readonly<Record<string, ReadonlyArray<TaggedItem>>>
  readonly UnprocessedKeys?: Readonly<Record<string, { readonly Keys: ReadonlyArray<TaggedItem> }>>
}

interface PageAnswer {
  readonly Items?: ReadonlyArray<TaggedItem>
  readonly Count: number
  readonly LastEvaluatedKey?: TaggedItem
}

/** The sizes of the item collections that were written, by table, as far as DynamoDB tells them. */
export interface TransactAnswer {
  readonly ItemCollectionMetrics?: Readonly<
    Record<
      string,
      ReadonlyArray<{
        readonly ItemCollectionKey: TaggedItem
        readonly SizeEstimateRangeGB: ReadonlyArray<number>
      }>
    >
  >
}

const pageOf = ({ Items = [], Count, LastEvaluatedKey }: PageAnswer): QueryPage => ({
  items: Items.map(plainItem),
  count: Count,
  next: LastEvaluatedKey,
})

export const putOf = (table: string, item: DynamoItem, condition?: Condition): object => {
  const expression = new DynamoExpression()
  return { TableName: table, Item: taggedItem(item), ...conditionOf(expression, condition) }
}

export const deletionOf = ({ table, key }: ItemPlace, condition?: Condition): object => {
  const expression = new DynamoExpression()
  return { TableName: table, Key: taggedItem(key), ...conditionOf(expression, condition) }
}

export const checkOf = (place: ItemPlace, condition: Condition): object => deletionOf(place, condition)

export const itemUpdateOf = (
  { table, key }: ItemPlace,
  update: ItemUpdate,
  condition?: Condition,
): object => {
  const expression = new DynamoExpression()
  const text = updateText(expression, update)
  return {
    TableName: table,
    Key: taggedItem(key),
    ...(text === "" ? {} : { UpdateExpression: text }),
    ...conditionOf(expression, condition),
  }
}

const conditionOf = (expression: DynamoExpression, condition: Condition | undefined): object => {
  const text = condition?.(expression)
  return {
    ...(text === undefined || text === "" ? {} : { ConditionExpression: text }),
    ...expression.parameters,
  }
}

const projection = (expression: DynamoExpression, attributes: ReadonlyArray<string> | undefined): object =>
  attributes === undefined
    ? {}
    : { ProjectionExpression: attributes.map((attribute) => expression.name(attribute)).join(", ") }

const conditional = <A>(call: Promise<A>): Promise<A | undefined> =>
  call.catch((error: unknown) => {
    if (error instanceof DynamoFailure && error.isConditional) return undefined
    throw error
  })

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
