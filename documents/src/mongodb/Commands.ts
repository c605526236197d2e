// Sends commands to MongoDB. All commands name their own concerns: writes wait for the journals of a majority, and reads
// see only what a majority has. So no setting of the URL or the server makes an answer weaker. Nothing is repeated
// here: the caller knows which commands it may repeat. This file is here, and not beside a store, because documents and
// stores share it.
import {
  type ClientSession,
  type Document,
  MongoClient,
  MongoServerError,
  MongoServerSelectionError,
} from "../../../drivers/mongodb/mongodb.ts"

export type { Document } from "../../../drivers/mongodb/mongodb.ts"

export type CollectionName = "keys" | "lives" | "shards" | "leases" | "members" | "documents" | "meta"

export interface UpdateOne {
  readonly q: Document
  readonly u: Document
  readonly upsert?: boolean
  readonly multi?: boolean
}

export interface FindOptions {
  readonly sort?: Document
  readonly limit?: number
  readonly projection?: Document
}

export interface CommandsOptions {
  readonly url: string
  readonly database: string
  readonly connections: number
  readonly timeoutMs?: number
}

/** The limits for one command, from the moment it is sent, and for a connection. The driver then drops the connection. */
export const commandTimeoutMs = 4_000
const connectTimeoutMs = 3_000
const closeTimeoutMs = 500

/** A command took too long. Its result is unknown. */
export class CommandTimedOut extends Error {}

const writeConcern = { w: "majority", j: true } as const
const readConcern = { level: "majority" } as const
const duplicateKey = 11_000

export class Commands {
  readonly #options: CommandsOptions
  readonly #timeoutMs: number
  #client: MongoClient
  #isClosed = false

  constructor(options: CommandsOptions) {
    this.#options = options
    this.#timeoutMs = options.timeoutMs ?? commandTimeoutMs
    this.#client = this.#newClient()
  }

  #newClient(): MongoClient {
    return new MongoClient(this.#options.url, {
      appName: "punctual",
      maxPoolSize: this.#options.connections,
      minPoolSize: 0,
      connectTimeoutMS: connectTimeoutMs,
      serverSelectionTimeoutMS: connectTimeoutMs,
      waitQueueTimeoutMS: this.#timeoutMs,
      socketTimeoutMS: this.#timeoutMs,
      ignoreUndefined: true,
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await closed(this.#client)
  }

  /**
   * The driver's monitor can stay with its last error after a server was killed, and then finds no server any more. A new
   * client does. Commands that still run on the old one fail, and their results are unknown.
   */
  #replace(failed: MongoClient): void {
    if (this.#isClosed || failed !== this.#client) return
    this.#client = this.#newClient()
    void closed(failed)
  }

  async run(command: Document, session?: ClientSession, client = this.#client): Promise<Document> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_, reject) => {
      const message = `no answer within ${this.#timeoutMs} ms`
      timer = setTimeout(() => reject(new CommandTimedOut(message)), this.#timeoutMs)
    })
    try {
      return await Promise.race([
        client.db(this.#options.database).command(command, {
          readPreference: "primary",
          promoteBuffers: true,
          ...(session && { session }),
        }),
        late,
      ])
    } catch (error) {
      if (error instanceof MongoServerSelectionError) this.#replace(client)
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  async find(
    collection: CollectionName,
    filter: Document,
    options: FindOptions = {},
  ): Promise<Array<Document>> {
    // A cursor belongs to the session that opened it, and a session to its client.
    const client = this.#client
    await using session = client.startSession({ causalConsistency: false })
    const command = { find: collection, filter, ...options, ...batchOf(options), readConcern }
    const reply = await this.run(command, session, client)
    const found: Array<Document> = [...reply["cursor"].firstBatch]
    let id = reply["cursor"].id
    // An answer has at most 16 MiB. The rest comes with further commands.
    while (isOpen(id)) {
      const more = await this.run({ getMore: id, collection }, session, client)
      found.push(...more["cursor"].nextBatch)
      id = more["cursor"].id
    }
    return found
  }

  async findOne(collection: CollectionName, filter: Document, projection?: Document) {
    const options = { limit: 1, ...(projection === undefined ? {} : { projection }) }
    return (await this.find(collection, filter, options))[0]
  }

  async aggregate(collection: CollectionName, pipeline: ReadonlyArray<Document>): Promise<Array<Document>> {
    const reply = await this.run({
      aggregate: collection,
      pipeline,
      cursor: { batchSize: 100_000 },
      readConcern,
    })
    return reply["cursor"].firstBatch
  }

  async count(collection: CollectionName, query: Document, limit: number): Promise<number> {
    return (await this.run({ count: collection, query, limit, readConcern }))["n"]
  }

  /** The indexes of the documents that were not stored, because their `_id` is in use. */
  async insert(collection: CollectionName, documents: ReadonlyArray<Document>): Promise<ReadonlySet<number>> {
    if (documents.length === 0) return new Set()
    const reply = await this.run({ insert: collection, documents, ordered: false, writeConcern })
    return duplicatesIn(reply)
  }

  /** How many of the updates found their document or inserted it. */
  async update(collection: CollectionName, updates: ReadonlyArray<UpdateOne>): Promise<number> {
    if (updates.length === 0) return 0
    const reply = await this.run({ update: collection, updates, ordered: false, writeConcern })
    duplicatesIn(reply)
    return reply["n"]
  }

  async remove(collection: CollectionName, q: Document): Promise<number> {
    const reply = await this.run({ delete: collection, deletes: [{ q, limit: 0 }], writeConcern })
    duplicatesIn(reply)
    return reply["n"]
  }

  /** The document after the update, or `undefined` if none matches the query. */
  async change(
    collection: CollectionName,
    query: Document,
    update: Document,
    options: { readonly fields?: Document; readonly upsert?: true } = {},
  ): Promise<Document | undefined> {
    const command = { findAndModify: collection, query, update, new: true, ...options, writeConcern }
    const reply = await this.run(command)
    failIfUnconfirmed(reply)
    return reply["value"] ?? undefined
  }
}

/** The driver would wait for a server that it cannot reach, to end its sessions there. */
const closed = async (client: MongoClient): Promise<void> => {
  const late = new Promise((resolve) => setTimeout(resolve, closeTimeoutMs))
  await Promise.race([client.close(true).catch(() => {}), late])
}

export const isDuplicate = (error: unknown): boolean =>
  error instanceof MongoServerError && error.code === duplicateKey

/** A find with a limit needs only one batch, as long as it is not too large. */
const batchOf = ({ limit }: FindOptions): Document => ({ batchSize: limit ?? 1_000 })

/** A cursor's id is 0 when it has no more documents. The driver may return it as a Long. */
const isOpen = (id: unknown): boolean => String(id) !== "0"

const duplicatesIn = (reply: Document): ReadonlySet<number> => {
  const duplicates = new Set<number>()
  for (const { index, code, errmsg } of reply["writeErrors"] ?? []) {
    if (code !== duplicateKey) throw new MongoServerError({ message: errmsg, errmsg, code })
    duplicates.add(index)
  }
  failIfUnconfirmed(reply)
  return duplicates
}

/** The write may be lost in a failover. Its result is unknown. */
const failIfUnconfirmed = ({ writeConcernError }: Document): void => {
  if (writeConcernError === undefined) return
  const { errmsg, code } = writeConcernError
  throw new MongoServerError({ message: `not confirmed by a majority: ${errmsg}`, errmsg, code })
}
