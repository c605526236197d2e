// Documents in a table of DynamoDB, one item for each: (doc#kind, id), with an index by version. A write is a transaction
// that also raises the counter of versions, under the condition that nobody else has raised it. So versions become visible
// in order. The writes of one process wait for each other, because they would only fail each other.
import type { DynamoExpression } from "@punctual/aws/DynamoExpression"
import { DynamoFailure } from "@punctual/aws/DynamoFailure"
import type { DynamoItem } from "@punctual/aws/DynamoItem"
import { type DynamoTables, itemUpdateOf, putOf, type TransactWrite } from "@punctual/aws/DynamoTables"
import {
  type DocumentCalls,
  type DocumentRow,
  type IdRange,
  tombstonesCleared,
  tombstonesKeptMs,
  type WriteDocument,
} from "../DocumentRow.ts"

/** How often other processes may be faster. */
const mostTries = 40
const longestPauseMs = 100

export class DynamoDocuments implements DocumentCalls {
  readonly #tables: DynamoTables
  readonly #table: string
  #last: Promise<unknown> = Promise.resolve()

  constructor(tables: DynamoTables, table: string) {
    this.#tables = tables
    this.#table = table
  }

  write(asked: WriteDocument): Promise<DocumentRow | undefined> {
    const written = this.#last.then(() => this.#write(asked))
    this.#last = written.catch(() => {})
    return written
  }

  /** The last version that was given. */
  async version(): Promise<number> {
    return Number((await this.#tables.get(this.#counter))?.["last"] ?? 0)
  }

  get #counter() {
    return { table: this.#table, key: { pk: "documents", sk: "-" } }
  }

  async #write(asked: WriteDocument): Promise<DocumentRow | undefined> {
    const { kind, id, json, updatedAt, expectedVersion } = asked
    if (json === null && expectedVersion === 0) return undefined
    for (let tries = 0; tries < mostTries; tries++) {
      const last = await this.version()
      const version = last + 1
      try {
        await this.#tables.writeTogether([this.#raised(last), ...this.#changes(asked, version)])
        if (json === null) await this.#clear(updatedAt - tombstonesKeptMs)
        return { kind, id, version, json, updated_at: updatedAt }
      } catch (error) {
        if (!(error instanceof DynamoFailure) || !error.isConditional) throw error
        const [counter] = error.reasons
        if (counter?.code !== "ConditionalCheckFailed") return undefined
        await new Promise((resolve) =>
          setTimeout(resolve, Math.random() * Math.min(longestPauseMs, 5 * 2 ** tries)),
        )
      }
    }
    throw new DynamoFailure("busy", "Too many processes write documents at once.")
  }

  #raised(last: number): TransactWrite {
    const isLast = (expression: DynamoExpression) => expression.equals("last", last === 0 ? undefined : last)
    return { Update: itemUpdateOf(this.#counter, { set: { last: last + 1 } }, isLast) }
  }

  #changes(
    { kind, id, json, updatedAt, expectedVersion }: WriteDocument,
    version: number,
  ): Array<TransactWrite> {
    const item = { pk: partitionOf(kind), sk: id, version, updated_at: updatedAt }
    // A tombstone counts as no document.
    const isExpected = (expression: DynamoExpression) =>
      expectedVersion === 0
        ? expression.lacks("json")
        : `${expression.equals("version", expectedVersion)} AND ${expression.has("json")}`
    const put = { Put: putOf(this.#table, json === null ? item : { ...item, json }, isExpected) }
    if (json !== null) return [put]
    return [put, { Put: putOf(this.#table, tombstoneOf(kind, id, version, updatedAt)) }]
  }

  async #clear(exclusiveBeforeMs: number): Promise<void> {
    const range = ["sk", "0", timeOf(exclusiveBeforeMs - 1, "~")] as const
    const old = await this.#tables.page(
      { table: this.#table, partition: ["pk", tombstones], range },
      tombstonesCleared,
      undefined,
    )
    for (const tombstone of old.items) {
      const { sk = "", given = 0, doc = "", doc_id = "" } = tombstone
      const place = { table: this.#table, key: { pk: partitionOf(String(doc)), sk: String(doc_id) } }
      const isSame = (expression: DynamoExpression) =>
        `${expression.equals("version", given)} AND ${expression.lacks("json")}`
      await this.#tables.delete(place, isSame)
      await this.#tables.delete({ table: this.#table, key: { pk: tombstones, sk: String(sk) } })
    }
  }

  async get(kind: string, id: string): Promise<DocumentRow | undefined> {
    const item = await this.#tables.get({ table: this.#table, key: { pk: partitionOf(kind), sk: id } })
    return item?.["json"] === undefined ? undefined : rowOf(kind, item)
  }

  list({ kind, inclusiveFrom, exclusiveUntil, limit }: IdRange): Promise<ReadonlyArray<DocumentRow>> {
    const range = ["sk", inclusiveFrom, exclusiveUntil] as const
    const filter = (expression: DynamoExpression) => expression.has("json")
    return this.#rows(kind, { range, filter }, limit)
  }

  changesAfter(kind: string, version: number, limit: number): Promise<ReadonlyArray<DocumentRow>> {
    const range = ["version", version + 1, Number.MAX_SAFE_INTEGER] as const
    // The index has only the keys, because an item and its index entries may have 400 KB together.
    return this.#rows(kind, { range, index: "version", attributes: rowAttributes }, limit)
  }

  /** Reads on until the page is full, because tombstones count towards a page of DynamoDB. */
  async #rows(
    kind: string,
    query: Omit<Parameters<DynamoTables["page"]>[0], "table" | "partition">,
    limit: number,
  ): Promise<ReadonlyArray<DocumentRow>> {
    const rows: Array<DocumentRow> = []
    const pages = this.#tables.pages(
      { table: this.#table, partition: ["pk", partitionOf(kind)], ...query },
      limit,
    )
    for await (const { items } of pages) {
      rows.push(...items.map((item) => rowOf(kind, item)))
      if (rows.length >= limit) break
    }
    return rows.slice(0, limit)
  }
}

const rowAttributes = ["sk", "version", "json", "updated_at"]

const tombstones = "tombstones"
const timeWidth = 16

const timeOf = (ms: number, rest: string): string =>
  `${String(Math.max(0, ms)).padStart(timeWidth, "0")}${rest}`

/** `version` would put it into the index of versions. */
const tombstoneOf = (kind: string, id: string, version: number, updatedAt: number): DynamoItem => ({
  pk: tombstones,
  sk: timeOf(updatedAt, `${kind} ${id}`),
  given: version,
  doc: kind,
  doc_id: id,
})

const partitionOf = (kind: string): string => `doc#${kind}`

const rowOf = (kind: string, { sk, version, json, updated_at }: DynamoItem): DocumentRow => ({
  kind,
  id: String(sk),
  version: Number(version),
  json: typeof json === "string" ? json : null,
  updated_at: Number(updated_at),
})
