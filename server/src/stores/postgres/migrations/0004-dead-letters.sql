-- Dead letters are replayed and discarded, and what was `last_attempt` is the log of an arming's latest attempts: an
-- array, or, as it was written before, its last attempt alone. The text is made and read by the program.

-- As before, but for two things: what turns to dead letters is not for it, and an arming that follows another begins
-- without a log.
CREATE OR REPLACE FUNCTION apply_wave(the_wave integer, held integer[], the_items json, the_specs text[], the_payloads bytea)
RETURNS TABLE (place integer, ruling text, revision bigint, created_at bigint, told json, payload bytea)
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  -- Each item, what is pending under its key (p_), and, where the ruling asks for it, what last ended there (l_).
  WITH ruled AS MATERIALIZED (
    SELECT i.*, p.ctid AS p_row, p.fire_id AS p_fire_id, p.revision AS p_revision, p.execute_at AS p_execute_at,
      p.fire_at AS p_fire_at, p.attempts AS p_attempts, p.first_attempt_at AS p_first_attempt_at,
      p.last_attempt AS p_last_attempt, p.created_at AS p_created_at, p.updated_at AS p_updated_at,
      p.asked_at AS p_asked_at, p.correlation_id AS p_correlation_id, p.spec AS p_spec, p.payload AS p_payload,
      greatest(i.created_at, coalesce(l.revision, 0) + 1) AS first_revision,
      CASE i.kind
      WHEN 'put' THEN CASE
        WHEN p.fire_id = i.fire_id THEN CASE WHEN p.created_at = i.created_at THEN 'created' ELSE 'replaced' END
        WHEN l.fire_id = i.fire_id THEN 'alreadyFinished'
        WHEN i.is_repeat AND (p.fire_id IS NOT NULL OR l.fire_id IS NOT NULL) THEN 'unknown'
        WHEN i.execute_at <= i.created_at AND l.execute_at = i.execute_at THEN 'alreadyFinished'
        WHEN p.fire_id IS NULL THEN 'create'
        WHEN i.mode = 'fail' THEN 'exists'
        WHEN i.mode = 'keep' THEN 'unchanged'
        WHEN i.execute_at = p.execute_at AND (i.is_made OR i.correlation_id = p.correlation_id)
          AND i.payload IS NOT DISTINCT FROM p.payload
          AND (i.spec = p.spec OR i.spec::jsonb = p.spec::jsonb) THEN 'unchanged'
        ELSE 'replace' END
      WHEN 'change' THEN CASE
        WHEN p.fire_id = i.fire_id THEN 'changed'
        WHEN i.is_repeat AND (p.fire_id IS NOT NULL OR l.fire_id IS NOT NULL) THEN 'unknown'
        WHEN p.fire_id IS NULL THEN 'notFound'
        WHEN i.revision <> p.revision THEN 'revisionMismatch'
        WHEN p.fire_id = i.in_flight THEN 'inFlight'
        ELSE 'change' END
      WHEN 'schedule' THEN CASE
        WHEN l.fire_id = i.fire_id THEN 'finished'
        WHEN p.fire_id IS NULL THEN CASE WHEN l.fire_id IS NULL THEN 'create' ELSE 'finished' END
        WHEN p.fire_id = i.fire_id THEN CASE WHEN p.revision > p.created_at THEN 'moved' ELSE 'created' END
        WHEN p.fire_id = i.in_flight THEN 'inFlight'
        WHEN p.attempts > 0 THEN 'retrying'
        WHEN i.asked_at < coalesce(p.asked_at, p.updated_at) THEN 'outdated'
        WHEN i.execute_at = p.execute_at AND (i.is_made OR i.correlation_id = p.correlation_id)
          THEN CASE WHEN i.asked_at = p.asked_at THEN 'unchanged' ELSE 'confirm' END
        ELSE 'move' END
      WHEN 'cancel' THEN CASE
        WHEN l.ended_by = i.ended_by THEN CASE WHEN l.fire_id = i.in_flight THEN 'inFlight' ELSE 'cancelled' END
        WHEN i.is_repeat AND (p.fire_id IS NOT NULL OR l.fire_id IS NOT NULL) THEN 'unknown'
        WHEN p.fire_id IS NULL THEN CASE l.state
          WHEN 'delivered' THEN 'alreadyDelivered'
          WHEN 'cancelled' THEN 'alreadyCancelled'
          WHEN 'dead' THEN 'alreadyDead'
          ELSE 'notFound' END
        WHEN i.revision <> p.revision THEN 'revisionMismatch'
        WHEN p.fire_id = i.in_flight THEN 'abandon'
        ELSE 'cancel' END
      WHEN 'outcome' THEN CASE
        WHEN p.fire_id = i.fire_id AND p.attempts = i.attempts - 1 THEN i.mode
        WHEN CASE i.mode
          WHEN 'retry' THEN p.fire_id = i.fire_id AND p.attempts = i.attempts AND p.fire_at = i.fire_at
          WHEN 'rearm' THEN p.fire_id = i.next_fire_id
          WHEN 'deliver' THEN l.fire_id = i.fire_id AND l.state = 'delivered'
          WHEN 'bury' THEN l.fire_id = i.fire_id AND l.state = 'dead' END THEN 'settled'
        ELSE 'stale' END
      END AS ruling
    FROM (
      SELECT given.*, the_specs[spec_number] AS spec, substring(the_payloads FROM payload_from FOR payload_bytes) AS payload
      FROM json_to_recordset(the_items) AS given (
        place integer, wave integer, shard integer, kind text, mode text,
        namespace text, timer_id text, uuid uuid, fire_id uuid, next_fire_id uuid, in_flight uuid,
        at bigint, execute_at bigint, fire_at bigint, created_at bigint, updated_at bigint, asked_at bigint,
        attempts integer, first_attempt_at bigint, last_attempt text, lateness_ms bigint, reason text, ended_by text,
        revision bigint, correlation_id text, is_made boolean, is_repeat boolean, spec_number integer,
        sets_payload boolean, payload_from integer, payload_bytes integer
      )
      WHERE wave = the_wave AND shard = ANY (held) AND kind NOT IN ('record', 'replay', 'discard')
    ) AS i
    LEFT JOIN timers AS p ON p.namespace = i.namespace AND p.timer_id = i.timer_id
    LEFT JOIN LATERAL (
      SELECT h.fire_id, h.revision, h.execute_at, h.state, h.ended_by FROM history AS h
      WHERE (i.kind <> 'change' OR i.is_repeat)
        AND (i.kind <> 'outcome' OR (p.fire_id = i.fire_id AND p.attempts = i.attempts - 1) IS NOT TRUE)
        AND h.namespace = i.namespace AND h.timer_id = i.timer_id
      ORDER BY h.revision DESC LIMIT 1
    ) AS l ON true
  ),
  -- The first arming of a life has a revision above those of all lives before it.
  created AS (
    INSERT INTO timers (shard, uuid, namespace, timer_id, fire_at, fire_id, revision, execute_at, attempts,
      first_attempt_at, last_attempt, created_at, updated_at, asked_at, correlation_id, spec, payload)
    SELECT shard, uuid, namespace, timer_id, fire_at, fire_id, first_revision, execute_at, attempts,
      first_attempt_at, last_attempt, created_at, updated_at, asked_at, correlation_id, spec, payload
    FROM ruled WHERE ruling = 'create'
  ),
  updated AS (
    UPDATE timers AS t SET
      fire_id = CASE r.ruling WHEN 'confirm' THEN t.fire_id WHEN 'retry' THEN t.fire_id
        WHEN 'rearm' THEN r.next_fire_id ELSE r.fire_id END,
      revision = t.revision + CASE WHEN r.ruling IN ('confirm', 'retry') THEN 0 ELSE 1 END,
      execute_at = CASE WHEN r.ruling IN ('confirm', 'retry') THEN t.execute_at
        ELSE coalesce(r.execute_at, t.execute_at) END,
      fire_at = CASE r.ruling WHEN 'confirm' THEN t.fire_at WHEN 'retry' THEN r.fire_at WHEN 'replace' THEN r.fire_at
        ELSE coalesce(r.execute_at, t.execute_at) END,
      attempts = CASE r.ruling WHEN 'confirm' THEN t.attempts WHEN 'replace' THEN r.attempts
        WHEN 'retry' THEN CASE WHEN r.last_attempt IS NULL THEN t.attempts ELSE r.attempts END ELSE 0 END,
      first_attempt_at = CASE r.ruling WHEN 'confirm' THEN t.first_attempt_at WHEN 'replace' THEN r.first_attempt_at
        WHEN 'retry' THEN coalesce(t.first_attempt_at, r.first_attempt_at) END,
      last_attempt = CASE r.ruling WHEN 'confirm' THEN t.last_attempt WHEN 'replace' THEN r.last_attempt
        WHEN 'retry' THEN coalesce(r.last_attempt, t.last_attempt) END,
      updated_at = CASE r.ruling WHEN 'confirm' THEN t.updated_at WHEN 'replace' THEN r.updated_at
        WHEN 'move' THEN r.created_at ELSE r.at END,
      asked_at = CASE r.ruling WHEN 'retry' THEN t.asked_at WHEN 'confirm' THEN r.asked_at WHEN 'move' THEN r.asked_at
        WHEN 'replace' THEN r.asked_at END,
      correlation_id = CASE WHEN r.ruling IN ('confirm', 'retry', 'rearm') OR (r.ruling = 'move' AND r.is_made)
        THEN t.correlation_id ELSE coalesce(r.correlation_id, t.correlation_id) END,
      spec = CASE r.ruling WHEN 'replace' THEN r.spec WHEN 'change' THEN changed_spec(t.spec, r.spec) ELSE t.spec END,
      -- What is out of line and stays is not written again.
      payload = CASE WHEN r.ruling = 'replace' OR r.sets_payload THEN r.payload ELSE t.payload END
    FROM ruled AS r
    -- The fence is held, so the row is where it was read.
    WHERE t.ctid = r.p_row AND r.ruling IN ('replace', 'change', 'move', 'confirm', 'retry', 'rearm')
    RETURNING r.place, r.ruling, t.fire_id, t.revision, t.execute_at, t.fire_at, t.attempts, t.first_attempt_at,
      t.last_attempt, t.created_at, t.updated_at, t.asked_at, t.correlation_id, t.spec, t.payload
  ),
  removed AS (
    DELETE FROM timers AS t USING ruled AS r
    WHERE t.ctid = r.p_row AND r.ruling IN ('deliver', 'bury', 'cancel', 'abandon')
  ),
  -- A cancel is a change of the key like any other, so the revision moves on. Only dead letters keep their payload.
  finished AS (
    INSERT INTO history (uuid, namespace, timer_id, state, fire_id, revision, execute_at, attempts, last_attempt,
      created_at, finished_at, lateness_ms, reason, ended_by, correlation_id, spec, payload)
    SELECT uuid, namespace, timer_id,
      CASE WHEN kind = 'cancel' THEN 'cancelled' WHEN ruling = 'bury' THEN 'dead' ELSE 'delivered' END,
      p_fire_id, p_revision + CASE WHEN kind = 'cancel' THEN 1 ELSE 0 END, p_execute_at,
      CASE WHEN last_attempt IS NULL THEN p_attempts ELSE attempts END,
      coalesce(last_attempt, p_last_attempt), p_created_at, at, lateness_ms, reason, ended_by, p_correlation_id, p_spec,
      CASE WHEN ruling = 'bury' THEN p_payload END
    FROM ruled WHERE ruling IN ('deliver', 'rearm', 'bury', 'cancel', 'abandon')
  ),
  counted AS (
    UPDATE shards AS s SET
      created = s.created + c.begun, replaced = s.replaced + c.replaced, rearmed = s.rearmed + c.rearmed,
      delivered = s.delivered + c.delivered, cancelled = s.cancelled + c.cancelled, dead = s.dead + c.dead
    FROM (
      SELECT shard,
        count(*) FILTER (WHERE ruling IN ('create', 'replace', 'change', 'move')) AS begun,
        count(*) FILTER (WHERE ruling IN ('replace', 'change', 'move')) AS replaced,
        count(*) FILTER (WHERE ruling = 'rearm') AS rearmed,
        count(*) FILTER (WHERE ruling IN ('deliver', 'rearm')) AS delivered,
        count(*) FILTER (WHERE ruling IN ('cancel', 'abandon')) AS cancelled,
        count(*) FILTER (WHERE ruling = 'bury') AS dead
      FROM ruled GROUP BY shard
    ) AS c
    WHERE s.shard = c.shard AND c.begun + c.delivered + c.cancelled + c.dead > 0
  )
  SELECT u.place, u.ruling, u.revision, u.created_at,
    CASE WHEN u.ruling <> 'replace' THEN json_build_object(
      'fire_id', u.fire_id, 'revision', u.revision, 'execute_at', u.execute_at, 'fire_at', u.fire_at,
      'attempts', u.attempts, 'first_attempt_at', u.first_attempt_at, 'last_attempt', u.last_attempt,
      'created_at', u.created_at, 'updated_at', u.updated_at, 'asked_at', u.asked_at,
      'correlation_id', u.correlation_id, 'spec', u.spec) END,
    CASE WHEN u.ruling <> 'replace' THEN u.payload END
  FROM updated AS u
  UNION ALL
  SELECT r.place, r.ruling, CASE r.ruling WHEN 'create' THEN r.first_revision ELSE r.p_revision END, NULL,
    CASE
      WHEN r.ruling = 'alreadyFinished' THEN json_build_object(
        'state', h.state, 'fire_id', h.fire_id, 'revision', h.revision, 'execute_at', h.execute_at,
        'attempts', h.attempts, 'last_attempt', h.last_attempt, 'created_at', h.created_at,
        'finished_at', h.finished_at, 'lateness_ms', h.lateness_ms, 'reason', h.reason, 'ended_by', h.ended_by,
        'correlation_id', h.correlation_id, 'spec', h.spec)
      WHEN r.tells_pending THEN json_build_object(
        'fire_id', r.p_fire_id, 'revision', r.p_revision, 'execute_at', r.p_execute_at, 'fire_at', r.p_fire_at,
        'attempts', r.p_attempts, 'first_attempt_at', r.p_first_attempt_at, 'last_attempt', r.p_last_attempt,
        'created_at', r.p_created_at, 'updated_at', r.p_updated_at, 'asked_at', r.p_asked_at,
        'correlation_id', r.p_correlation_id, 'spec', r.p_spec)
    END,
    CASE WHEN r.ruling = 'alreadyFinished' THEN h.payload WHEN r.tells_pending THEN r.p_payload END
  FROM (
    SELECT *, ruling IN ('created', 'replaced', 'unchanged', 'exists', 'changed', 'moved')
      OR (ruling = 'settled' AND mode IN ('retry', 'rearm')) AS tells_pending
    FROM ruled WHERE ruling NOT IN ('replace', 'change', 'move', 'confirm', 'retry', 'rearm')
  ) AS r
  LEFT JOIN LATERAL (
    SELECT * FROM history AS h
    WHERE r.ruling = 'alreadyFinished' AND h.namespace = r.namespace AND h.timer_id = r.timer_id
    ORDER BY h.revision DESC LIMIT 1
  ) AS h ON true;
