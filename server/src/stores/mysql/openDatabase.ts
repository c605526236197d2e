// Opens the store and checks it: the server is fit, the schema belongs to this program, is not newer than it and is up to
// date, and the number of shards is the configured one.
//
// MySQL commits before and after each DDL statement. So a migration cannot be rolled back: one process at a time
// migrates, under a lock of the server, and a migration that was interrupted is repeated from its beginning.
import { literal } from "@punctual/documents/mysql/mysqlText"
import { DatabaseFailure } from "@punctual/sql/DatabaseFailure"
import { beingMigrated, checkNotNewer, checkShards, type StoredSchema } from "../openingStores.ts"
import { checkMysql } from "./checkMysql.ts"
import { Session } from "./MysqlSessions.ts"
import { migrations, ownTables, programVersion } from "./migrations/all.ts"
import type { MysqlTarget } from "./mysqlUrl.ts"

/** Building an index on a full table takes time, and so does waiting for another node that migrates. */
const migrationTimeoutS = 600

/** Runs on a session of its own, without the limits of a service. */
export const openDatabase = async (target: MysqlTarget, shards: number): Promise<void> => {
  const session = new Session(target, "keeping")
  try {
    await checkMysql(session, target)
    await migrate(session, target, shards)
    checkShards(target.name, (await storedSchema(session, target)).shards, shards)
  } finally {
    await session.close().catch(() => {})
  }
}

const migrate = async (session: Session, target: MysqlTarget, shards: number): Promise<void> => {
  const lock = literal(`punctual.${target.database}`.slice(0, 64))
  const [locked] = await session.rows<{ readonly is_locked: number }>(
    `SELECT GET_LOCK(${lock}, ${migrationTimeoutS}) AS is_locked`,
  )
  if (locked?.is_locked !== 1) throw beingMigrated(target.name)
  try {
    const { version } = await storedSchema(session, target)
    for (const { version: next, statements } of migrations) {
      if (next <= version) continue
      await session.run([
        "CREATE TABLE IF NOT EXISTS migrations (version int NOT NULL PRIMARY KEY, applied_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP)",
      ])
      for (const statement of statements) await session.run([statement])
      await session.transaction([
        ...(version === 0 && next === programVersion ? firstRows(shards) : []),
        `INSERT INTO migrations (version) VALUES (${next})`,
      ])
    }
  } finally {
    await session.run([`DO RELEASE_LOCK(${lock})`]).catch(() => {})
  }
}

/** The rows of a new store. */
const firstRows = (shards: number): ReadonlyArray<string> => {
  const rows = Array.from({ length: shards }, (_, shard) => `(${shard})`).join(", ")
  return [
    "INSERT INTO documents_version VALUES (1, 0)",
    `INSERT INTO shards (shard) VALUES ${rows}`,
    `INSERT INTO leases (shard) VALUES ${rows}`,
  ]
}

/** The version is 0 if there is no store, or if it is not complete yet. */
export const storedSchema = async (session: Session, { name }: MysqlTarget): Promise<StoredSchema> => {
  const found = await session.rows<{ readonly name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()",
  )
  const tables = found.map((table) => table.name)
  if (tables.some((table) => !ownTables.includes(table))) {
    throw new DatabaseFailure(
      "otherProgram",
      `${name} has tables of another program: name an empty database.`,
    )
  }
  if (!tables.includes("migrations")) return { version: 0, shards: 0 }
  const [stored] = await session.rows<{ readonly version: number }>(
    "SELECT COALESCE(MAX(version), 0) AS version FROM migrations",
  )
  const version = stored?.version ?? 0
  checkNotNewer(name, version, programVersion)
  if (version === 0) return { version, shards: 0 }
  const [shards] = await session.rows<{ readonly count: number }>("SELECT COUNT(*) AS count FROM shards")
  return { version, shards: shards?.count ?? 0 }
}
