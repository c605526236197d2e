// Sessions of a server that speaks MySQL's protocol. Each has its own settings, and the driver must not replace a lost
// connection by one without them, so a session reserves its connection.
//
// A client that is frozen or cut off in a transaction holds the fence of a shard. Leases last 5 s, so the server must end
// such a transaction earlier. MySQL has only a limit for silent sessions, so a transaction lowers this limit while it is
// open. MariaDB and TiDB have a limit for silent transactions.
import type { MysqlSession } from "@punctual/documents/mysql/mysqlText"
import { driverTls } from "@punctual/sql/databaseTls"
import { type SessionKind, TimedOut } from "../SessionPool.ts"
import { isBroken } from "./failures.ts"
import type { Flavour, MysqlTarget } from "./mysqlUrl.ts"

/** At the server, in seconds: a silent transaction, the wait for a lock, a half-received or unread packet. */
const transactionTimeoutS = 2
/** At the server, in seconds: the limit for a statement. */
const statementTimeoutS = 3
const connectTimeoutMs = 3_000
/** A session that was silent for longer connects again before it is used. Servers and proxies end silent connections. */
const silentMostMs = 60_000
const sessionTimeoutS = 600

export type Purpose = "writing" | "reading" | "keeping"

/** Only the limits differ between the products. */
const limitsOf: { readonly [flavour in Flavour]: string } = {
  mysql: `max_execution_time = ${statementTimeoutS * 1_000}, lock_wait_timeout = ${statementTimeoutS},
    range_optimizer_max_mem_size = 0, eq_range_index_dive_limit = 1`,
  mariadb: `max_statement_time = ${statementTimeoutS}, lock_wait_timeout = ${statementTimeoutS},
    idle_transaction_timeout = ${transactionTimeoutS}, eq_range_index_dive_limit = 1`,
  tidb: `max_execution_time = ${statementTimeoutS * 1_000}, tidb_idle_transaction_timeout = ${transactionTimeoutS},
    tidb_txn_mode = 'pessimistic'`,
}

/** A command reads whole tables, or migrates, and may be silent in between. It also works on the wrong product. */
const keepingTimeoutS = 86_400

const settingsOf = (flavour: Flavour, purpose: Purpose): ReadonlyArray<string> => {
  const isKeeping = purpose === "keeping"
  const networkS = isKeeping ? keepingTimeoutS : transactionTimeoutS
  return [
    "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
    // Each statement of a write must see all earlier commits, because the write first waits for a fence.
    `SET SESSION TRANSACTION ISOLATION LEVEL ${purpose === "writing" ? "READ COMMITTED" : "REPEATABLE READ"}`,
    `SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', autocommit = 1,
      net_read_timeout = ${networkS}, net_write_timeout = ${networkS}, innodb_lock_wait_timeout = ${transactionTimeoutS},
      wait_timeout = ${isKeeping ? keepingTimeoutS : sessionTimeoutS}${isKeeping ? "" : `, ${limitsOf[flavour]}`}`,
  ]
}

const lowered = `SET SESSION wait_timeout = ${transactionTimeoutS}`
const restored = `SET SESSION wait_timeout = ${sessionTimeoutS}`

/** The statements around a transaction. */
const bounds: {
  readonly [flavour in Flavour]: {
    readonly before: ReadonlyArray<string>
    readonly after: ReadonlyArray<string>
  }
} = {
  mysql: { before: [lowered, "START TRANSACTION"], after: [restored] },
  mariadb: { before: ["START TRANSACTION"], after: [] },
  tidb: { before: ["BEGIN PESSIMISTIC"], after: [] },
}

type Results<Row> = Promise<ReadonlyArray<ReadonlyArray<Row>>>

export class Session implements MysqlSession {
  readonly #target: MysqlTarget
  readonly #purpose: Purpose
  #sql: Bun.SQL | undefined
  #connection: Promise<Bun.ReservedSQL> | undefined
  #usedAtMs = 0

