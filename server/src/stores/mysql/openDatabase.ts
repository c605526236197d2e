// Opens the store and checks it: the server is fit, the schema belongs to this program, is not newer than it and is up to
// date, and the number of shards is the configured one.
//
// MySQL commits before and after each DDL statement. So a migration cannot be rolled back: one process at a time
// migrates, under a lock of the server, and a migration that was interrupted is repeated from its beginning.
import { literal } from "@punctual/documents/mysql/mysqlText"
import { DatabaseFailure } from "@punctual/sql/DatabaseFailure"
import { checkMysql, explainedMysql } from "./checkMysql.ts"
import { Session } from "./MysqlSessions.ts"
import { migrations, ownTables, programVersion } from "./migrations/all.ts"
import type { MysqlTarget } from "./mysqlUrl.ts"

/** Building an index on a full table takes time, and so does waiting for another node that migrates. */
const migrationTimeoutS = 600

export const openDatabase = (target: MysqlTarget, shards: number): Promise<void> =>
  keeping(target, async (session) => {
    await checkMysql(session, target)
    await migrate(session, target, shards)
    const stored = await storedShards(session)
    if (stored === shards) return
    throw new DatabaseFailure(
      "otherShardCount",
      `${target.name} has ${stored} ${stored === 1 ? "shard" : "shards"}, but TIMER_SHARDS is ${shards}: the number is fixed when the store is ` +
        `created; set TIMER_SHARDS to ${stored}, or name another database.`,
    )
  })

/** Runs on a session of its own, without the limits of a service. */
export const keeping = async <A>(target: MysqlTarget, use: (session: Session) => Promise<A>): Promise<A> => {
  const session = new Session(target, "keeping")
  try {
    return await use(session)
  } catch (error) {
    throw await explainedMysql(error, target)
  } finally {
    await session.close().catch(() => {})
  }
}

const migrate = async (session: Session, target: MysqlTarget, shards: number): Promise<void> => {
  const lock = literal(`punctual.${target.database}`.slice(0, 64))
  const [locked] = await session.run<{ readonly is_locked: number }>([
    `SELECT GET_LOCK(${lock}, ${migrationTimeoutS}) AS is_locked`,
  ])
  if (locked?.[0]?.is_locked !== 1) {
    throw new DatabaseFailure(
      "failed",
      `${target.name} is being migrated by another process: try again later.`,
    )
  }
  try {
    const version = await knownVersion(session, target)
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

/** The version of the schema. 0 if there is no store, or if it is not complete yet. */
export const knownVersion = async (session: Session, target: MysqlTarget): Promise<number> => {
  const [rows = []] = await session.run<{ readonly name: string }>([
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()",
  ])
  const tables = rows.map(({ name }) => name)
  if (tables.some((table) => !ownTables.includes(table))) {
    throw new DatabaseFailure(
      "otherProgram",
      `${target.name} has tables of another program: name an empty database.`,
    )
  }
  if (!tables.includes("migrations")) return 0
  const [versions] = await session.run<{ readonly version: number }>([
    "SELECT COALESCE(MAX(version), 0) AS version FROM migrations",
  ])
  const version = versions?.[0]?.version ?? 0
  if (version <= programVersion) return version
  throw new DatabaseFailure(
    "newerSchema",
    `${target.name} has schema version ${version}, and this program supports at most ${programVersion}: ` +
      "start the newer program that made it, or name another database.",
  )
}

/** The version of a store that a command reads. */
export const existingVersion = async (session: Session, target: MysqlTarget): Promise<number> => {
  const version = await knownVersion(session, target)
  if (version > 0) return version
  throw new DatabaseFailure(
    "missing",
    `There is no store in ${target.name}: name the database that contains one.`,
  )
}

/** For commands that understand only this program's schema. */
export const checkCurrent = async (session: Session, target: MysqlTarget): Promise<void> => {
  const version = await existingVersion(session, target)
  if (version === programVersion) return
  throw new DatabaseFailure(
    "olderSchema",
    `${target.name} has schema version ${version}, and this program reads ${programVersion}: run the ` +
      "service on it once to migrate it.",
  )
}

export const storedShards = async (session: Session): Promise<number> => {
  const [rows] = await session.run<{ readonly count: number }>(["SELECT COUNT(*) AS count FROM shards"])
  return rows?.[0]?.count ?? 0
}
