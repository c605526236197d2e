// Connections to the agent's schema in PostgreSQL, and the schema itself. Every statement is bounded in time, on the
// server and here, and the driver connects again by itself.
import {
  applyMigrations,
  lockSchema,
  newerSchema,
  otherProgram,
  searchPathOf,
  storedVersion,
  tablesIn,
} from "@punctual/sql/applyMigrations"
import { checkServer } from "@punctual/sql/checkServer"
import { type DatabaseTarget, databaseTargetOf } from "@punctual/sql/DatabaseTarget"
import { driverTls } from "@punctual/sql/databaseTls"
import { explained } from "@punctual/sql/explained"
import { callMigrations, callSchemaVersion } from "./migrations/all.ts"

const statementTimeoutMs = 10_000
const answerWithinMs = 15_000
const connectWithinMs = 5_000
/** Building an index on a full table takes time, and so does waiting for another process that migrates. */
const migrationTimeoutMs = 600_000

const storeWords = { setting: "AGENT_STORE_URL", kept: "calls", defaultSchema: "agent" }

export interface CallConnections {
  ask<Row>(sql: string, values: ReadonlyArray<unknown>): Promise<ReadonlyArray<Row>>
  /** The same on the connection that has the locks. */
  askLocks<Row>(sql: string, values: ReadonlyArray<unknown>): Promise<ReadonlyArray<Row>>
  close(): Promise<void>
}

/** Fails with an `DatabaseFailure`, whose message says what to do. */
export const openCalls = async (url: string, connections: number): Promise<CallConnections> => {
  const target = databaseTargetOf(url, storeWords)
  await openCallSchema(target)
  const pool = connect(target, connections, statementTimeoutMs)
  const locks = connect(target, 1, statementTimeoutMs)
  return {
    ask: (sql, values) => within(pool.unsafe(sql, [...values])),
    askLocks: (sql, values) => within(locks.unsafe(sql, [...values])),
    close: async () => {
      await Promise.all([pool, locks].map((sql) => sql.close({ timeout: 0 }).catch(() => {})))
    },
  }
}

/** Several processes may do this at the same time. */
const openCallSchema = async (target: DatabaseTarget): Promise<void> => {
  const sql = connect(target, 1, migrationTimeoutMs)
  try {
    await checkServer(sql, target)
    await sql.begin(async (tx) => {
      await lockSchema(tx, "punctual agent", target)
      const version = await versionOf(tx, target)
      if (version > callSchemaVersion) throw newerSchema(target, version, callSchemaVersion)
      await applyMigrations(tx, target, version, callMigrations)
    })
  } catch (error) {
    throw await explained(error, target)
  } finally {
    await sql.close({ timeout: 0 }).catch(() => {})
  }
}

const ownTables = ["calls", "requests", "timeline", "outbox", "attempts"]

const versionOf = async (sql: Bun.SQL, target: DatabaseTarget): Promise<number> => {
  const tables = await tablesIn(sql, target)
  if (tables.length === 0) return 0
  if (!ownTables.every((own) => tables.includes(own))) throw otherProgram(target)
  return tables.includes("migrations") ? storedVersion(sql, target) : 0
}

const connect = (
  { schema, url, database, tls }: DatabaseTarget,
  connections: number,
  timeoutMs: number,
): Bun.SQL =>
  new Bun.SQL({
    adapter: "postgres",
    url,
    database,
    max: connections,
    connectionTimeout: connectWithinMs / 1_000,
    connection: {
      application_name: "punctual-agent",
      search_path: searchPathOf(schema),
      statement_timeout: String(timeoutMs),
      idle_in_transaction_session_timeout: String(timeoutMs),
      synchronous_commit: "on",
    },
    ...driverTls(tls),
  })

const within = async <A>(work: Promise<A>): Promise<A> => {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no answer within ${answerWithinMs} ms`)), answerWithinMs)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
