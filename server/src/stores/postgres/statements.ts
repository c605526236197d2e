// Statements by name, so that a test can check the query plan of each. Commits are in functions.sql, looks in looks.ts,
// scans in scans.ts.

import { tallyNames } from "../../domain/Decision.ts"
import { duePageBytes } from "../../ports/duePageBytes.ts"
import { functionNamed, noteUseSql } from "./functions.ts"
import { keyColumns, lifeColumns, olderLifeColumns, olderTimerColumns, timerColumns } from "./rows.ts"

/** A life has at most 10 tags and a correlation id. */
const wordsALife = 11

/** Does not wait for locks. A life that a commit is correcting is left to the next call. */
export const pruneSql = `WITH old AS MATERIALIZED (SELECT ctid AS row_id FROM history
    WHERE state <> 'dead' AND finished_at < $1::bigint ORDER BY finished_at LIMIT $2::integer FOR UPDATE SKIP LOCKED),
  gone AS (DELETE FROM history USING old WHERE history.ctid = old.row_id RETURNING 1),
  old_words AS MATERIALIZED (SELECT ctid AS row_id FROM lookups
    WHERE state IN ('delivered', 'cancelled') AND at < $1::bigint ORDER BY at LIMIT ${wordsALife} * $2::integer
    FOR UPDATE SKIP LOCKED),
  gone_words AS (DELETE FROM lookups USING old_words WHERE lookups.ctid = old_words.row_id)
  SELECT count(*)::integer AS pruned FROM gone`

const leaseColumns = "shard, epoch::float8 AS epoch, counter::float8 AS counter, node"

export const leaseSql = {
  owners: `SELECT ${leaseColumns}, foreign_writes::float8 AS foreign_writes
    FROM (SELECT shard, leases.epoch, counter, node, foreign_writes FROM leases JOIN shards USING (shard)) AS l
    ORDER BY shard`,
  claim: `SELECT ${leaseColumns}, (SELECT foreign_writes::float8 FROM shards WHERE shard = $1) AS foreign_writes
    FROM ${functionNamed("claim_shard")}($1::integer, $2::bigint, $3::bigint, $4::text)`,
  /**
   * Renews all leases at once, locked in order. The fences are read but not locked, so a slow write delays no renewal.
   */
  renew: `WITH held AS MATERIALIZED (SELECT shard FROM leases
      WHERE (shard, epoch) IN (SELECT * FROM unnest($1::integer[], $2::bigint[])) AND node IS NOT NULL
      ORDER BY shard FOR NO KEY UPDATE),
    renewed AS (UPDATE leases SET counter = counter + 1 FROM held WHERE leases.shard = held.shard RETURNING leases.shard)
    SELECT shard, foreign_writes::float8 AS foreign_writes FROM shards JOIN renewed USING (shard)`,
  release: `UPDATE leases SET node = NULL
    WHERE (shard, epoch) IN (SELECT * FROM unnest($1::integer[], $2::bigint[]))`,
  announce: `WITH used AS (${noteUseSql})
    INSERT INTO members (node, address, beat, is_leaving, process, is_signing)
    VALUES ($1::text, $2::text, 1, $3::boolean, $4::text, true)
    ON CONFLICT (node) DO UPDATE
    SET address = excluded.address, beat = members.beat + 1, is_leaving = excluded.is_leaving, process = excluded.process,
      is_signing = true
    WHERE members.process IS NULL OR members.process = excluded.process
    RETURNING node`,
  members: `SELECT node, address, beat::float8 AS beat, is_leaving, is_signing, coalesce(process, '') AS process
    FROM members ORDER BY node`,
  /** An entry of a release that stored no process has the empty one. */
  remove: `DELETE FROM members WHERE node = $1::text AND coalesce(process, '') = $2::text
    AND beat = coalesce($3::bigint, beat) RETURNING node`,
} as const

const after = "(fire_at, fire_id) > ($2::bigint, $3::uuid) AND fire_at <= $4::bigint"
const inDueOrder = "ORDER BY fire_at, fire_id LIMIT $5::integer"

