// Examines a schema: counts by shard with the stored sums, overdue timers, dead letters, and the sizes of its tables.
// All of this happens in one transaction that sees the database as of its beginning.

import { readChanges } from "@punctual/documents/postgres/postgresDocuments"
import type { Tally } from "../../domain/Decision.ts"
import { settingsKind } from "../../engine/namespaces/SettingsRecords.ts"
import {
  type ExamineOptions,
  namedMost,
  type OverdueTimer,
  type ShardReport,
  type StoreReport,
} from "../../ports/StoreReport.ts"
import { logOfText } from "../AttemptLogText.ts"
import { readClockOffset } from "../clockOffset.ts"
import { type ExaminedRow, examinedColumns, RowExamination } from "../RowExamination.ts"
import { SettingsExamination } from "../SettingsExamination.ts"
import { programVersion } from "./migrations/all.ts"
import { readClock } from "./Reader.ts"

export const examineSchema = async (
  sql: Bun.SQL,
  schemaVersion: number,
  options: ExamineOptions,
  nowMs: () => number,
): Promise<StoreReport> => {
  const clockOffsetMs = await readClockOffset(() => readClock(sql), nowMs)
  const counted = await sql.begin("isolation level repeatable read read only", async (tx) => {
    const settings = await settingsIn(tx)
    return {
      settings,
      shards: await shardsIn(tx),
      overdue: await overdueIn(
        tx,
        settings.found.pause === undefined ? options.overdueBeforeMs : options.overdueBeforeMsIfPaused,
      ),
      deadByNamespace: await deadByNamespace(tx),
      sizes: await sizesIn(tx),
      rows: await examineRows(tx, schemaVersion === programVersion),
      words: await wordFaults(tx),
    }
  })
  const { settings, rows, words, ...rest } = counted
  return {
    store: "postgres",
    schemaVersion,
    programVersion: programVersion,
    ...rest,
    integrity: "notChecked",
    faults: [...words, ...rows.faults],
    targets: rows.targets,
    clockOffsetMs,
    ...settings.found,
    unreadable: [...settings.found.unreadable, ...rows.unreadable],
  }
}

/** One of the four 32-bit words of a uuid. */
const word = (index: number): string =>
  `('x' || substr(replace(uuid::text, '-', ''), ${1 + 8 * index}, 8))::bit(32)::bigint`

const hexOfUuid = "replace(uuid::text, '-', '')"

const shardOfUuid = [0, 1, 2, 3].reduce(
  (remainder, index) => `((${remainder} * 4294967296 + ${word(index)}) % (SELECT count(*) FROM shards))`,
  "0",
)

const sums = ["created", "rearmed", "replayed", "delivered", "cancelled", "replaced", "dead", "discarded"]

/** Finished lives are not stored by shard, so the shard is computed from their keys. */
const shardsSql = `WITH
  waiting AS (SELECT shard, count(*) AS pending FROM timers GROUP BY shard),
  ended AS (
    SELECT ${shardOfUuid} AS shard, count(*) FILTER (WHERE state = 'delivered') AS delivered,
      count(*) FILTER (WHERE state = 'cancelled') AS cancelled, count(*) FILTER (WHERE state = 'dead') AS dead
    FROM history GROUP BY 1
  )
  SELECT s.shard, s.epoch::float8 AS epoch, leases.node,
    ${sums.map((name) => `s.${name}::float8 AS ${name}`).join(", ")},
    coalesce(waiting.pending, 0)::float8 AS rows_pending, coalesce(ended.delivered, 0)::float8 AS rows_delivered,
    coalesce(ended.cancelled, 0)::float8 AS rows_cancelled, coalesce(ended.dead, 0)::float8 AS rows_dead
  FROM shards AS s JOIN leases USING (shard) LEFT JOIN waiting USING (shard) LEFT JOIN ended USING (shard)
  ORDER BY s.shard`

interface ShardRow extends Tally {
  readonly shard: number
  readonly epoch: number
  readonly node: string | null
  readonly rows_pending: number
  readonly rows_delivered: number
  readonly rows_cancelled: number
  readonly rows_dead: number
}

const shardsIn = async (sql: Bun.SQL): Promise<ReadonlyArray<ShardReport>> => {
  const rows: ReadonlyArray<ShardRow> = await sql.unsafe(shardsSql)
  return rows.map(
    ({
      shard,
      epoch,
      node,
      rows_pending: pending,
      rows_delivered: delivered,
      rows_cancelled: cancelled,
      rows_dead: dead,
      ...tally
    }) => ({
      shard,
      epoch,
      ...(node === null ? {} : { node }),
      tally,
      rows: { pending, delivered, cancelled, dead },
    }),
  )
}

interface OverdueRow {
  readonly namespace: string
  readonly timer_id: string
  readonly fire_at: number
  readonly attempts: number
  readonly last_attempt: string | null
}

const overdueIn = async (sql: Bun.SQL, beforeMs: number): Promise<StoreReport["overdue"]> => {
  const counts: ReadonlyArray<{ count: number }> = await sql.unsafe(
    "SELECT count(*)::float8 AS count FROM timers WHERE fire_at < $1::bigint",
    [beforeMs],
  )
  const worst: ReadonlyArray<OverdueRow> = await sql.unsafe(
    `SELECT namespace, timer_id, fire_at::float8 AS fire_at, attempts, last_attempt FROM timers AS t
     WHERE fire_at < $1::bigint ORDER BY t.fire_at, fire_id LIMIT ${namedMost}`,
    [beforeMs],
  )
  return { count: counts[0]?.count ?? 0, worst: worst.map(overdueOf) }
}

