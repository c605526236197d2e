// The statements of the PostgreSQL store. Each write is one statement, so it needs one round trip and is atomic without
// a transaction block. Numbers are read as float8, because the driver returns bigint as text.
import { callColumns } from "../callRows.ts"
import { openCountQuery, tenantsQuery } from "../settingsRow.ts"

const typeOf: Readonly<Partial<Record<string, string>>> = {
  version: "bigint",
  submitted_at: "bigint",
  due_at: "bigint",
  updated_at: "bigint",
  finished_at: "bigint",
  check_at: "bigint",
  is_starred: "integer",
}

/** Columns are $1 to $16, in the order of `callColumns`. */
const callValues = callColumns.map((name, index) => `$${index + 1}::${typeOf[name] ?? "text"}`)

/** $17 the lines of the timeline, $18 the messages, both as JSON; $19 the body of the answer, or null. */
const around = (written: string): string => `
  lines AS (INSERT INTO timeline SELECT $1::text, $2::text, line.version, line.entry
    FROM jsonb_to_recordset($17::text::jsonb) AS line(version bigint, entry text)
    WHERE EXISTS (SELECT 1 FROM ${written})),
  sent AS (INSERT INTO outbox (tenant_id, service_call_id, lane, position, ready_at, message)
    SELECT $1::text, $2::text, sent.lane, sent.position, sent.ready_at, sent.message
    FROM jsonb_to_recordset($18::text::jsonb)
      AS sent(lane integer, position bigint, ready_at bigint, message text)
    WHERE EXISTS (SELECT 1 FROM ${written})),
  answered AS (INSERT INTO answers SELECT $1::text, $2::text, $19::bytea
    WHERE $19::bytea IS NOT NULL AND EXISTS (SELECT 1 FROM ${written})
    ON CONFLICT (tenant_id, service_call_id) DO UPDATE SET body = excluded.body)`

const attempt = `tenant_id, attempt_id, service_call_id, state, owner, timeout_ms,
  claimed_at::float8 AS claimed_at, started_at::float8 AS started_at, ended`

/** $n the lane, and so on: a message of an attempt whose step has just been written. */
const putMessage = (from: string, first: number): string =>
  `INSERT INTO outbox (tenant_id, service_call_id, lane, position, ready_at, message)
    SELECT tenant_id, service_call_id, $${first}::integer, $${first + 1}::bigint, $${first + 2}::bigint,
      $${first + 3}::text FROM ${from} ON CONFLICT DO NOTHING`

