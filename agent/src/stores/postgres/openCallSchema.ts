// Connections to the agent's schema in PostgreSQL, and the schema itself. Every statement is bounded in time, on the
// server and here, and the driver connects again by itself.
import schemaText from "./schema.sql" with { type: "text" }

const statementTimeoutMs = 10_000
const answerWithinMs = 15_000
const connectWithinMs = 5_000
const defaultSchema = "agent"

export interface CallConnections {
  ask<Row>(sql: string, values: ReadonlyArray<unknown>): Promise<ReadonlyArray<Row>>
  /** The same on the connection that has the locks. */
  askLocks<Row>(sql: string, values: ReadonlyArray<unknown>): Promise<ReadonlyArray<Row>>
  close(): Promise<void>
}

export const connectCalls = (url: string, connections: number): CallConnections => {
  const pool = connect(url, connections)
  const locks = connect(url, 1)
  return {
    ask: (sql, values) => within(pool.unsafe(sql, [...values])),
    askLocks: (sql, values) => within(locks.unsafe(sql, [...values])),
    close: async () => {
      await Promise.all([pool, locks].map((sql) => sql.close({ timeout: 0 }).catch(() => {})))
    },
  }
}

/** Creates what is missing. Two processes may do this at the same time. */
export const openCallSchema = async (url: string): Promise<void> => {
  const sql = connect(url, 1)
  const { schema } = targetOf(url)
  try {
    await within(
      sql.begin(async (tx) => {
        await tx.unsafe("SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))", [
          `agent schema ${schema}`,
        ])
        await tx.unsafe(`CREATE SCHEMA IF NOT EXISTS "${schema}"`)
        for (const statement of schemaText.split(";\n")) {
          if (/\w/.test(statement.replace(/^--.*$/gm, ""))) await tx.unsafe(statement)
        }
      }),
    )
  } finally {
    await sql.close({ timeout: 0 }).catch(() => {})
  }
}

const connect = (url: string, connections: number): Bun.SQL => {
  const { schema, address, database } = targetOf(url)
  return new Bun.SQL({
    adapter: "postgres",
    url: address,
    database,
    max: connections,
    connectionTimeout: connectWithinMs / 1_000,
    connection: {
      application_name: "punctual-agent",
      search_path: `"${schema}"`,
      statement_timeout: String(statementTimeoutMs),
      idle_in_transaction_session_timeout: String(statementTimeoutMs),
      synchronous_commit: "on",
    },
  })
}

const targetOf = (text: string) => {
  const url = new URL(text)
  const schema = url.searchParams.get("schema") ?? defaultSchema
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new Error(`${JSON.stringify(schema)} cannot be a schema: use a-z, 0-9 and _`)
  }
  url.searchParams.delete("schema")
  return { schema, address: url.href, database: decodeURIComponent(url.pathname.slice(1)) || "postgres" }
}

const within = async <A>(work: Promise<A>): Promise<A> => {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no answer within ${answerWithinMs} ms`)), answerWithinMs)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