const overdueOf = (row: OverdueRow): OverdueTimer => {
  const lastAttempt = row.last_attempt === null ? undefined : logOfText(row.last_attempt)?.at(-1)
  return {
    namespace: row.namespace,
    timerId: row.timer_id,
    fireAt: row.fire_at,
    attempts: row.attempts,
    ...(lastAttempt === undefined ? {} : { lastAttempt }),
  }
}

const deadByNamespace = async (sql: Bun.SQL): Promise<StoreReport["deadByNamespace"]> =>
  sql.unsafe(`SELECT namespace, count(*)::float8 AS count FROM history WHERE state = 'dead'
    GROUP BY namespace ORDER BY count(*) DESC, namespace LIMIT ${namedMost}`)

interface ExaminedPart {
  readonly what: "timers" | "lives"
  /** Sorts before every row. */
  readonly first: ReadonlyArray<string | number>
  /** The columns after the examined ones are the position of the row. */
  readonly text: string
}

/** Each part is in the order of an index. */
const examinedParts = (columns: string): ReadonlyArray<ExaminedPart> => [
  {
    what: "timers",
    first: ["", ""],
    text: `SELECT ${columns}, namespace AS place_0, timer_id AS place_1 FROM timers AS t
      WHERE (namespace, timer_id) > ($1::text, $2::text)
      ORDER BY t.namespace, t.timer_id LIMIT ${RowExamination.pageItems}`,
  },
  {
    what: "lives",
    first: [Number.MIN_SAFE_INTEGER, 0],
    text: `SELECT ${columns}, finished_at::float8 AS place_0, id::float8 AS place_1 FROM history AS h
      WHERE state <> 'dead' AND (finished_at, id) > ($1::bigint, $2::bigint)
      ORDER BY h.finished_at, h.id LIMIT ${RowExamination.pageItems}`,
  },
  {
    what: "lives",
    first: ["", 0, 0],
    text: `SELECT ${columns}, namespace AS place_0, finished_at::float8 AS place_1, id::float8 AS place_2
      FROM history AS h
      WHERE state = 'dead' AND (namespace, finished_at, id) > ($1::text, $2::bigint, $3::bigint)
      ORDER BY h.namespace, h.finished_at, h.id LIMIT ${RowExamination.pageItems}`,
  },
]

type PlacedRow = ExaminedRow & {
  readonly place_0: string | number
  readonly place_1: string | number
  readonly place_2?: number
}

const examineRows = async (
  sql: Bun.SQL,
  isOwnSchema: boolean,
): Promise<Pick<StoreReport, "unreadable" | "faults" | "targets">> => {
  const examined = { timers: new RowExamination("timers"), lives: new RowExamination("lives") }
  for (const { what, first, text } of examinedParts(examinedColumns(isOwnSchema, hexOfUuid))) {
    let after: ReadonlyArray<string | number> | undefined = first
    while (after !== undefined) {
      const page: ReadonlyArray<PlacedRow> = await sql.unsafe(text, [...after])
      for (const row of page) examined[what].take(row)
      after = page.length === RowExamination.pageItems ? placeOf(page.at(-1)) : undefined
    }
  }
  const { timers, lives } = examined
  return {
    unreadable: [...timers.found, ...lives.found],
    faults: [...timers.faults, ...lives.faults],
    targets: timers.targets,
  }
}

/**
 * Words of pending timers and of dead letters are written and removed together with their rows. So a word without its
 * row is a fault. Pruning removes words of history and the lives in separate steps, so those are not checked.
 */
const wordFaults = async (sql: Bun.SQL): Promise<ReadonlyArray<string>> => {
  if (!(await isTable(sql, "lookups"))) return []
  const faults: Array<string> = []
  for (const [state, rows] of wordOwners) {
    const found: ReadonlyArray<{ count: number }> = await sql.unsafe(
      `SELECT count(*)::float8 AS count FROM lookups AS l WHERE state = '${state}' AND NOT EXISTS (SELECT 1 FROM ${rows}
        AND r.namespace = l.namespace AND r.timer_id = l.timer_id AND r.fire_id = l.fire_id)`,
    )
    const count = found[0]?.count ?? 0
    if (count > 0)
      faults.push(`${count} ${count === 1 ? "word belongs" : "words belong"} to no ${state} timer`)
  }
  return faults
}

const wordOwners = [
  ["pending", "timers AS r WHERE true"],
  ["dead", "history AS r WHERE r.state = 'dead'"],
] as const

const placeOf = (row: PlacedRow | undefined): ReadonlyArray<string | number> | undefined => {
  if (row === undefined) return undefined
  const { place_0, place_1, place_2 } = row
  return place_2 === undefined ? [place_0, place_1] : [place_0, place_1, place_2]
}

/** A schema of an older version has no documents. */
const settingsIn = async (sql: Bun.SQL): Promise<SettingsExamination> => {
  const settings = new SettingsExamination()
  if (!(await isTable(sql, "documents"))) return settings
  const limit = SettingsExamination.pageItems
  while (settings.take(await readChanges(sql, settingsKind, settings.version, limit))) {}
  return settings
}

const isTable = async (sql: Bun.SQL, name: "documents" | "lookups"): Promise<boolean> => {
  const rows: ReadonlyArray<{ is_there: boolean }> = await sql.unsafe(
    `SELECT to_regclass('${name}') IS NOT NULL AS is_there`,
  )
  return rows[0]?.is_there === true
}

/** The sizes of tables with their indexes and out-of-line values. */
const sizesIn = async (sql: Bun.SQL): Promise<StoreReport["sizes"]> =>
  sql.unsafe(`SELECT relname AS name, pg_total_relation_size(oid)::float8 AS bytes FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' ORDER BY pg_total_relation_size(oid) DESC, relname`)