END $$;

-- What turns to dead letters. They are rare, so that other writes do not pay for the look. A dead letter is named by
-- its arming and its revision: if it is there, it was neither replayed nor discarded before. If it is gone, a replay is
-- told by what it armed, as far as that can be seen.
CREATE FUNCTION dispose_dead(the_wave integer, held integer[], the_items json)
RETURNS TABLE (place integer, ruling text, revision bigint, created_at bigint, told json, payload bytea)
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  -- Each item, the dead letter that it names (d_), what is pending under its key (p_), and what last ended there (l).
  WITH ruled AS MATERIALIZED (
    SELECT i.*, d.ctid AS d_row, d.created_at AS d_created_at, d.correlation_id AS d_correlation_id,
      d.spec AS d_spec, d.payload AS d_payload,
      p.fire_id AS p_fire_id, p.revision AS p_revision, p.execute_at AS p_execute_at, p.fire_at AS p_fire_at,
      p.attempts AS p_attempts, p.first_attempt_at AS p_first_attempt_at, p.last_attempt AS p_last_attempt,
      p.created_at AS p_created_at, p.updated_at AS p_updated_at, p.asked_at AS p_asked_at,
      p.correlation_id AS p_correlation_id, p.spec AS p_spec, p.payload AS p_payload,
      greatest(i.at, d.revision + 1, coalesce(l.revision, 0) + 1) AS next_revision,
      CASE i.kind
      WHEN 'replay' THEN CASE
        WHEN p.fire_id = i.fire_id THEN 'replayed'
        WHEN l.fire_id = i.fire_id THEN 'alreadyReplayed'
        WHEN d.state IS DISTINCT FROM 'dead' THEN CASE
          WHEN i.is_repeat AND (p.fire_id IS NOT NULL OR l.fire_id IS NOT NULL) THEN 'unknown' ELSE 'notFound' END
        WHEN p.fire_id IS NOT NULL THEN 'skipped'
        ELSE 'replay' END
      ELSE CASE
        WHEN d.state = 'dead' THEN 'discard'
        WHEN i.is_repeat THEN 'unknown'
        ELSE 'notFound' END
      END AS ruling
    FROM json_to_recordset(the_items) AS i (
      place integer, wave integer, shard integer, kind text, namespace text, timer_id text, uuid uuid,
      fire_id uuid, dead_fire_id uuid, revision bigint, at bigint, is_repeat boolean
    )
    -- Its state is not asked for here: that would be looked up among all dead letters of the namespace.
    LEFT JOIN history AS d ON d.namespace = i.namespace AND d.timer_id = i.timer_id AND d.revision = i.revision
      AND d.fire_id = i.dead_fire_id
    LEFT JOIN timers AS p ON i.kind = 'replay' AND p.namespace = i.namespace AND p.timer_id = i.timer_id
    LEFT JOIN LATERAL (
      SELECT h.fire_id, h.revision FROM history AS h
      WHERE i.kind = 'replay' AND h.namespace = i.namespace AND h.timer_id = i.timer_id
      ORDER BY h.revision DESC LIMIT 1
    ) AS l ON true
    WHERE i.wave = the_wave AND i.shard = ANY (held) AND i.kind IN ('replay', 'discard')
  ),
  armed AS (
    INSERT INTO timers (shard, uuid, namespace, timer_id, fire_at, fire_id, revision, execute_at, attempts,
      created_at, updated_at, correlation_id, spec, payload)
    SELECT shard, uuid, namespace, timer_id, at, fire_id, next_revision, at, 0,
      d_created_at, at, d_correlation_id, d_spec, d_payload
    FROM ruled WHERE ruling = 'replay'
  ),
  removed AS (
    -- The fence is held, so the row is where it was read; pruning leaves dead letters alone.
    DELETE FROM history AS h USING ruled AS r WHERE h.ctid = r.d_row AND r.ruling IN ('replay', 'discard')
  ),
  -- What was replayed stays counted as an arming that ended dead; the replay begins another.
  counted AS (
    UPDATE shards AS s SET
      replayed = s.replayed + c.replayed, dead = s.dead - c.discarded, discarded = s.discarded + c.discarded
    FROM (
      SELECT shard, count(*) FILTER (WHERE ruling = 'replay') AS replayed,
        count(*) FILTER (WHERE ruling = 'discard') AS discarded
      FROM ruled GROUP BY shard
    ) AS c
    WHERE s.shard = c.shard AND c.replayed + c.discarded > 0
  )
  SELECT r.place, r.ruling, NULL::bigint, NULL::bigint,
    CASE r.ruling
    WHEN 'replay' THEN json_build_object(
      'fire_id', r.fire_id, 'revision', r.next_revision, 'execute_at', r.at, 'fire_at', r.at,
      'attempts', 0, 'first_attempt_at', NULL, 'last_attempt', NULL,
      'created_at', r.d_created_at, 'updated_at', r.at, 'asked_at', NULL,
      'correlation_id', r.d_correlation_id, 'spec', r.d_spec)
    WHEN 'replayed' THEN json_build_object(
      'fire_id', r.p_fire_id, 'revision', r.p_revision, 'execute_at', r.p_execute_at, 'fire_at', r.p_fire_at,
      'attempts', r.p_attempts, 'first_attempt_at', r.p_first_attempt_at, 'last_attempt', r.p_last_attempt,
      'created_at', r.p_created_at, 'updated_at', r.p_updated_at, 'asked_at', r.p_asked_at,
      'correlation_id', r.p_correlation_id, 'spec', r.p_spec)
    END,
    CASE r.ruling WHEN 'replay' THEN r.d_payload WHEN 'replayed' THEN r.p_payload END
  FROM ruled AS r;
