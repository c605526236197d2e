// The PostgreSQL server of every side that has one, Punctual's and its peers' alike: a fresh one on a free port of the
// loopback, with the settings that it comes with; only vacuum looks around more often than once a minute, because what
// is measured takes less than that.
import { readdirSync, readFileSync } from "node:fs"
import { PostgresServer } from "@punctual/server/testkit/PostgresServer"

const settings = { autovacuum_naptime: "10s", shared_buffers: "128MB", max_connections: "100" }

/** As it stands in the table beside each side that runs on it. */
export const postgresTerms = "on the disk: PostgreSQL's own settings, synchronous_commit on"

export const startPostgres = (): Promise<PostgresServer> => PostgresServer.start("installed", { settings })

/** What the server keeps on its disk for the database, its indexes included, the write-ahead log not. */
export const databaseBytes = async (server: PostgresServer): Promise<number> => {
  await using sql = new Bun.SQL(server.url, { max: 1 })
  const rows: ReadonlyArray<{ bytes: string }> =
    await sql`SELECT pg_database_size(current_database()) AS bytes`
  return Number(rows[0]?.bytes ?? Number.NaN)
}

/** Of all its processes together; what they share counts once. */
export const serverResidentMiB = async (server: PostgresServer): Promise<number> => {
  await using sql = new Bun.SQL(server.url, { max: 1 })
  const rows: ReadonlyArray<{ file: string }> = await sql`SELECT pg_read_file('postmaster.pid') AS file`
  const main = Number(rows[0]?.file.split("\n")[0])
  const own = readdirSync("/proc").filter(
    (name) => /^\d+$/.test(name) && (Number(name) === main || parentOf(name) === main),
  )
  return own.reduce((sum, pid) => sum + proportionalKiB(pid), 0) / 1024
}

const parentOf = (pid: string): number => Number(/^PPid:\s+(\d+)/m.exec(procFile(pid, "status"))?.[1])

const proportionalKiB = (pid: string): number =>
  Number(/^Pss:\s+(\d+) kB/m.exec(procFile(pid, "smaps_rollup"))?.[1] ?? 0)

/** Empty if the process has ended meanwhile. */
const procFile = (pid: string, name: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8")
  } catch {
    return ""
  }
}