/**
 * If namespaces are selected, the keys of a page are found in an index alone, so that skipped rows are not fetched.
 * Then the rows of those keys are read.
 */
const chosen = (choice: string) => ({
  before: `WITH page AS MATERIALIZED (SELECT shard, fire_at, fire_id FROM timers WHERE ${choice} AND ${after} ${inDueOrder})`,
  from: "FROM page JOIN timers USING (shard, fire_at, fire_id)",
})

/** The rows of a page, before the columns and after them. */
const choices = {
  all: { before: "", from: `FROM timers WHERE shard = $1::integer AND ${after} ${inDueOrder}` },
  /** `shard + 0` keeps the planner from using the due index, which would scan all namespaces. */
  only: chosen('namespace COLLATE "POSIX" = $6::text AND shard + 0 = $1::integer'),
  except: chosen("shard = $1::integer AND namespace <> ALL ($6::text[])"),
}

const headPage = ({ before, from }: (typeof choices)["all"]): string =>
  `${before} SELECT ${keyColumns}, fire_id, fire_at::float8 AS fire_at FROM (SELECT timers.* ${from}) AS t
    ORDER BY t.fire_at, t.fire_id`

/** The size of a row. The server knows it without reading a payload that is stored beside the row. */
const rowBytes =
  "octet_length(spec) + coalesce(octet_length(last_attempt), 0) + coalesce(octet_length(payload), 0)"

/** A page ends with the row that brings it to the limit of bytes. */
const timerPage = ({ before, from }: (typeof choices)["all"]): string =>
  `${before} SELECT ${keyColumns}, ${timerColumns}, payload, bytes_so_far >= ${duePageBytes} AS reaches_limit
    FROM (SELECT timers.*, sum(${rowBytes}) OVER (ORDER BY fire_at, fire_id ROWS UNBOUNDED PRECEDING) AS bytes_so_far
      ${from}) AS t
    WHERE bytes_so_far - (${rowBytes}) < ${duePageBytes} ORDER BY t.fire_at, t.fire_id`

const duePages = (page: (of: (typeof choices)["all"]) => string) => ({
  all: page(choices.all),
  only: page(choices.only),
  except: page(choices.except),
})

export const readerSql = {
  due: duePages(timerPage),
  heads: duePages(headPage),
  /** By shard. */
  tallies: `SELECT ${tallyNames.map((name) => `${name}::float8 AS ${name}`).join(", ")} FROM shards ORDER BY shard`,
} as const

/** The actual clock, because the time of a transaction does not advance. */
export const clockSql = "SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms"

type ArchiveText = (withPayload: boolean, isCurrent: boolean) => string

/** A schema of an older program lacks the columns of added fields. */
const archived =
  (what: typeof timers | typeof lives, rest: string): ArchiveText =>
  (withPayload, isCurrent) =>
    `SELECT ${keyColumns}, ${isCurrent ? what.columns : what.olderColumns}, ${withPayload ? "payload" : "NULL AS payload"}
      ${rest}`

const timers = { columns: timerColumns, olderColumns: olderTimerColumns } as const
const lives = {
  columns: `${lifeColumns}, id::float8 AS id`,
  olderColumns: `${olderLifeColumns}, id::float8 AS id`,
} as const

/**
 * Everything in the store, each part in the order of an index. Lives that ended at the same instant are sorted by id.
 */
export const archiveSql = {
  pending: archived(
    timers,
    `FROM timers AS t WHERE (namespace, timer_id) > ($1::text, $2::text)
      ORDER BY t.namespace, t.timer_id LIMIT $3::integer`,
  ),
  history: archived(
    lives,
    `FROM history AS h WHERE state <> 'dead' AND (finished_at, id) > ($1::bigint, $2::bigint)
      ORDER BY h.finished_at, h.id LIMIT $3::integer`,
  ),
  dead: archived(
    lives,
    `FROM history AS h WHERE state = 'dead' AND (namespace, finished_at, id) > ($1::text, $2::bigint, $3::bigint)
      ORDER BY h.namespace, h.finished_at, h.id LIMIT $4::integer`,
  ),
} as const
