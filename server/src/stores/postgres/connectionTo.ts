// How the store connects to PostgreSQL.

import { type DatabaseTls, driverTls } from "@punctual/sql/databaseTls"
import type { SessionKind } from "../SessionPool.ts"
import { isBroken } from "./failures.ts"
import { connectTimeoutMs } from "./limits.ts"

export interface Place {
  readonly url: string
  readonly database: string
  readonly settings: Readonly<Record<string, string>>
  /** Absent if the connection is not encrypted. */
  readonly tls?: DatabaseTls
}

export const connectionsTo = (place: Place): SessionKind<Bun.SQL> => ({
  open: () => connectionTo(place),
  close: (sql) => sql.close({ timeout: 0 }),
  isBroken,
})

export const connectionTo = ({ url, database, settings, tls = { mode: "disable" } }: Place): Bun.SQL =>
  new Bun.SQL({
    adapter: "postgres",
    url,
    database,
    max: 1,
    connectionTimeout: connectTimeoutMs / 1_000,
    connection: settings,
    ...driverTls(tls),
  })
