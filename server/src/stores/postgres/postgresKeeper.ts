// Commands on the schema itself, each on one connection, while services may run. An archive and an examination read in one
// transaction that sees the database as of its beginning. Until it ends, vacuum keeps the rows that it may still read. An
// examination also reads schemas of older programs, which lack columns and tables.
import type { DocumentCalls } from "@punctual/documents/DocumentRow"
import { postgresDocuments } from "@punctual/documents/postgres/postgresDocuments"
import { newerSchema, searchPathOf } from "@punctual/sql/applyMigrations"
import type { DatabaseTarget } from "@punctual/sql/DatabaseTarget"
import { explained } from "@punctual/sql/explained"
import { shardOf } from "../../domain/TimerKey.ts"
import { keyOfColumns } from "../columnRows.ts"
import type { StoredSchema } from "../openingStores.ts"
import { type SqlRow, sqlRows, wordFaults } from "../sqlRows.ts"
import { keeperOf, type StoreKeeper } from "../storeKeeper.ts"
import { connectionTo } from "./connectionTo.ts"
import { postgresLeases } from "./Leases.ts"
import { archiveTimeoutMs } from "./limits.ts"
import { programVersion } from "./migrations/all.ts"
import { openDatabase, storedShards, timersAt, versionOf } from "./openDatabase.ts"
import { readClock, readTallies } from "./Reader.ts"
import { archiveSql } from "./statements.ts"

/** What a command holds. */
class Kept {
  readonly target: DatabaseTarget
  readonly #connection: Bun.SQL
  #reserved: Bun.ReservedSQL | undefined
  schema: StoredSchema = { version: 0, shards: 0 }

  constructor(target: DatabaseTarget) {
    this.target = target
    // The server's default plan settings are used, because these queries read whole tables. The session may be silent for
    // as long as the reader of an archive takes. A key must survive a crash of the server, even if the server itself
    // commits asynchronously.
    const settings = {
      application_name: "punctual",
      search_path: searchPathOf(target.schema),
      statement_timeout: String(archiveTimeoutMs),
      idle_in_transaction_session_timeout: "0",
      synchronous_commit: "on",
    }
    this.#connection = connectionTo({ ...target, settings })
  }

  get sql(): Bun.SQL {
    return this.#reserved ?? this.#connection
  }

  get isCurrent(): boolean {
    return this.schema.version === programVersion
  }

  async rows<Row>(text: string, values: ReadonlyArray<unknown> = []): Promise<ReadonlyArray<Row>> {
    return this.sql.unsafe(text, [...values])
  }

  /** A reserved connection fails if it is lost. The driver would replace any other one, outside the transaction. */
  async begin(): Promise<void> {
    if (this.#reserved === undefined) this.#reserved = await this.#connection.reserve()
    else await this.sql.unsafe("ROLLBACK")
    await this.sql.unsafe("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    // The transaction sees the database as of its first statement.
    await this.sql.unsafe("SELECT 1 FROM shards LIMIT 1")
  }

  async close(): Promise<void> {
    await this.#connection.close({ timeout: 0 })
  }
}

export const postgresKeeper = (url: string): StoreKeeper => {
  const target = timersAt(url)
  return keeperOf<Kept>({
    name: "postgres",
    shown: target.name,
    programVersion,
    connect: async () => new Kept(target),
    close: (kept) => kept.close(),
    explain: (error) => explained(error, target),
    schema: readSchema,
    migrate: async (shards) => {
      await openDatabase(url, shards)
    },
    documents: (kept) =>
      kept.schema.version < firstWithDocuments ? noDocuments : postgresDocuments(kept.sql),
    rows,
    owners: ({ sql }) => postgresLeases.owners(sql),
    tallies: ({ sql }) => readTallies(sql),
    /** With their indexes and out-of-line values. */
    sizes: (kept) =>
      kept.rows(`SELECT relname AS name, pg_total_relation_size(oid)::float8 AS bytes FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
        ORDER BY pg_total_relation_size(oid) DESC, relname`),
    faults: (kept) => wordFaults((state) => orphanedWords(kept, state)),
    clockMs: ({ sql }) => readClock(sql),
  })
}

/** The versions of the schema that added these. */
const firstWithDocuments = 9
const firstWithWords = 10

const noDocuments: DocumentCalls = {
  write: () => Promise.resolve(undefined),
  get: () => Promise.resolve(undefined),
  list: () => Promise.resolve([]),
  changesAfter: () => Promise.resolve([]),
}

const readSchema = async (kept: Kept): Promise<StoredSchema> => {
  const version = await versionOf(kept.sql, kept.target)
  if (version > programVersion) throw newerSchema(kept.target, version, programVersion)
  kept.schema = { version, shards: version === 0 ? 0 : await storedShards(kept.sql, kept.target) }
  return kept.schema
}

/** Finished lives are not stored by shard, so the shard is computed from the keys of all rows. */
const rows = sqlRows<Kept>({
  begin: (kept) => kept.begin(),
  orders: {
    pending: ["namespace", "timer_id"],
    history: ["finished_at", "id"],
    dead: ["namespace", "finished_at", "id"],
  },
  read: async (kept, part, after, limit, withPayload) => {
    const text = archiveSql[part](withPayload, kept.isCurrent)
    const found = await kept.rows<SqlRow>(text, [...after, limit])
    return found.map((row) => ({ ...row, shard: shardOf(keyOfColumns(row).uuid, kept.schema.shards) }))
  },
})

const owners = { pending: "timers AS r WHERE true", dead: "history AS r WHERE r.state = 'dead'" } as const

const orphanedWords = async (kept: Kept, state: keyof typeof owners): Promise<number> => {
  if (kept.schema.version < firstWithWords) return 0
  const [found] = await kept.rows<{ readonly count: number }>(
    `SELECT count(*)::float8 AS count FROM lookups AS l WHERE state = '${state}' AND NOT EXISTS (SELECT 1 FROM ${owners[state]}
      AND r.namespace = l.namespace AND r.timer_id = l.timer_id AND r.fire_id = l.fire_id)`,
  )
  return found?.count ?? 0
}