export const callStatements = {
  submit: `WITH written AS (INSERT INTO calls (${callColumns.join(", ")}) VALUES (${callValues.join(", ")})
      ON CONFLICT DO NOTHING RETURNING 1),
    kept AS (INSERT INTO requests SELECT $1::text, $2::text, $20::bytea WHERE EXISTS (SELECT 1 FROM written)),
    ${around("written")} SELECT count(*)::integer AS written FROM written`,
  commit: `WITH written AS (UPDATE calls SET ${callColumns.map((name, at) => `${name} = ${callValues[at]}`).join(", ")}
      WHERE tenant_id = $1::text AND service_call_id = $2::text AND calls.version = $20::bigint RETURNING 1),
    ${around("written")} SELECT count(*)::integer AS written FROM written`,
  find: "SELECT record FROM calls WHERE tenant_id = $1::text AND service_call_id = $2::text",
  detail: `SELECT c.record, r.sealed, a.body,
      (SELECT settings FROM tenant_settings WHERE tenant_id = $1::text) AS settings,
      (SELECT coalesce(json_agg(t.entry ORDER BY t.version), '[]')::text FROM (
        SELECT version, entry FROM timeline WHERE tenant_id = $1::text AND service_call_id = $2::text
        ORDER BY version LIMIT 500) AS t) AS entries
    FROM calls AS c JOIN requests AS r USING (tenant_id, service_call_id)
    LEFT JOIN answers AS a USING (tenant_id, service_call_id)
    WHERE c.tenant_id = $1::text AND c.service_call_id = $2::text`,
  /** Changes of one millisecond are not separated, up to 1,000 of them. */
  changesAfter: `SELECT record FROM calls WHERE tenant_id = $1::text AND updated_at > $2::bigint
    AND updated_at <= coalesce((SELECT updated_at FROM calls WHERE tenant_id = $1::text AND updated_at > $2::bigint
      ORDER BY updated_at LIMIT 1 OFFSET $3::integer - 1), 9007199254740991)
    ORDER BY updated_at, service_call_id LIMIT $3::integer + 1000`,
  /** Skips from tenant to tenant in the index, however many messages each has. */
  outboxHeads: `WITH RECURSIVE turn AS (
      (SELECT tenant_id, 1 AS visited FROM outbox WHERE tenant_id > $1::text ORDER BY tenant_id LIMIT 1)
      UNION ALL
      SELECT (SELECT o.tenant_id FROM outbox AS o WHERE o.tenant_id > turn.tenant_id
        ORDER BY o.tenant_id LIMIT 1), visited + 1
      FROM turn WHERE turn.tenant_id IS NOT NULL AND visited < $2::integer)
    SELECT turn.tenant_id, head.service_call_id FROM turn LEFT JOIN LATERAL (
      SELECT DISTINCT ready.service_call_id FROM (
        SELECT service_call_id FROM outbox WHERE tenant_id = turn.tenant_id AND ready_at <= $3::bigint
        ORDER BY ready_at LIMIT $4::integer) AS ready) AS head ON true
    WHERE turn.tenant_id IS NOT NULL ORDER BY turn.tenant_id`,
  outboxOf: `SELECT lane, position::float8 AS position, tries, message FROM outbox
    WHERE tenant_id = $1::text AND service_call_id = $2::text ORDER BY lane, outbox.position LIMIT $3::integer`,
  removeMessages: `DELETE FROM outbox WHERE tenant_id = $1::text AND service_call_id = $2::text
    AND (lane, position) IN (SELECT gone.lane, gone.position
      FROM jsonb_to_recordset($3::text::jsonb) AS gone(lane integer, position bigint))`,
  deferMessages: `UPDATE outbox SET ready_at = $3::bigint, tries = tries + 1
    WHERE tenant_id = $1::text AND service_call_id = $2::text`,
  claimAttempt: `INSERT INTO attempts (tenant_id, attempt_id, service_call_id, state, owner, timeout_ms, claimed_at)
    VALUES ($1::text, $2::text, $3::text, 'claimed', $4::text, $5::integer, $6::bigint) ON CONFLICT DO NOTHING`,
  attemptOf: `SELECT ${attempt} FROM attempts WHERE tenant_id = $1::text AND attempt_id = $2::text`,
  beginAttempt: `WITH step AS (UPDATE attempts SET state = 'calling', owner = $3::text, started_at = $4::bigint
      WHERE tenant_id = $1::text AND attempt_id = $2::text AND state = 'claimed' AND EXISTS (
        SELECT 1 FROM calls WHERE calls.tenant_id = attempts.tenant_id
          AND calls.service_call_id = attempts.service_call_id
          AND calls.state = 'Running' AND calls.attempt_id = attempts.attempt_id)
      RETURNING tenant_id, service_call_id),
    sent AS (${putMessage("step", 5)}) SELECT count(*)::integer AS written FROM step`,
  endAttempt: `WITH step AS (UPDATE attempts SET state = 'ended', ended = $3::text
      WHERE tenant_id = $1::text AND attempt_id = $2::text AND state = 'calling'
      RETURNING tenant_id, service_call_id),
    sent AS (${putMessage("step", 4)}) SELECT count(*)::integer AS written FROM step`,
  resendOutcome: `WITH step AS (SELECT tenant_id, service_call_id FROM attempts
      WHERE tenant_id = $1::text AND attempt_id = $2::text AND state = 'ended') ${putMessage("step", 3)}`,
  waitingAttempts: `SELECT ${attempt} FROM attempts
    WHERE state = 'claimed' AND attempts.claimed_at >= $1::bigint AND attempts.claimed_at < $2::bigint
    ORDER BY attempts.claimed_at LIMIT $3::integer`,
  callingAttempts: `SELECT ${attempt} FROM attempts WHERE state = 'calling' AND owner = $1::text LIMIT $2::integer`,
  openCalls: `SELECT record FROM calls WHERE check_at IS NOT NULL AND check_at <= $1::bigint
    ORDER BY check_at LIMIT $2::integer`,
  prune: `WITH gone AS (DELETE FROM calls WHERE (tenant_id, service_call_id) IN (
      SELECT tenant_id, service_call_id FROM calls WHERE finished_at IS NOT NULL AND finished_at < $1::bigint
      ORDER BY finished_at LIMIT $2::integer FOR UPDATE SKIP LOCKED) RETURNING tenant_id, service_call_id),
    ${["requests", "answers", "timeline", "outbox", "attempts"]
      .map(
        (table) =>
          `gone_${table} AS (DELETE FROM ${table} USING gone WHERE ${table}.tenant_id = gone.tenant_id
            AND ${table}.service_call_id = gone.service_call_id)`,
      )
      .join(", ")}
    SELECT count(*)::integer AS written FROM gone`,
  settingsOf: "SELECT settings FROM tenant_settings WHERE tenant_id = $1::text",
  putSettings: `INSERT INTO tenant_settings VALUES ($1::text, $2::text)
    ON CONFLICT (tenant_id) DO UPDATE SET settings = excluded.settings`,
  tenants: tenantsQuery("$1::text", "$2::text", "$3::integer"),
  openCount: openCountQuery("$1::text", "$2::integer"),
  /** Locks belong to the session, so they end with the connection. */
  lock: "SELECT pg_try_advisory_lock($1::integer, hashtextextended($2::text, 0)::bit(32)::integer) AS is_held",
  unlock: "SELECT pg_advisory_unlock($1::integer, hashtextextended($2::text, 0)::bit(32)::integer)",
} as const
