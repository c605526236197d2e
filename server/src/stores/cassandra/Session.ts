// The connection to a cluster: prepared statements, conditional batches, and a bound on what is under way. Reads and
// writes need a quorum of the data centre. A conditional write is also agreed on there, so that no other data centre
// takes part (see openDatabase.ts).

import { readFileSync } from "node:fs"
import { isIP } from "node:net"
import {
  auth,
  type CassandraClient,
  type CassandraClientOptions,
  CassandraDriverClient,
  policies,
  types,
} from "../../../../drivers/cassandra/cassandra.ts"
import type { CassandraTarget } from "./cassandraUrl.ts"

/** Leases last 5 s. A call ends before that, so that a broken connection never prevents another node from taking over. */
const callTimeoutMs = 4_000
const connectTimeoutMs = 3_000
/**
 * The driver would wait twice as long after each failure, up to ten minutes. A node that finds the database later than the
 * others loses its shards to them.
 */
const reconnectAfterMs = 1_000

/** How many requests may be under way, and how many more may wait for one of them. */
const mostRunning = 512
const mostWaiting = 20_000

export type Value =
  | string
  | number
  | bigint
  | boolean
  | Buffer
  | null
  | ReadonlyArray<number>
  | ReadonlyArray<Buffer>

export interface Statement {
  readonly query: string
  readonly params: ReadonlyArray<Value>
}

export type Row = Readonly<Record<string, unknown>>

export interface RunOptions {
  /** More rows than this are an error of the program. */
  readonly rows?: number
  /** Leases are agreed on by all data centres. */
  readonly isOfLeases?: true
  /** Repeating the statement would be harmful, so the driver must not do it. */
  readonly isConditional?: true
  readonly timeoutMs?: number
}

/** What commits and reads need of a session. */
export type BatchSession = Pick<Session, "store" | "rows" | "batch">

/** Executes one conditional statement. Returns whether its condition was true. */
export const applies = async (
  session: BatchSession,
  query: string,
  params: ReadonlyArray<Value>,
  options: RunOptions = {},
): Promise<boolean> =>
  (await session.batch([{ query, params }], { ...options, isConditional: true })) === undefined

const { consistencies } = types

export class Session {
  readonly store: string
  readonly #client: CassandraClient
  #running = 0
  readonly #waiting: Array<() => void> = []

  private constructor(client: CassandraClient, { store }: CassandraTarget) {
    this.#client = client
    this.store = store
  }

  static async connect(target: CassandraTarget): Promise<Session> {
    const client = new CassandraDriverClient(optionsOf(target))
    try {
      await client.connect()
    } catch (error) {
      await client.shutdown().catch(() => {})
      throw error
    }
    return new Session(client, target)
  }

  /** The addresses of the nodes of the data centre that are up. */
  hosts(dataCenter: string): ReadonlyArray<{ readonly address: string; readonly version: string }> {
    return this.#client.hosts
      .values()
      .filter((host) => host.datacenter === dataCenter && host.isUp())
      .map((host) => ({ address: host.address, version: host.cassandraVersion ?? "" }))
  }

  get keyspace(): string {
    return this.#client.keyspace
  }

  /** Statements name tables of this keyspace. */
  async use(keyspace: string): Promise<void> {
    await this.#client.execute(`USE ${keyspace}`)
  }

  /** Changes the schema. The driver waits until all nodes agree. */
  async define(statement: string, timeoutMs = callTimeoutMs): Promise<void> {
    await this.#client.execute(statement, [], { readTimeout: timeoutMs })
  }

  /** Asks one node about itself. */
  async rowsAt(address: string, query: string): Promise<ReadonlyArray<Row>> {
    const host = this.#client.hosts.values().find((one) => one.address === address)
    const options = { consistency: consistencies.one, ...(host === undefined ? {} : { host }) }
    const { rows } = await this.#client.execute(query, [], options)
    return rows
  }

  async rows(
    query: string,
    params: ReadonlyArray<Value> = [],
    options: RunOptions = {},
  ): Promise<ReadonlyArray<Row>> {
    return this.#gated(async () => {
      const { rows } = await this.#client.execute(query, [...params], {
        prepare: true,
        // Without paging, because every statement has a limit of its own.
        fetchSize: options.rows ?? 0,
        isIdempotent: options.isConditional !== true,
        ...consistencyOf(options),
      })
      // A statement that returns no rows at all has none.
      return rows ?? []
    })
  }

  /** All statements in one step. With conditions, all of them must be true. Returns no row if the batch was applied. */
  async batch(
    statements: ReadonlyArray<Statement>,
    options: RunOptions = {},
  ): Promise<ReadonlyArray<Row> | undefined> {
    return this.#gated(async () => {
      const result = await this.#client.batch(
        statements.map(({ query, params }) => ({ query, params: [...params] })),
        {
          prepare: true,
          logged: options.isConditional === true,
          isIdempotent: options.isConditional !== true,
          ...consistencyOf(options),
        },
      )
      return result.wasApplied() ? undefined : (result.rows ?? [])
    })
  }

  async close(): Promise<void> {
    await this.#client.shutdown()
  }

  async #gated<A>(call: () => Promise<A>): Promise<A> {
    if (this.#running >= mostRunning) {
      if (this.#waiting.length >= mostWaiting) throw new Error("too many calls wait for the database")
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    } else this.#running++
    try {
      return await call()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}

const consistencyOf = ({ isOfLeases, isConditional, timeoutMs = callTimeoutMs }: RunOptions) => ({
  readTimeout: timeoutMs,
  consistency: isOfLeases && !isConditional ? consistencies.serial : consistencies.localQuorum,
  serialConsistency: isOfLeases ? consistencies.serial : consistencies.localSerial,
})

const optionsOf = (target: CassandraTarget): CassandraClientOptions => ({
  contactPoints: [...target.hosts],
  localDataCenter: target.dataCenter,
  encoding: { useBigIntAsLong: true },
  socketOptions: { connectTimeout: connectTimeoutMs, readTimeout: callTimeoutMs },
  policies: { reconnection: new policies.reconnection.ConstantReconnectionPolicy(reconnectAfterMs) },
  pooling: { maxRequestsPerConnection: 2 * mostRunning },
  maxPrepared: 500,
  ...(target.user === undefined
    ? {}
    : { authProvider: new auth.PlainTextAuthProvider(target.user, target.password ?? "") }),
  ...(target.tls === "off" ? {} : { sslOptions: tlsOf(target) }),
})

const tlsOf = ({ caFile, hosts }: CassandraTarget) => {
  const first = (hosts[0] ?? "").replace(/:\d+$/, "")
  return {
    rejectUnauthorized: true,
    // The driver connects to addresses, and certificates name hosts.
    ...(isIP(first) === 0 ? { host: first, servername: first } : {}),
    ...(caFile === undefined ? {} : { ca: [readFileSync(caFile)] }),
  }
}
