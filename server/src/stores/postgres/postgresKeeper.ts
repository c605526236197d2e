// Commands on the schema itself, each on one connection, while services may run. An archive and an examination read in one
// transaction that sees the database as of its beginning. Until it ends, vacuum keeps the rows that it may still read. An
// examination also reads schemas of older programs, which lack columns and tables.
import type { DocumentCalls } from "@punctual/documents/DocumentRow"
import { postgresDocuments } from "@punctual/documents/postgres/postgresDocuments"
import { newerSchema, searchPathOf } from "@punctual/sql/applyMigrations"
import type { DatabaseTarget } from "@punctual/sql/DatabaseTarget"
import { explained } from "@punctual/sql/explained"
import { type Tally, tallyNames } from "../../domain/Decision.ts"
import { shardOf } from "../../domain/TimerKey.ts"
import {
  type KeyColumns,
  keyOfColumns,
  type LifeColumns,
  lifeOfColumns,
  type TimerColumns,
  timerOfColumns,
} from "../columnRows.ts"
import type { StoredSchema } from "../openingStores.ts"
import type { PagedRow, PagedRows } from "../pagedRows.ts"
import { keeperOf, type StoreKeeper } from "../storeKeeper.ts"
import { faultOfWords } from "../wordFaults.ts"
import { connectionTo } from "./connectionTo.ts"
import { archiveTimeoutMs } from "./limits.ts"
import { programVersion } from "./migrations/all.ts"
import { openDatabase, storedShards, timersAt, versionOf } from "./openDatabase.ts"
import { readClock } from "./Reader.ts"
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
    shards: shardsIn,
    /** With their indexes and out-of-line values. */
    sizes: (kept) =>
      kept.rows(`SELECT relname AS name, pg_total_relation_size(oid)::float8 AS bytes FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
        ORDER BY pg_total_relation_size(oid) DESC, relname`),
    faults: wordFaults,
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

interface ShardRow extends Tally {
  readonly shard: number
  readonly epoch: number
  readonly node: string | null
}

const shardsIn = async (kept: Kept) => {
  const sums = tallyNames.map((name) => `s.${name}::float8 AS ${name}`).join(", ")
  const shards = await kept.rows<ShardRow>(
    `SELECT s.shard, s.epoch::float8 AS epoch, leases.node, ${sums} FROM shards AS s JOIN leases USING (shard)
      ORDER BY s.shard`,
  )
  return shards.map(({ shard, epoch, node, ...tally }) => ({
    shard,
    epoch,
    ...(node === null ? {} : { node }),
    tally,
  }))
}

type Row = KeyColumns & { readonly payload: Uint8Array | null; readonly id: number }

/** Finished lives are not stored by shard, so the shard is computed from the keys of all rows. */
const reading =
  (
    part: keyof typeof archiveSql,
    rowOf: (row: never) => Pick<PagedRow, "item" | "place">,
  ): PagedRows<Kept>["parts"][number]["read"] =>
  async (kept, after, limit, withPayload) => {
    const text = archiveSql[part](withPayload, kept.isCurrent)
    const found = await kept.rows<Row>(text, [...after, limit])
    // Each part gets the rows of its own statement.
    return found.map((row) => ({
      ...rowOf(row as never),
      shard: shardOf(keyOfColumns(row).uuid, kept.schema.shards),
    }))
  }

const ended = (row: Row & LifeColumns) => ({
  kind: "ended" as const,
  life: lifeOfColumns(keyOfColumns(row), row, row.payload),
})

const rows: PagedRows<Kept> = {
  begin: (kept) => kept.begin(),
  parts: [
    {
      name: "pending",
      first: ["", ""],
      read: reading("pending", (row: Row & TimerColumns) => ({
        item: { kind: "pending", timer: timerOfColumns(keyOfColumns(row), row, row.payload) },
        place: [row.namespace, row.timer_id],
      })),
    },
    {
      name: "history",
      first: [Number.MIN_SAFE_INTEGER, 0],
      read: reading("history", (row: Row & LifeColumns) => ({
        item: ended(row),
        place: [row.finished_at, row.id],
      })),
    },
    {
      name: "dead",
      first: ["", 0, 0],
      read: reading("dead", (row: Row & LifeColumns) => ({
        item: ended(row),
        place: [row.namespace, row.finished_at, row.id],
      })),
    },
  ],
}

const wordFaults = async (kept: Kept): Promise<ReadonlyArray<string>> => {
  if (kept.schema.version < firstWithWords) return []
  const faults: Array<string> = []
  for (const [state = "", owners] of [
    ["pending", "timers AS r WHERE true"],
    ["dead", "history AS r WHERE r.state = 'dead'"],
  ]) {
    const [found] = await kept.rows<{ readonly count: number }>(
      `SELECT count(*)::float8 AS count FROM lookups AS l WHERE state = '${state}' AND NOT EXISTS (SELECT 1 FROM ${owners}
        AND r.namespace = l.namespace AND r.timer_id = l.timer_id AND r.fire_id = l.fire_id)`,
    )
    faults.push(...faultOfWords(found?.count ?? 0, state))
  }
  return faults
}
