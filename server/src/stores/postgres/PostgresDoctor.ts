// The schema examined: counts by shard, sums beside them, what is overdue and what is dead, the sizes of its tables. All
// of it in one transaction that sees the database as it was when it began.
import type { Tally } from "../../domain/decide.ts"
import type { ServicePause } from "../../domain/NamespaceSettings.ts"
import { serviceRecord } from "../../ports/NamespaceStore.ts"
import {
  type ExamineOptions,
  namedMost,
  type OverdueTimer,
  type ShardReport,
  type StoreReport,
} from "../../ports/StoreReport.ts"
import { logOfText } from "../AttemptLogText.ts"
import { readClockOffset } from "./clockOffset.ts"
import { migrations } from "./migrations/all.ts"
import { readSettings } from "./Namespaces.ts"

export const examineSchema = async (
  sql: Bun.SQL,
  schemaVersion: number,
  { overdueBeforeMs }: ExamineOptions,
  nowMs: () => number,
): Promise<StoreReport> => {
  const clockOffsetMs = await readClockOffset(sql, nowMs)
  const counted = await sql.begin("isolation level repeatable read read only", async (tx) => ({
    shards: await shardsIn(tx),
    overdue: await overdueIn(tx, overdueBeforeMs),
    deadByNamespace: await deadByNamespace(tx),
    sizes: await sizesIn(tx),
    pause: await pauseIn(tx),
  }))
  const { pause, ...rest } = counted
  return {
    store: "postgres",
    schemaVersion,
    programVersion: migrations.length,
    ...rest,
    integrity: "notChecked",
    faults: [],
    clockOffsetMs,
    ...(pause === undefined ? {} : { pause }),
  }
}

/** One of the four 32-bit words of a uuid. */
const word = (index: number): string =>
  `('x' || substr(replace(uuid::text, '-', ''), ${1 + 8 * index}, 8))::bit(32)::bigint`

const shardOfUuid = [0, 1, 2, 3].reduce(
  (remainder, index) => `((${remainder} * 4294967296 + ${word(index)}) % (SELECT count(*) FROM shards))`,
  "0",
)

const sums = ["created", "rearmed", "replayed", "delivered", "cancelled", "replaced", "dead", "discarded"]

/** Lives that have ended are not kept by shard: their keys tell. */
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
  const lastAttempt = row.last_attempt === null ? undefined : logOfText(row.last_attempt).at(-1)
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

/** A schema of an older version has no settings. */
const pauseIn = async (sql: Bun.SQL): Promise<ServicePause | undefined> => {
  const rows: ReadonlyArray<{ is_there: boolean }> = await sql.unsafe(
    "SELECT to_regclass('namespaces') IS NOT NULL AS is_there",
  )
  return rows[0]?.is_there === true ? (await readSettings(sql, serviceRecord)).settings.pause : undefined
}

/** With their indexes, and what lies out of line. */
const sizesIn = async (sql: Bun.SQL): Promise<StoreReport["sizes"]> =>
  sql.unsafe(`SELECT relname AS name, pg_total_relation_size(oid)::float8 AS bytes FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' ORDER BY pg_total_relation_size(oid) DESC, relname`)
