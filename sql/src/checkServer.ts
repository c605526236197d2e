// Checks that a server is new enough, and that it keeps what it has acknowledged.

import { DatabaseFailure } from "./DatabaseFailure.ts"
import type { DatabaseTarget } from "./DatabaseTarget.ts"
import type { SqlSession } from "./SqlSession.ts"

const oldestServer = 15

/** What a server reports about itself. */
export interface ServerRow {
  readonly version: number
  readonly fsync: string
  readonly full_page_writes: string
  readonly synchronous_commit: string
  readonly encoding: string
  readonly is_standby: boolean
}

/** Returns whether commits are answered before they are on disk. */
export const checkServer = async (sql: SqlSession, { name, words }: DatabaseTarget): Promise<boolean> => {
  const rows = (await sql.unsafe(`SELECT
    current_setting('server_version_num')::integer / 10000 AS version, current_setting('fsync') AS fsync,
    current_setting('full_page_writes') AS full_page_writes,
    current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS is_standby`)) as ReadonlyArray<ServerRow>
  const server = rows[0]
  if (server === undefined) throw new Error("the server did not report its version")
  const unfit = whyUnfit(server, name, words.kept)
  if (unfit !== undefined) throw unfit
  return server.synchronous_commit === "off"
}

export const whyUnfit = (server: ServerRow, name: string, kept: string): DatabaseFailure | undefined => {
  if (server.version < oldestServer) {
    return new DatabaseFailure(
      "serverTooOld",
      `${name} is on PostgreSQL ${server.version}: ${oldestServer} or newer is needed.`,
    )
  }
  for (const setting of ["fsync", "full_page_writes"] as const) {
    if (server[setting] === "off") {
      return new DatabaseFailure(
        "notDurable",
        `${name} has ${setting}=off and could lose or corrupt acknowledged ${kept} in a crash: turn it on.`,
      )
    }
  }
  if (server.is_standby) {
    return new DatabaseFailure("standby", `${name} is a standby, which is read-only: name the primary.`)
  }
  return server.encoding === "UTF8"
    ? undefined
    : new DatabaseFailure(
        "otherEncoding",
        `${name} is encoded in ${server.encoding}: name a database that is encoded in UTF8.`,
      )
}
