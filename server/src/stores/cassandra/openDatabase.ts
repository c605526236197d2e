// Opens the store and checks it: the servers are new enough and keep what they have acknowledged, the schema is up to
// date, and the number of shards and the data centre are the stored ones. Every error is one sentence that names the
// place and says what to do.
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { emptyTally } from "../../domain/Decision.ts"
import type { CassandraTarget } from "./cassandraUrl.ts"
import { anchorPlace, firstLow } from "./Fences.ts"
import { CassandraFailure, explainedFailure, isOfSchema } from "./failures.ts"
import { kinds } from "./places.ts"
import { numberIn, textIn } from "./rows.ts"
import { Session } from "./Session.ts"
import { firstTables, programVersion, versions } from "./schema.ts"

const oldestServer = 5

export interface OpenedDatabase {
  readonly session: Session
  /** The stored number. */
  readonly shards: number
}

/** Creates and migrates what is missing. The caller closes the session. */
export const openDatabase = (target: CassandraTarget, shards: number): Promise<OpenedDatabase> =>
  opened(target, async (session) => {
    await patiently(async () => {
      await makeKeyspace(session, target)
      await checkKeyspace(session, target)
      await session.use(target.keyspace)
      await migrate(session, target)
      await makeStore(session, target, shards)
    })
    const stored = await storedShards(session, target)
    if (stored !== shards) {
      throw new CassandraFailure(
        `${target.shown} has ${stored} shards, but TIMER_SHARDS is ${shards}: the number is fixed when the store is ` +
          `created; set TIMER_SHARDS to ${stored}, or name another store with the parameter store.`,
      )
    }
    return shards
  })

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

/** Opens a store that exists, for a command. It creates and migrates nothing. */
export const openExisting = (target: CassandraTarget): Promise<OpenedDatabase> =>
  opened(target, async (session) => {
    const missing = `There is no store in ${target.shown}: name the keyspace and the store that contain one.`
    if ((await keyspaceRow(session, target)) === undefined) throw new CassandraFailure(missing)
    await session.use(target.keyspace)
    const version = await storedVersion(session)
    if (version === 0) throw new CassandraFailure(missing)
    if (version > programVersion) throw newerSchema(target, version)
    if (version < programVersion)
      throw new CassandraFailure(
        `${target.shown} has schema version ${version}, and this program reads ${programVersion}: run the service on it once to migrate it.`,
      )
    const shards = await storedShards(session, target)
    if (shards === 0) throw new CassandraFailure(missing)
    return shards
  })

/** `stored` is 0 if there is no store yet. */
export const schemaVersions = async (
  target: CassandraTarget,
): Promise<{ readonly stored: number; readonly program: number }> => {
  let stored = 0
  const { session } = await opened(target, async (open) => {
    if ((await keyspaceRow(open, target)) === undefined) return 0
    await open.use(target.keyspace)
    stored = await storedVersion(open)
    if (stored > programVersion) throw newerSchema(target, stored)
    return 0
  })
  await session.close()
  return { stored, program: programVersion }
}

const opened = async (
  target: CassandraTarget,
  open: (session: Session) => Promise<number>,
): Promise<OpenedDatabase> => {
  let session: Session | undefined
  try {
    session = await Session.connect(target)
    await checkServers(session, target)
    return { session, shards: await open(session) }
  } catch (error) {
    await session?.close().catch(() => {})
    throw explainedFailure(error, target)
  }
}