  /** Connects when it is first used. */
  constructor(target: MysqlTarget, purpose: Purpose) {
    this.#target = target
    this.#purpose = purpose
  }

  async run<Row>(statements: ReadonlyArray<string>): Results<Row> {
    const silentMs = performance.now() - this.#usedAtMs
    // A command may be in a transaction that must not be lost.
    if (this.#connection !== undefined && silentMs > silentMostMs && this.#purpose !== "keeping")
      await this.close()
    this.#connection ??= this.#connected()
    const connection = await this.#connection
    const results = await send<Row>(connection, statements)
    this.#usedAtMs = performance.now()
    return results
  }

  async rows<Row>(statement: string): Promise<ReadonlyArray<Row>> {
    const [rows = []] = await this.run<Row>([statement])
    return rows
  }

  async transaction<Row>(statements: ReadonlyArray<string>): Results<Row> {
    const { before, after } = bounds[this.#target.flavour]
    const results = await this.#orRollBack<Row>([...before, ...statements, "COMMIT", ...after])
    return results.slice(before.length, before.length + statements.length)
  }

  /** Begins a transaction. It ends with `commit` or `rollBack`. */
  async begin<Row>(statements: ReadonlyArray<string>): Results<Row> {
    const { before } = bounds[this.#target.flavour]
    return (await this.#orRollBack<Row>([...before, ...statements])).slice(before.length)
  }

  async commit<Row>(statements: ReadonlyArray<string>): Results<Row> {
    return this.#orRollBack<Row>([...statements, "COMMIT", ...bounds[this.#target.flavour].after])
  }

  async rollBack(): Promise<void> {
    await this.run(["ROLLBACK", ...bounds[this.#target.flavour].after])
  }

  /** Everything that the statements read is of one instant. */
  async snapshot<Row>(statements: ReadonlyArray<string>): Results<Row> {
    const around = ["START TRANSACTION WITH CONSISTENT SNAPSHOT", ...statements, "COMMIT"]
    return (await this.#orRollBack<Row>(around)).slice(1, -1)
  }

  async close(): Promise<void> {
    const sql = this.#sql
    this.#sql = undefined
    this.#connection = undefined
    await sql?.close({ timeout: 0 })
  }

  /** A server executes the statements of a packet until one fails. The transaction then stays open. */
  async #orRollBack<Row>(statements: ReadonlyArray<string>): Results<Row> {
    try {
      return await this.run<Row>(statements)
    } catch (error) {
      // A lost connection ends its transaction.
      if (!isBroken(error)) await this.rollBack()
      throw error
    }
  }

  async #connected(): Promise<Bun.ReservedSQL> {
    try {
      this.#sql = connectionTo(this.#target)
      const connection = await this.#sql.reserve()
      await send(connection, settingsOf(this.#target.flavour, this.#purpose))
      return connection
    } catch (error) {
      await this.close().catch(() => {})
      throw error
    }
  }
}

/** The driver returns a list of results only for several statements. */
const send = async <Row>(connection: Bun.ReservedSQL, statements: ReadonlyArray<string>): Results<Row> => {
  const results = await connection.unsafe(statements.join(";\n")).simple()
  return statements.length === 1 ? [results] : results
}

export const sessionsTo = (target: MysqlTarget, purpose: Purpose): SessionKind<Session> => ({
  open: () => new Session(target, purpose),
  close: (session) => session.close(),
  isBroken: (error) => error instanceof TimedOut || isBroken(error),
})

/** Without TLS the server's key for the password cannot be checked, as nothing else can. */
const connectionTo = ({ url, tls }: MysqlTarget): Bun.SQL =>
  new Bun.SQL({
    adapter: "mysql",
    url,
    max: 1,
    connectionTimeout: connectTimeoutMs / 1_000,
    ...driverTls(tls),
    ...(tls.mode === "disable" ? { allowPublicKeyRetrieval: true } : {}),
  })
