// Opens the store and checks it: the servers are new enough and keep what they have acknowledged, the schema is up to
// date, and the number of shards and the data centre are the stored ones. Every error is one sentence that names the
// place and says what to do.
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { DatabaseFailure } from "@punctual/sql/DatabaseFailure"
import { emptyTally } from "../../domain/Decision.ts"
import { checkNotNewer, checkShards, type StoredSchema, type StoreLock, underLock } from "../openingStores.ts"
import type { CassandraTarget } from "./cassandraUrl.ts"
import { anchorPlace, firstLow } from "./Fences.ts"
import { isOfSchema } from "./failures.ts"
import { kinds } from "./places.ts"
import { numberIn, textIn } from "./rows.ts"
import { applies, Session } from "./Session.ts"
import { allShards } from "./scans.ts"
import { firstTables, programVersion, versions } from "./schema.ts"

const oldestServer = 5

/** Creates and migrates what is missing. The caller closes the session. */
export const openDatabase = async (target: CassandraTarget, shards: number): Promise<Session> => {
  const session = await connectTo(target)
  try {
    await patiently(async () => {
      await makeKeyspace(session, target)
      await checkKeyspace(session, target)
      await session.use(target.keyspace)
      await migrate(session, target)
      await makeStore(session, target, shards)
    })
    checkShards(
      target.shown,
      await storedShards(session, target),
      shards,
      "another store with the parameter store",
    )
    return session
  } catch (error) {
    await session.close().catch(() => {})
    throw error
  }
}

/** How often the schema is made again if it is not there yet on every node of Cassandra, and the pause before. */
const mostSchemaTries = 60
const schemaPauseMs = 500

/**
 * If several services start at the same time, one may see a table that another is just creating, and cannot use it yet.
 * Every step can be repeated.
 */
const patiently = async (make: () => Promise<void>): Promise<void> => {
  for (let tries = 1; ; tries++) {
    try {
      return await make()
    } catch (error) {
      if (!isOfSchema(error) || tries === mostSchemaTries) throw error
      await sleep(schemaPauseMs)
    }
  }
}

/** Creates and migrates nothing. */
export const storedSchema = async (session: Session, target: CassandraTarget): Promise<StoredSchema> => {
  if ((await keyspaceRow(session, target)) === undefined) return { version: 0, shards: 0 }
  await session.use(target.keyspace)
  const version = await storedVersion(session, target)
  const shards = version === 0 ? 0 : await storedShards(session, target)
  // The tables may have only other stores.
  return { version: shards === 0 ? 0 : version, shards }
}

export const connectTo = async (target: CassandraTarget): Promise<Session> => {
  const session = await Session.connect(target)
  try {
    await checkServers(session, target)
    return session
  } catch (error) {
    await session.close().catch(() => {})
    throw error
  }
}

/** Acknowledged writes must be on the disks of the nodes that acknowledged them. */
export const checkServers = async (
  session: Pick<Session, "hosts" | "rowsAt">,
  target: CassandraTarget,
): Promise<void> => {
  for (const host of session.hosts(target.dataCenter)) {
    if (Number.parseInt(host.version, 10) < oldestServer) {
      throw new DatabaseFailure(
        "refused",
        `${target.shown} cannot be used: ${host.address} runs Cassandra ${host.version}, and this program needs ${oldestServer}.0 or newer.`,
      )
    }
    if (target.acceptsPeriodicSync) continue
    const [row] = await session.rowsAt(
      host.address,
      "SELECT value FROM system_views.settings WHERE name = 'commitlog_sync'",
    )
    if (textIn(row ?? {}, "value") !== "periodic") continue
    throw new DatabaseFailure(
      "refused",
      `${target.shown} cannot be used: ${host.address} has commitlog_sync: periodic, so it acknowledges writes up to 10 s ` +
        "before they are on its disk. Set commitlog_sync: group and commitlog_sync_group_window: 2ms in cassandra.yaml on every " +
        "node. If a failure of power in all copies at once may lose timers, add commitlog=periodic to the URL instead.",
    )
  }
}

const keyspaceRow = async (session: Session, { keyspace }: CassandraTarget) => {
  const rows = await session.rows(
    "SELECT durable_writes, replication FROM system_schema.keyspaces WHERE keyspace_name = ?",
    [keyspace],
  )
  return rows[0]
}

const makeKeyspace = async (session: Session, target: CassandraTarget): Promise<void> => {
  if ((await keyspaceRow(session, target)) !== undefined) return
  await session.define(
    `CREATE KEYSPACE IF NOT EXISTS ${target.keyspace} WITH replication =
      {'class': 'NetworkTopologyStrategy', '${target.dataCenter.replaceAll("'", "''")}': ${target.replication}}`,
  )
}

