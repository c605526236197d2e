-- Writing, as functions, so that a write of many items over many shards is one round trip, one transaction, and
-- ends at the server whatever becomes of its client. What they decide is what domain/decide.ts decides; a suite
-- compares the two over random sequences.
--
-- No deadlocks between nodes: whoever writes a shard's timers, its history or its row in `shards` holds the lock of
-- that row first, and takes several of them in the order of the shards. Leases are locked after it, or alone, in
-- the same order. Pruning waits for nobody.

-- Locks the fences of some shards and answers those that are under the epoch named. With no epochs: all of them.
CREATE FUNCTION lock_fences(the_shards integer[], the_epochs bigint[]) RETURNS integer[]
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  held integer[];
BEGIN
  -- A row that had to be waited for is read again, so this is the epoch as it is while the lock is held.
  WITH fence AS MATERIALIZED (
    SELECT shard, epoch FROM shards WHERE shard = ANY (the_shards) ORDER BY shard FOR NO KEY UPDATE
  )
  SELECT coalesce(array_agg(fence.shard), '{}') INTO held
  FROM fence JOIN unnest(the_shards, the_epochs) AS asked (shard, epoch) USING (shard)
  WHERE the_epochs IS NULL OR asked.epoch = fence.epoch;
  RETURN held;
END $$;

-- Applies items to shards whose fences the caller's transaction holds. Items of one wave have distinct keys, and a
-- later wave sees what an earlier one did. Specs and payloads are sent apart, and items say where theirs is.
--
-- Of each item it answers its place, what was ruled, and what the asker cannot know by itself. A ruling in the
-- imperative (create, replace, change, move, confirm, retry, rearm, deliver, bury, cancel, abandon) is also done;
-- any other leaves everything as it was, and is the answer itself. To abandon is to cancel what is in flight.
CREATE FUNCTION apply_wave(the_wave integer, held integer[], the_items json, the_specs text[], the_payloads bytea)
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
        WHEN p.fire_id = i.fire_id THEN CASE WHEN p.created_at = i.created_at THEN 'created' ELSE 'moved' END
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
      WHERE wave = the_wave AND shard = ANY (held) AND kind <> 'record'
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
        WHEN 'retry' THEN coalesce(r.last_attempt, t.last_attempt)
        WHEN 'rearm' THEN coalesce(r.last_attempt, t.last_attempt) END,
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

