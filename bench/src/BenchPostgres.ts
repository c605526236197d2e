// The PostgreSQL server of every side that needs one, for Punctual and its peers. It is a new server on a free loopback
// port with PostgreSQL's default settings. Only autovacuum runs more often than once a minute, because most measurements
// take less than a minute.
import { readdirSync, readFileSync } from "node:fs"
import { PostgresServer } from "@punctual/server/testkit/PostgresServer"

const settings = { autovacuum_naptime: "10s", shared_buffers: "128MB", max_connections: "100" }

/** The table shows this text beside each side that runs on PostgreSQL. */
export const postgresTerms = "on disk: PostgreSQL's default settings, synchronous_commit on"

export const startPostgres = (): Promise<PostgresServer> => PostgresServer.start("installed", { settings })

/** The size of the database on disk, with its indexes and without the write-ahead log. */
export const databaseBytes = async (server: PostgresServer): Promise<number> => {
  await using sql = new Bun.SQL(server.url, { max: 1 })
  const rows: ReadonlyArray<{ bytes: string }> =
    await sql`SELECT pg_database_size(current_database()) AS bytes`
  return Number(rows[0]?.bytes ?? Number.NaN)
}

/** The resident memory of all processes of the server. Shared memory counts once. */
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

/** Empty if the process has ended in the meantime. */
const procFile = (pid: string, name: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8")
  } catch {
    return ""
  }
}
