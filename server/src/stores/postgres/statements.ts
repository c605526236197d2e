// Every statement of the hot paths, by name, so that a test can ask the query planner about each. Writing is in
// functions of the schema; see migrations/0002-writing.sql, 0003-order-of-calls.sql and 0004-dead-letters.sql.
import { keyColumns, lifeColumns, timerColumns } from "./rows.ts"

const answer =
  "place, ruling, revision::float8 AS revision, created_at::float8 AS created_at, told, payload" as const

export const writerSql = {
  write: `SELECT ${answer} FROM write_items($1::integer[], $2::bigint[], $3::bigint[], $4, $5, $6::text::json, $7::text[], $8::bytea)`,
  insertIfAbsent: `SELECT ${answer} FROM insert_if_absent($1, $2, $3::text::json, $4::text[], $5::bytea)`,
  /** Waits for nobody: what a record is just correcting is left to the next call. */
  prune: `WITH old AS MATERIALIZED (SELECT ctid AS row_id FROM history
      WHERE state <> 'dead' AND finished_at < $1::bigint ORDER BY finished_at LIMIT $2::integer FOR UPDATE SKIP LOCKED),
    gone AS (DELETE FROM history USING old WHERE history.ctid = old.row_id RETURNING 1)
    SELECT count(*)::integer AS pruned FROM gone`,
} as const

const leaseColumns = "shard, epoch::float8 AS epoch, counter::float8 AS counter, node"

export const leaseSql = {
  owners: `SELECT ${leaseColumns}, foreign_writes::float8 AS foreign_writes
    FROM (SELECT shard, leases.epoch, counter, node, foreign_writes FROM leases JOIN shards USING (shard)) AS l
    ORDER BY shard`,
  claim: `SELECT ${leaseColumns}, (SELECT foreign_writes::float8 FROM shards WHERE shard = $1) AS foreign_writes
    FROM claim_shard($1::integer, $2::bigint, $3::bigint, $4::text)`,
  /** All at once, locked in order. The fences are read and not locked: a slow write delays no renewal. */
  renew: `WITH held AS MATERIALIZED (SELECT shard FROM leases
      WHERE (shard, epoch) IN (SELECT * FROM unnest($1::integer[], $2::bigint[])) AND node IS NOT NULL
      ORDER BY shard FOR NO KEY UPDATE),
    renewed AS (UPDATE leases SET counter = counter + 1 FROM held WHERE leases.shard = held.shard RETURNING leases.shard)
    SELECT shard, foreign_writes::float8 AS foreign_writes FROM shards JOIN renewed USING (shard)`,
  release: "UPDATE leases SET node = NULL WHERE shard = $1::integer AND epoch = $2::bigint",
  announce: `INSERT INTO members (node, address, beat, is_leaving, process)
    VALUES ($1::text, $2::text, 1, $3::boolean, $4::text)
    ON CONFLICT (node) DO UPDATE
    SET address = excluded.address, beat = members.beat + 1, is_leaving = excluded.is_leaving, process = excluded.process`,
  members: "SELECT node, address, beat::float8 AS beat, is_leaving FROM members ORDER BY node",
  processes: "SELECT node, process FROM members WHERE process IS NOT NULL ORDER BY node",
  /** The node is forgotten, and what it held is free; unless another process has taken its name meanwhile. */
  bury: `WITH gone AS (DELETE FROM members WHERE node = $1::text AND process = $2::text RETURNING node)
    UPDATE leases SET node = NULL FROM gone WHERE leases.node = gone.node`,
  retire: "DELETE FROM members WHERE node = $1::text",
} as const

const after = "(fire_at, fire_id) > ($2::bigint, $3::uuid) AND fire_at <= $4::bigint"
const inDueOrder = "ORDER BY fire_at, fire_id LIMIT $5::integer"

/**
 * Where namespaces are chosen, the keys of a page are found in an index alone, so that what is passed over is
 * not fetched; then the rows of those keys.
 */
const chosen = (columns: string, choice: string): string =>
  `WITH page AS MATERIALIZED (SELECT shard, fire_at, fire_id FROM timers WHERE ${choice} AND ${after} ${inDueOrder})
    SELECT ${columns} FROM (SELECT timers.* FROM page JOIN timers USING (shard, fire_at, fire_id)) AS t
    ORDER BY t.fire_at, t.fire_id`

const duePages = (columns: string) => ({
  all: `SELECT ${columns} FROM timers AS t WHERE shard = $1::integer AND ${after} ORDER BY t.fire_at, t.fire_id LIMIT $5::integer`,
  /** Added to nothing, the shard is not what the due index is asked for: that would walk over all namespaces. */
  only: chosen(columns, 'namespace COLLATE "POSIX" = $6::text AND shard + 0 = $1::integer'),
  except: chosen(columns, "shard = $1::integer AND namespace <> ALL ($6::text[])"),
})

const asJson = (columns: string): string => `(SELECT row_to_json(r) FROM (SELECT ${columns}) AS r)`

export const readerSql = {
  due: duePages(`${keyColumns}, ${timerColumns}, payload`),
  heads: duePages(`${keyColumns}, fire_id, fire_at::float8 AS fire_at`),
  /** What is pending and what ended last, as of one instant. */
  find: `SELECT p.told AS pending, p.payload AS pending_payload, l.told AS last, l.payload AS last_payload
    FROM (VALUES (1)) AS once
    LEFT JOIN (SELECT ${asJson(timerColumns)} AS told, payload FROM timers
      WHERE namespace = $1::text AND timer_id = $2::text) AS p ON true
    LEFT JOIN (SELECT ${asJson(lifeColumns)} AS told, payload FROM history
      WHERE namespace = $1::text AND timer_id = $2::text ORDER BY revision DESC LIMIT 1) AS l ON true`,
  tally: `SELECT sum(created)::float8 AS created, sum(rearmed)::float8 AS rearmed, sum(replayed)::float8 AS replayed,
    sum(delivered)::float8 AS delivered, sum(cancelled)::float8 AS cancelled, sum(replaced)::float8 AS replaced,
    sum(dead)::float8 AS dead, sum(discarded)::float8 AS discarded FROM shards`,
} as const

