// The tables of an SQLite store in the checker's form. The function reads the rows directly, without the service and
// its adapter, so its counts come from the rows themselves. Read them after the service has stopped.
import { DatabaseSync } from "node:sqlite"
import { emptyTally, type Tally } from "../src/domain/Decision.ts"
import type { StoreContents, StoredLife, StoredPending } from "./History.ts"

interface Row {
  readonly namespace: string
  readonly timer_id: string
  readonly fire_id: Uint8Array
  readonly revision: number
  readonly state: StoredLife["state"]
  readonly fire_at: number
  readonly payload: Uint8Array | null
}

export const readSqliteContents = (path: string): StoreContents => {
  const database = new DatabaseSync(path)
  try {
    // The query names exactly these columns.
    const rows = (sql: string) => database.prepare(sql).all() as unknown as ReadonlyArray<Row>
    const columns = "namespace, timer_id, fire_id, revision"
    return {
      pending: rows(`SELECT ${columns}, fire_at, payload FROM timers JOIN bodies USING (id)`).map(pendingOf),
      finished: rows(
        `SELECT ${columns}, state FROM history UNION ALL SELECT ${columns}, 'dead' AS state FROM dead`,
      ).map((row) => ({ ...identityOf(row), state: row.state })),
      tally: database
        .prepare(`SELECT ${tallyColumns.map((name) => `sum(${name}) AS ${name}`).join(", ")} FROM tally`)
        .get() as unknown as Tally,
    }
  } finally {
    database.close()
  }
}

const tallyColumns = Object.keys(emptyTally)

const identityOf = (row: Row) => ({
  key: { namespace: row.namespace, timerId: row.timer_id },
  fireId: uuidText(row.fire_id),
  revision: row.revision,
})

const pendingOf = (row: Row): StoredPending => ({
  ...identityOf(row),
  fireAtMs: row.fire_at,
  ...(row.payload === null ? {} : { payload: row.payload }),
})

const uuidText = (bytes: Uint8Array): string =>
  Buffer.from(bytes)
    .toString("hex")
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5")