/** Acknowledged writes must be on the disks of the nodes that acknowledged them. */
export const checkServers = async (
  session: Pick<Session, "hosts" | "rowsAt">,
  target: CassandraTarget,
): Promise<void> => {
  for (const host of session.hosts(target.dataCenter)) {
    if (Number.parseInt(host.version, 10) < oldestServer) {
      throw new CassandraFailure(
        `${target.shown} cannot be used: ${host.address} runs Cassandra ${host.version}, and this program needs ${oldestServer}.0 or newer.`,
      )
    }
    if (target.acceptsPeriodicSync) continue
    const [row] = await session.rowsAt(
      host.address,
      "SELECT value FROM system_views.settings WHERE name = 'commitlog_sync'",
    )
    if (textIn(row ?? {}, "value") !== "periodic") continue
    throw new CassandraFailure(
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
    throw new CassandraFailure(
      `${shown} cannot be used: the keyspace ${keyspace} has durable_writes = false and would lose acknowledged timers. ` +
        `Run ALTER KEYSPACE ${keyspace} WITH durable_writes = true.`,
    )
  }
  const copies = (row["replication"] ?? {}) as Readonly<Record<string, string>>
  const here = Number(copies[dataCenter] ?? 0)
  if (here >= replication) return
  throw new CassandraFailure(
    `${shown} cannot be used: the keyspace ${keyspace} has ${here} copies of each row in the data centre ${dataCenter}, and the ` +
      `URL wants ${replication}. Run ALTER KEYSPACE ${keyspace} WITH replication = {'class': 'NetworkTopologyStrategy', '${dataCenter}': ${replication}} ` +
      "and repair it, or say with the parameter replication that fewer copies suffice.",
  )
}

const newerSchema = ({ shown }: CassandraTarget, version: number): CassandraFailure =>
  new CassandraFailure(
    `${shown} has schema version ${version}, and this program knows only ${programVersion}: use a newer program.`,
  )

const storedVersion = async (session: Session): Promise<number> => {
  const tables = await session.rows("SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?", [
    session.keyspace,
  ])
  if (!tables.some((row) => row["table_name"] === "schema_versions")) return 0
  const [row] = await session.rows("SELECT version FROM schema_versions WHERE name = 'schema'")
  return row === undefined ? 0 : numberIn(row, "version")
}

/** The lock expires, in case its holder dies. A migration must end before that. */
const lockSeconds = 120
const lockPauseMs = 500
const schemaTimeoutMs = 60_000

/** One node at a time. Each version is complete before its number is stored. */
const migrate = async (session: Session, target: CassandraTarget): Promise<void> => {
  if ((await storedVersion(session)) === programVersion) return
  for (const statement of firstTables) await session.define(statement, schemaTimeoutMs)
  const holder = randomUUID()
  await lock(session, target, holder)
  try {
    const version = await storedVersion(session)
    if (version > programVersion) throw newerSchema(target, version)
    for (const [index, statements] of versions.slice(version).entries()) {
      for (const statement of statements) await session.define(statement, schemaTimeoutMs)
      await session.rows("INSERT INTO schema_versions (name, version) VALUES ('schema', ?)", [
        version + index + 1,
      ])
    }
  } finally {
    await session.batch(
      [{ query: "DELETE FROM schema_versions WHERE name = 'lock' IF holder = ?", params: [holder] }],
      { isConditional: true },
    )
  }
}

const lock = async (session: Session, { shown }: CassandraTarget, holder: string): Promise<void> => {
  for (let waitedMs = 0; waitedMs <= 2 * 1_000 * lockSeconds; waitedMs += lockPauseMs) {
    const refused = await session.batch(
      [
        {
          query: `INSERT INTO schema_versions (name, holder) VALUES ('lock', ?) IF NOT EXISTS USING TTL ${lockSeconds}`,
          params: [holder],
        },
      ],
      { isConditional: true },
    )
    if (refused === undefined) return
    await sleep(lockPauseMs)
  }
  throw new CassandraFailure(
    `${shown} is being migrated by another process for too long: check its log, and try again.`,
  )
}

export const storedShards = async (
  session: Session,
  { store, dataCenter, shown }: CassandraTarget,
): Promise<number> => {
  const [row] = await session.rows("SELECT shards, data_center FROM stores WHERE store = ?", [store])
  if (row === undefined) return 0
  const stored = textIn(row, "data_center")
  if (stored === dataCenter) return numberIn(row, "shards")
  throw new CassandraFailure(
    `${shown} cannot be used: the store belongs to the data centre ${stored}, and the URL names ${dataCenter}. Commits are agreed ` +
      "on within one data centre, so nodes in another one would not see them: set dc in TIMER_STORE_URL.",
  )
}

/** The row of the store comes last, so that a store with such a row is complete. */
const makeStore = async (session: Session, target: CassandraTarget, shards: number): Promise<void> => {
  const { store, dataCenter } = target
  if ((await storedShards(session, target)) !== 0) return
  const all = Array.from({ length: shards }, (_, shard) => shard)
  await Promise.all(
    all.map((shard) =>
      session.batch(
        [
          {
            query:
              "INSERT INTO shards (store, shard, kind, place, epoch, number, low, tally) VALUES (?, ?, ?, ?, 0, 0, ?, ?) IF NOT EXISTS",
            params: [store, shard, kinds.anchor, anchorPlace, BigInt(firstLow), JSON.stringify(emptyTally)],
          },
        ],
        { isConditional: true },
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
  await session.batch(
    [
      {
        query: "INSERT INTO stores (store, shards, data_center) VALUES (?, ?, ?) IF NOT EXISTS",
        params: [store, shards, dataCenter],
      },
    ],
    { isConditional: true },
  )
}