-- A spec with the parts that a change names; a part that it names as null goes.
CREATE FUNCTION changed_spec(spec text, parts text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN parts IS NULL THEN spec ELSE (
    SELECT json_object_agg(key, value)::text FROM jsonb_each(spec::jsonb || parts::jsonb) WHERE value <> 'null'
  ) END
$$;

-- What came of attempts whose armings were cancelled or replaced while they ran: it corrects the entry of the same
-- arming in history, or adds it. A life keeps its revision, or has a higher one from its cancel: no entry below
-- needs a look. If pruning takes the entry at this very moment, it has had its time anyway.
CREATE FUNCTION record_lives(the_wave integer, held integer[], the_items json, the_specs text[], the_payloads bytea)
RETURNS TABLE (place integer, ruling text, revision bigint, created_at bigint, told json, payload bytea)
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH ruled AS MATERIALIZED (
    SELECT i.*, the_specs[i.spec_number] AS spec,
      CASE WHEN i.mode = 'dead' THEN substring(the_payloads FROM i.payload_from FOR i.payload_bytes) END AS payload,
      prior.row_id AS prior_row, coalesce(prior.state, 'replaced') AS prior_state,
      CASE prior.state WHEN 'dead' THEN 'leave' WHEN 'delivered' THEN 'correct' WHEN 'cancelled' THEN 'correct'
        ELSE 'add' END AS ruling
    FROM json_to_recordset(the_items) AS i (
      place integer, wave integer, shard integer, kind text, mode text, namespace text, timer_id text, uuid uuid,
      fire_id uuid, at bigint, execute_at bigint, created_at bigint, attempts integer, last_attempt text,
      lateness_ms bigint, reason text, ended_by text, revision bigint, correlation_id text, spec_number integer,
      payload_from integer, payload_bytes integer
    )
    LEFT JOIN LATERAL (
      SELECT h.ctid AS row_id, h.state FROM history AS h
      WHERE h.namespace = i.namespace AND h.timer_id = i.timer_id AND h.revision >= i.revision
        AND h.fire_id = i.fire_id
      ORDER BY h.revision LIMIT 1
    ) AS prior ON true
    WHERE i.wave = the_wave AND i.shard = ANY (held) AND i.kind = 'record'
  ),
  corrected AS (
    UPDATE history AS h SET
      state = r.mode, execute_at = r.execute_at, attempts = r.attempts, last_attempt = r.last_attempt,
      created_at = r.created_at, finished_at = r.at, lateness_ms = r.lateness_ms, reason = r.reason,
      ended_by = coalesce(h.ended_by, r.ended_by), correlation_id = r.correlation_id, spec = r.spec,
      payload = r.payload
    FROM ruled AS r WHERE h.ctid = r.prior_row AND r.ruling = 'correct'
  ),
  added AS (
    INSERT INTO history (uuid, namespace, timer_id, state, fire_id, revision, execute_at, attempts, last_attempt,
      created_at, finished_at, lateness_ms, reason, ended_by, correlation_id, spec, payload)
    SELECT uuid, namespace, timer_id, mode, fire_id, revision, execute_at, attempts, last_attempt,
      created_at, at, lateness_ms, reason, ended_by, correlation_id, spec, payload
    FROM ruled WHERE ruling = 'add'
  ),
  -- Each arming has one end: it is moved from the one that was counted to the one that it had.
  counted AS (
    UPDATE shards AS s SET
      replaced = s.replaced + c.replaced, delivered = s.delivered + c.delivered,
      cancelled = s.cancelled + c.cancelled, dead = s.dead + c.dead
    FROM (
      SELECT shard,
        -count(*) FILTER (WHERE prior_state = 'replaced') AS replaced,
        count(*) FILTER (WHERE mode = 'delivered') - count(*) FILTER (WHERE prior_state = 'delivered') AS delivered,
        count(*) FILTER (WHERE mode = 'cancelled') - count(*) FILTER (WHERE prior_state = 'cancelled') AS cancelled,
        count(*) FILTER (WHERE mode = 'dead') AS dead
      FROM ruled WHERE ruling <> 'leave' GROUP BY shard
    ) AS c
    WHERE s.shard = c.shard
  )
  SELECT r.place, 'recorded', NULL::bigint, NULL::bigint, NULL::json, NULL::bytea FROM ruled AS r;
END $$;

-- One write: items of many shards in order, under the epochs of those shards. Of a shard that is not under its
-- epoch any more nothing is written, and it is answered under the place -1 - shard.
CREATE FUNCTION write_items(the_shards integer[], the_epochs bigint[], waves integer, has_records boolean,
  the_items json, the_specs text[], the_payloads bytea)
RETURNS TABLE (place integer, ruling text, revision bigint, created_at bigint, told json, payload bytea)
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
  held integer[] := lock_fences(the_shards, the_epochs);
BEGIN
  FOR wave IN 1 .. waves LOOP
    RETURN QUERY SELECT * FROM apply_wave(wave, held, the_items, the_specs, the_payloads);
    IF has_records THEN
      RETURN QUERY SELECT * FROM record_lives(wave, held, the_items, the_specs, the_payloads);
    END IF;
  END LOOP;
  RETURN QUERY
  SELECT -1 - shard, 'ownershipLost', NULL::bigint, NULL::bigint, NULL::json, NULL::bytea
  FROM unnest(the_shards) AS shard WHERE shard <> ALL (held);
END $$;

-- Puts of keys that are free, whoever owns the shard. It takes the fence too, so that the owner's writes come
-- before it or after it, and counts itself where the owner's next renewal sees it.
CREATE FUNCTION insert_if_absent(the_shard integer, waves integer, the_items json, the_specs text[],
  the_payloads bytea)
RETURNS TABLE (place integer, ruling text, revision bigint, created_at bigint, told json, payload bytea)
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
  held integer[] := lock_fences(ARRAY[the_shard], NULL);
  created_before bigint := (SELECT created FROM shards WHERE shard = the_shard);
BEGIN
  FOR wave IN 1 .. waves LOOP
    RETURN QUERY SELECT * FROM apply_wave(wave, held, the_items, the_specs, the_payloads);
  END LOOP;
  UPDATE shards SET foreign_writes = foreign_writes + 1 WHERE shard = the_shard AND created > created_before;
END $$;

-- The fence first: a claim waits for a write that is under way, and the next write for the claim.
CREATE FUNCTION claim_shard(the_shard integer, expected_epoch bigint, expected_counter bigint, the_node text)
RETURNS SETOF leases
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  claimed leases;
BEGIN
  -- A claim that cannot succeed waits for nobody.
  PERFORM FROM leases WHERE shard = the_shard AND epoch = expected_epoch AND counter = expected_counter;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM FROM shards WHERE shard = the_shard FOR NO KEY UPDATE;
  UPDATE leases SET epoch = epoch + 1, counter = counter + 1, node = the_node
  WHERE shard = the_shard AND epoch = expected_epoch AND counter = expected_counter
  RETURNING * INTO claimed;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE shards SET epoch = claimed.epoch WHERE shard = the_shard;
  RETURN NEXT claimed;
END $$;