/** The clock itself: that of a transaction stands still. */
export const clockSql = "SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms"

const endedColumns = `${keyColumns}, ${lifeColumns}, payload, id::float8 AS id`

/** Of everything there is, each part in the order of an index; lives of one instant by their ids. */
export const archiveSql = {
  pending: `SELECT ${keyColumns}, ${timerColumns}, payload FROM timers AS t
    WHERE (namespace, timer_id) > ($1::text, $2::text) ORDER BY t.namespace, t.timer_id LIMIT $3::integer`,
  history: `SELECT ${endedColumns} FROM history AS h
    WHERE state <> 'dead' AND (finished_at, id) > ($1::bigint, $2::bigint)
    ORDER BY h.finished_at, h.id LIMIT $3::integer`,
  dead: `SELECT ${endedColumns} FROM history AS h
    WHERE state = 'dead' AND (namespace, finished_at, id) > ($1::text, $2::bigint, $3::bigint)
    ORDER BY h.namespace, h.finished_at, h.id LIMIT $4::integer`,
} as const

/** The items of a restore that belong to shards whose fences are held; $1 are those. */
const given = `given AS MATERIALIZED (
    SELECT g.*, ($3::text[])[spec_number] AS spec,
      substring($4::bytea FROM payload_from FOR payload_bytes) AS payload
    FROM json_to_recordset($2::text::json) AS g (
      place integer, shard integer, namespace text, timer_id text, uuid uuid, fire_id uuid, mode text,
      at bigint, execute_at bigint, fire_at bigint, created_at bigint, updated_at bigint, asked_at bigint,
      attempts integer, first_attempt_at bigint, last_attempt text, lateness_ms bigint, reason text, ended_by text,
      revision bigint, correlation_id text, spec_number integer, payload_from integer, payload_bytes integer
    )
    WHERE shard = ANY ($1::integer[])
  )`

const ofKey = (table: string): string =>
  `${table}.namespace = given.namespace AND ${table}.timer_id = given.timer_id`

/** A life keeps its revision, or has a higher one from its cancel: none below needs a look. */
const hasEnded = `EXISTS (SELECT FROM history WHERE ${ofKey("history")}
    AND history.revision >= given.revision AND history.fire_id = given.fire_id)`

export const restoreSql = {
  lock: "SELECT lock_fences($1::integer[], $2::bigint[]) AS held",
  pending: `WITH ${given},
  ruled AS MATERIALIZED (
    SELECT given.*, CASE
      WHEN ${hasEnded} THEN 'present'
      WHEN timers.fire_id = given.fire_id THEN 'present'
      WHEN timers.fire_id IS NOT NULL THEN 'differs'
      WHEN EXISTS (SELECT FROM history WHERE ${ofKey("history")} AND history.revision >= given.revision) THEN 'differs'
      ELSE 'restored' END AS ruling
    FROM given LEFT JOIN timers ON ${ofKey("timers")}
  ),
  restored AS (
    INSERT INTO timers (shard, uuid, namespace, timer_id, fire_at, fire_id, revision, execute_at, attempts,
      first_attempt_at, last_attempt, created_at, updated_at, asked_at, correlation_id, spec, payload)
    SELECT shard, uuid, namespace, timer_id, fire_at, fire_id, revision, execute_at, attempts,
      first_attempt_at, last_attempt, created_at, updated_at, asked_at, correlation_id, spec, payload
    FROM ruled WHERE ruling = 'restored'
  ),
  counted AS (
    UPDATE shards SET created = created + c.armings
    FROM (SELECT shard, count(*) AS armings FROM ruled WHERE ruling = 'restored' GROUP BY shard) AS c
    WHERE shards.shard = c.shard
  )
  SELECT place, ruling FROM ruled`,
  /** In the order in which they are given, so that their ids tell lives of one instant apart as they did. */
  ended: `WITH ${given},
  ruled AS MATERIALIZED (
    SELECT given.*, CASE
      WHEN ${hasEnded} THEN 'present'
      WHEN timers.fire_id = given.fire_id THEN 'differs'
      ELSE 'restored' END AS ruling
    FROM given LEFT JOIN timers ON ${ofKey("timers")}
  ),
  restored AS (
    INSERT INTO history (uuid, namespace, timer_id, state, fire_id, revision, execute_at, attempts, last_attempt,
      created_at, finished_at, lateness_ms, reason, ended_by, correlation_id, spec, payload)
    SELECT uuid, namespace, timer_id, mode, fire_id, revision, execute_at, attempts, last_attempt,
      created_at, at, lateness_ms, reason, ended_by, correlation_id, spec, payload
    FROM ruled WHERE ruling = 'restored' ORDER BY place
  ),
  counted AS (
    UPDATE shards SET created = created + c.armings, delivered = delivered + c.were_delivered,
      cancelled = cancelled + c.were_cancelled, dead = dead + c.are_dead
    FROM (
      SELECT shard, count(*) AS armings, count(*) FILTER (WHERE mode = 'delivered') AS were_delivered,
        count(*) FILTER (WHERE mode = 'cancelled') AS were_cancelled, count(*) FILTER (WHERE mode = 'dead') AS are_dead
      FROM ruled WHERE ruling = 'restored' GROUP BY shard
    ) AS c
    WHERE shards.shard = c.shard
  )
  SELECT place, ruling FROM ruled`,
} as const