END $$;

-- One write, as before; `has_others` says that it has records, or items that turn to dead letters.
DROP FUNCTION write_items(integer[], bigint[], bigint[], integer, boolean, json, text[], bytea);

CREATE FUNCTION write_items(the_shards integer[], the_epochs bigint[], the_numbers bigint[], waves integer,
  has_others boolean, the_items json, the_specs text[], the_payloads bytea)
RETURNS TABLE (place integer, ruling text, revision bigint, created_at bigint, told json, payload bytea)
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
  held integer[] := lock_fences(the_shards, the_epochs);
  taken integer[] := take_numbers(held, the_shards, the_numbers);
BEGIN
  FOR wave IN 1 .. waves LOOP
    RETURN QUERY SELECT * FROM apply_wave(wave, taken, the_items, the_specs, the_payloads);
    IF has_others THEN
      RETURN QUERY SELECT * FROM record_lives(wave, taken, the_items, the_specs, the_payloads);
      RETURN QUERY SELECT * FROM dispose_dead(wave, taken, the_items);
    END IF;
  END LOOP;
  RETURN QUERY
  SELECT -1 - shard, CASE WHEN shard = ANY (held) THEN 'overtaken' ELSE 'ownershipLost' END,
    NULL::bigint, NULL::bigint, NULL::json, NULL::bytea
  FROM unnest(the_shards) AS shard WHERE shard <> ALL (taken);
END $$;
