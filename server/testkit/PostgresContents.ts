// The tables of a PostgreSQL store in the checker's form. The class reads the rows directly, without the service and
// its adapter, so its counts come from the rows themselves. Read the contents when no service runs any more. The owners
// of shards can be read at any time.
import { emptyTally, type Tally } from "../src/domain/Decision.ts"
import type { StoredLease } from "./ClusterStore.ts"
import type { StoreContents, StoredLife, StoredPending } from "./History.ts"

interface Row {
  readonly namespace: string
  readonly timer_id: string
  readonly fire_id: string
  readonly revision: number
  readonly state: StoredLife["state"]
  readonly fire_at: number
  readonly payload: Uint8Array | null
}

/** Reads one schema of the database, and creates nothing in it. */
export class PostgresContents implements AsyncDisposable {
  readonly #sql: Bun.SQL
  readonly #schema: string

  constructor(url: string, schema: string) {
    this.#sql = new Bun.SQL({ url, max: 1, connectionTimeout: 5 })
    this.#schema = schema
  }

  /** Reads everything as of one instant. */
  async read(): Promise<StoreContents> {
    return this.#sql.begin("isolation level repeatable read read only", async (sql) => {
      const pending: ReadonlyArray<Row> = await sql.unsafe(
        `SELECT ${identity}, fire_at::float8 AS fire_at, payload FROM ${this.#schema}.timers`,
      )
      const finished: ReadonlyArray<Row> = await sql.unsafe(
        `SELECT ${identity}, state FROM ${this.#schema}.history`,
      )
      const tallies: ReadonlyArray<Tally> = await sql.unsafe(
        `SELECT ${tallyColumns.map((name) => `sum(${name})::float8 AS ${name}`).join(", ")} FROM ${this.#schema}.shards`,
      )
      const tally = tallies[0]
      if (tally === undefined) throw new Error("a sum without a grouping is one row")
      return {
        pending: pending.map(pendingOf),
        finished: finished.map((row) => ({ ...identityOf(row), state: row.state })),
        tally,
      }
    })
  }

  /** Who holds which shard, in the order of the shards. */
  async leases(): Promise<ReadonlyArray<StoredLease>> {
    return this.#sql.unsafe(
      `SELECT shard, epoch::float8 AS epoch, node FROM ${this.#schema}.leases ORDER BY shard`,
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sql.close({ timeout: 0 })
  }
}

const identity = "namespace, timer_id, fire_id::text AS fire_id, revision::float8 AS revision"

const tallyColumns = Object.keys(emptyTally)

const identityOf = (row: Row) => ({
  key: { namespace: row.namespace, timerId: row.timer_id },
  fireId: row.fire_id,
  revision: row.revision,
})

const pendingOf = (row: Row): StoredPending => ({
  ...identityOf(row),
  fireAtMs: row.fire_at,
  ...(row.payload === null ? {} : { payload: new Uint8Array(row.payload) }),
})