const checkKeyspace = async (session: Session, target: CassandraTarget): Promise<void> => {
  const row = await keyspaceRow(session, target)
  const { keyspace, dataCenter, replication, shown } = target
  if (row?.["durable_writes"] !== true) {
    throw new DatabaseFailure(
      "refused",
      `${shown} cannot be used: the keyspace ${keyspace} has durable_writes = false and would lose acknowledged timers. ` +
        `Run ALTER KEYSPACE ${keyspace} WITH durable_writes = true.`,
    )
  }
  // A map of texts, by the schema of the system's table.
  const copies = (row["replication"] ?? {}) as Readonly<Record<string, string>>
  const here = Number(copies[dataCenter] ?? 0)
  if (here >= replication) return
  throw new DatabaseFailure(
    "refused",
    `${shown} cannot be used: the keyspace ${keyspace} has ${here} copies of each row in the data centre ${dataCenter}, and the ` +
      `URL wants ${replication}. Run ALTER KEYSPACE ${keyspace} WITH replication = {'class': 'NetworkTopologyStrategy', '${dataCenter}': ${replication}} ` +
      "and repair it, or say with the parameter replication that fewer copies suffice.",
  )
}

const storedVersion = async (session: Session, { shown }: CassandraTarget): Promise<number> => {
  const tables = await session.rows("SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?", [
    session.keyspace,
  ])
  if (!tables.some((row) => row["table_name"] === "schema_versions")) return 0
  const [row] = await session.rows("SELECT version FROM schema_versions WHERE name = 'schema'")
  const version = numberIn(row ?? {}, "version")
  checkNotNewer(shown, version, programVersion)
  return version
}

/** The lock expires, in case its holder dies. A migration must end before that. */
const lockSeconds = 120
const schemaTimeoutMs = 60_000

/** One node at a time. Each version is complete before its number is stored. */
const migrate = async (session: Session, target: CassandraTarget): Promise<void> => {
  if ((await storedVersion(session, target)) === programVersion) return
  for (const statement of firstTables) await session.define(statement, schemaTimeoutMs)
  await underLock(target.shown, lockOf(session), 2 * 1_000 * lockSeconds, async () => {
    const version = await storedVersion(session, target)
    for (const [index, statements] of versions.slice(version).entries()) {
      for (const statement of statements) await session.define(statement, schemaTimeoutMs)
      await session.rows("INSERT INTO schema_versions (name, version) VALUES ('schema', ?)", [
        version + index + 1,
      ])
    }
  })
}

const lockOf = (session: Session): StoreLock => {
  const holder = randomUUID()
  return {
    take: () =>
      applies(
        session,
        `INSERT INTO schema_versions (name, holder) VALUES ('lock', ?) IF NOT EXISTS USING TTL ${lockSeconds}`,
        [holder],
      ),
    release: () =>
      applies(session, "DELETE FROM schema_versions WHERE name = 'lock' IF holder = ?", [holder]),
  }
}

const storedShards = async (
  session: Session,
  { store, dataCenter, shown }: CassandraTarget,
): Promise<number> => {
  const [row] = await session.rows("SELECT shards, data_center FROM stores WHERE store = ?", [store])
  if (row === undefined) return 0
  const stored = textIn(row, "data_center")
  if (stored === dataCenter) return numberIn(row, "shards")
  throw new DatabaseFailure(
    "refused",
    `${shown} cannot be used: the store belongs to the data centre ${stored}, and the URL names ${dataCenter}. Commits are agreed ` +
      "on within one data centre, so nodes in another one would not see them: set dc in TIMER_STORE_URL.",
  )
}

/** The row of the store comes last, so that a store with such a row is complete. */
const makeStore = async (session: Session, target: CassandraTarget, shards: number): Promise<void> => {
  const { store, dataCenter } = target
  if ((await storedShards(session, target)) !== 0) return
  const all = allShards(shards)
  await Promise.all(
    all.map((shard) =>
      applies(
        session,
        "INSERT INTO shards (store, shard, kind, place, epoch, number, low, tally) VALUES (?, ?, ?, ?, 0, 0, ?, ?) IF NOT EXISTS",
        [store, shard, kinds.anchor, anchorPlace, BigInt(firstLow), JSON.stringify(emptyTally)],
      ),
    ),
  )
  await session.batch(
    all.map((shard) => ({
      query: "UPDATE leases SET epoch = 0, counter = 0 WHERE store = ? AND shard = ? IF epoch = null",
      params: [store, shard],
    })),
    { isConditional: true, isOfLeases: true },
  )
  await applies(session, "INSERT INTO stores (store, shards, data_center) VALUES (?, ?, ?) IF NOT EXISTS", [
    store,
    shards,
    dataCenter,
  ])
}
