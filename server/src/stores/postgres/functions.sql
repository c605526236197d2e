-- Functions that execute changes, so that a commit of many changes over many shards is one round trip and one
-- transaction. The server completes the transaction by itself, even if the client dies. The functions make no
-- decisions: every change states what it expects to find, and is skipped as a whole if it finds something else. This
-- file is not a migration: functions.ts creates the functions under names that end with the hash of their text
-- (__HASH__).
-- Text between « and » is repeated for each added field (domain/timerFields.ts): # is its column, and ## its type.
--
-- A transaction that writes timers or lives of a shard first locks the shard's row in `shards`. So nothing of a shard
-- changes while its row is locked, except that pruning removes old lives. The shards of a commit are given in order,
-- and the plan locks them in that order. If a plan ever used another order, two nodes could deadlock. The server would
-- then abort one of the two calls, and its node would repeat it. Each statement sees what was committed before it began
-- (READ COMMITTED), so the statements after the fence see everything that the transaction had to wait for.

-- A change of any kind. `e_` columns are its expectations: about the pending row (`e_pending`: none, or the given one),
-- about the last life (NULL: no life), and about the life to correct or remove (state NULL: no life has this fireId). A
-- cancel raises the revision of a life, so only lives with this revision or a higher one are read. `pending` and `life`
-- say what happens to the row and to the life. `l_` columns contain the life as it will be stored.
CREATE TYPE change___HASH__ AS (
  place integer, shard integer, namespace text, timer_id text, uuid uuid,
  e_pending text, e_fire_id uuid, e_attempts integer, e_revision bigint, e_asked_at bigint,
  checks_last boolean, e_last_fire_id uuid, e_life_fire_id uuid, e_life_revision bigint, e_life_state text,
  pending text, fire_id uuid, revision bigint, execute_at bigint, fire_at bigint, attempts integer,
  first_attempt_at bigint, last_attempt text, created_at bigint, updated_at bigint, asked_at bigint,
  correlation_id text«, # ##», spec integer, keeps_payload boolean, payload_from integer, payload_bytes integer,
  life text, l_state text, l_fire_id uuid, l_revision bigint, l_execute_at bigint, l_attempts integer,
  l_last_attempt text, l_created_at bigint, l_finished_at bigint, l_lateness_ms bigint, l_reason text, l_ended_by text,
  l_correlation_id text«, l_# ##», l_spec integer, l_payload_from integer, l_payload_bytes integer,
  created bigint, rearmed bigint, replayed bigint, delivered bigint, cancelled bigint, replaced bigint, dead bigint,
  discarded bigint
);

-- A row of the index of words that a change adds or removes. `shard`, `place`, `group` and `uuid` identify the change.
CREATE TYPE word___HASH__ AS (
  shard integer, place integer, "group" text, uuid uuid, is_added boolean, namespace text, timer_id text, word text,
  state text, at bigint, fire_id uuid, revision bigint
);

-- Commits of several shards, with three groups of changes:
--   new_:    timers of unused keys in their first state. Each counts as one created.
--   ended_:  pending rows in an expected state that end with a life. Each counts as one of its state.
--   others:  all other changes, as JSON, each with its own tally.
-- Some columns of the first two groups (namespace, state, spec and similar) have one element if all values are the
-- same. unnest fills shorter arrays with NULL, which means that element.
--
-- The fence comes first. It also adds the tallies of all changes (eight per shard). The tallies of skipped changes, of
-- which there are nearly always none, are subtracted at the end.
--
-- `words` contains the changes of all groups to the index of words. The words of skipped changes stay unchanged.
--
-- `checks_keys`: skip new timers whose key has a pending timer. Without it such a key fails the whole call (23505),
-- which saves an index lookup for each new timer. The caller then sends the same call again with `checks_keys`.
--
-- `refused` contains the shards that nothing was written to. `stored` and `settled` are the keys (uuids) of the first
-- two groups whose changes were executed, or NULL if all were. `missed` contains the places of skipped others.
CREATE FUNCTION commit_changes___HASH__(
  fence_shards integer[], fence_epochs bigint[], fence_numbers bigint[], fence_tallies bigint[],
  specs_json json, the_payloads bytea,
  new_shards integer[], new_uuids uuid[], new_namespaces text[], new_timer_ids text[], new_fire_ids uuid[],
  new_execute_ats bigint[], new_created_ats bigint[], new_asked_ats bigint[], new_correlation_ids text[],
  new_specs integer[], new_payload_froms integer[], new_payload_bytes integer[],« new_# ##[],»
  ended_shards integer[], ended_uuids uuid[], ended_namespaces text[], ended_timer_ids text[], ended_fire_ids uuid[],
  ended_expected_attempts integer[], ended_expected_revisions bigint[], ended_expected_asked_ats bigint[],
  ended_states text[], ended_revisions bigint[], ended_execute_ats bigint[], ended_attempts integer[],
  ended_last_attempts text[], ended_created_ats bigint[], ended_finished_ats bigint[], ended_lateness_mss bigint[],
  ended_reasons text[], ended_endings text[], ended_correlation_ids text[], ended_specs integer[],
  ended_payload_froms integer[], ended_payload_bytes integer[],« ended_# ##[],»
  others json, words json, checks_keys boolean
) RETURNS TABLE (refused json, stored json, settled json, missed json)
LANGUAGE plpgsql AS $$
DECLARE
  the_specs text[] := ARRAY(SELECT json_array_elements_text(specs_json));
  held integer[];
  stored_rows integer;
  stored_keys uuid[];
  settled_keys uuid[];
  missed_places integer[];
  carried_words word___HASH__[];
BEGIN
  WITH fenced AS (
    UPDATE shards AS s SET
      last_write = f.number,
      created = s.created + fence_tallies[8 * f.place - 7], rearmed = s.rearmed + fence_tallies[8 * f.place - 6],
      replayed = s.replayed + fence_tallies[8 * f.place - 5], delivered = s.delivered + fence_tallies[8 * f.place - 4],
      cancelled = s.cancelled + fence_tallies[8 * f.place - 3], replaced = s.replaced + fence_tallies[8 * f.place - 2],
      dead = s.dead + fence_tallies[8 * f.place - 1], discarded = s.discarded + fence_tallies[8 * f.place]
    FROM unnest(fence_shards, fence_epochs, fence_numbers) WITH ORDINALITY AS f (shard, epoch, number, place)
    WHERE s.shard = f.shard AND s.epoch = f.epoch AND s.last_write < f.number
    RETURNING s.shard
  )
  SELECT coalesce(array_agg(shard), '{}') INTO held FROM fenced;

  IF cardinality(held) < cardinality(fence_shards) THEN
    SELECT json_object_agg(f.shard, CASE WHEN s.epoch = f.epoch THEN 'overtaken' ELSE 'ownershipLost' END) INTO refused
    FROM unnest(fence_shards, fence_epochs) AS f (shard, epoch) LEFT JOIN shards AS s USING (shard)
    WHERE f.shard <> ALL (held);
  END IF;

  IF new_shards IS NOT NULL THEN
    INSERT INTO timers (shard, uuid, namespace, timer_id, fire_at, fire_id, revision, execute_at, attempts,
      created_at, updated_at, asked_at, correlation_id«, #», spec, payload)
    SELECT n.shard, n.uuid, n.namespace, n.timer_id, n.execute_at, n.fire_id, n.created_at, n.execute_at, 0,
      n.created_at, n.created_at, n.asked_at, n.correlation_id«, n.#», the_specs[n.spec],
      substring(the_payloads FROM n.payload_from FOR n.payload_bytes)
    FROM (
      SELECT shard, uuid, coalesce(namespace, new_namespaces[1]) AS namespace, timer_id, fire_id, execute_at,
        coalesce(created_at, new_created_ats[1]) AS created_at, asked_at, correlation_id,
        coalesce(spec, new_specs[1]) AS spec, payload_from,
        coalesce(payload_bytes, new_payload_bytes[1]) AS payload_bytes«, #»
      FROM unnest(new_shards, new_uuids, new_namespaces, new_timer_ids, new_fire_ids, new_execute_ats,
        new_created_ats, new_asked_ats, new_correlation_ids, new_specs, new_payload_froms, new_payload_bytes«, new_#»)
        AS u (shard, uuid, namespace, timer_id, fire_id, execute_at, created_at, asked_at, correlation_id, spec,
          payload_from, payload_bytes«, #»)
    ) AS n
    WHERE (refused IS NULL OR n.shard = ANY (held))
      -- As a value instead of EXISTS, which a plan could execute by reading the whole table.
      AND (NOT checks_keys
        OR (SELECT true FROM timers AS t WHERE t.namespace = n.namespace AND t.timer_id = n.timer_id) IS NULL)
      AND NOT EXISTS (SELECT FROM history AS h WHERE h.namespace = n.namespace AND h.timer_id = n.timer_id);
    GET DIAGNOSTICS stored_rows = ROW_COUNT;
    IF stored_rows < cardinality(new_shards) THEN
      -- The timers that this transaction has inserted.
      SELECT coalesce(array_agg(t.uuid), '{}') INTO stored_keys
      FROM unnest(new_namespaces, new_timer_ids, new_fire_ids) AS n (namespace, timer_id, fire_id)
      JOIN timers AS t ON t.namespace = coalesce(n.namespace, new_namespaces[1]) AND t.timer_id = n.timer_id
        AND t.fire_id = n.fire_id
      WHERE t.xmin = pg_current_xact_id()::xid;
    END IF;
  END IF;

  IF ended_shards IS NOT NULL THEN
    WITH removed AS (
      DELETE FROM timers AS t
      USING (
        SELECT shard, uuid, coalesce(namespace, ended_namespaces[1]) AS namespace, timer_id, fire_id,
          coalesce(expected_attempts, ended_expected_attempts[1]) AS expected_attempts, expected_revision,
          expected_asked_at, coalesce(state, ended_states[1]) AS state, revision, execute_at,
          coalesce(attempts, ended_attempts[1]) AS attempts, last_attempt, created_at,
          coalesce(finished_at, ended_finished_ats[1]) AS finished_at, lateness_ms, reason, ended_by, correlation_id,
          coalesce(spec, ended_specs[1]) AS spec, payload_from, payload_bytes«, #»
        FROM unnest(ended_shards, ended_uuids, ended_namespaces, ended_timer_ids, ended_fire_ids,
            ended_expected_attempts, ended_expected_revisions, ended_expected_asked_ats, ended_states, ended_revisions,
            ended_execute_ats, ended_attempts, ended_last_attempts, ended_created_ats, ended_finished_ats,
            ended_lateness_mss, ended_reasons, ended_endings, ended_correlation_ids, ended_specs,
            ended_payload_froms, ended_payload_bytes«, ended_#»)
          AS u (shard, uuid, namespace, timer_id, fire_id, expected_attempts, expected_revision, expected_asked_at,
            state, revision, execute_at, attempts, last_attempt, created_at, finished_at, lateness_ms, reason, ended_by,
            correlation_id, spec, payload_from, payload_bytes«, #»)
      ) AS e
      WHERE t.namespace = e.namespace AND t.timer_id = e.timer_id AND t.fire_id = e.fire_id
        AND t.attempts = e.expected_attempts AND t.revision = e.expected_revision
        AND t.asked_at IS NOT DISTINCT FROM e.expected_asked_at
        AND (refused IS NULL OR e.shard = ANY (held))
      RETURNING e.*
    ),
    ended AS (
      INSERT INTO history (uuid, namespace, timer_id, state, fire_id, revision, execute_at, attempts, last_attempt,
        created_at, finished_at, lateness_ms, reason, ended_by, correlation_id«, #», spec, payload)
      SELECT uuid, namespace, timer_id, state, fire_id, revision, execute_at, attempts, last_attempt,
        created_at, finished_at, lateness_ms, reason, ended_by, correlation_id«, #», the_specs[spec],
        substring(the_payloads FROM payload_from FOR payload_bytes)
      FROM removed
    )
    SELECT coalesce(array_agg(uuid), '{}') INTO settled_keys FROM removed;
  END IF;

  IF others IS NOT NULL THEN
    missed_places := change_others___HASH__(held, the_specs, the_payloads, others);
    missed := to_json(missed_places);
  END IF;

  IF stored_keys IS NOT NULL THEN
    stored := to_json(stored_keys);
    UPDATE shards AS s SET created = s.created - m.armings
    FROM (
      SELECT shard, count(*) AS armings FROM unnest(new_shards, new_uuids) AS n (shard, uuid)
      WHERE shard = ANY (held) AND uuid <> ALL (stored_keys) GROUP BY shard
    ) AS m WHERE s.shard = m.shard;
  END IF;
  IF cardinality(settled_keys) < cardinality(ended_shards) THEN
    settled := to_json(settled_keys);
    UPDATE shards AS s SET delivered = s.delivered - m.were_delivered, cancelled = s.cancelled - m.were_cancelled,
      dead = s.dead - m.are_dead
    FROM (
      SELECT shard, count(*) FILTER (WHERE state = 'delivered') AS were_delivered,
        count(*) FILTER (WHERE state = 'cancelled') AS were_cancelled, count(*) FILTER (WHERE state = 'dead') AS are_dead
      FROM (
        SELECT shard, coalesce(state, ended_states[1]) AS state, uuid
        FROM unnest(ended_shards, ended_states, ended_uuids) AS u (shard, state, uuid)
      ) AS e
      WHERE shard = ANY (held) AND uuid <> ALL (settled_keys) GROUP BY shard
    ) AS m WHERE s.shard = m.shard;
  END IF;

  IF words IS NOT NULL THEN
    carried_words := ARRAY(
      SELECT w FROM json_populate_recordset(NULL::word___HASH__, words) AS w
      WHERE (refused IS NULL OR w.shard = ANY (held)) AND CASE w."group"
        WHEN 'new' THEN stored IS NULL OR w.uuid = ANY (stored_keys)
        WHEN 'ended' THEN settled IS NULL OR w.uuid = ANY (settled_keys)
        ELSE w.place <> ALL (missed_places) END
    );
    PERFORM change_words___HASH__(carried_words);
  END IF;
  RETURN NEXT;
END $$;

CREATE FUNCTION change_words___HASH__(carried word___HASH__[])
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM lookups AS l USING unnest(carried) AS w
  WHERE NOT w.is_added AND l.namespace = w.namespace AND l.word = w.word AND l.state = w.state AND l.at = w.at
    AND l.fire_id = w.fire_id;
  INSERT INTO lookups (namespace, word, state, at, fire_id, timer_id, revision)
  SELECT namespace, word, state, at, fire_id, timer_id, revision FROM unnest(carried) WHERE is_added
  ON CONFLICT (namespace, word, state, at, fire_id) DO UPDATE SET revision = excluded.revision;
END $$;

-- Changes of any kind, to shards whose rows the caller's transaction has locked. Returns the places of the skipped
-- ones, and subtracts their tallies.
CREATE FUNCTION change_others___HASH__(held integer[], the_specs text[], the_payloads bytea, the_changes json)
RETURNS integer[]
LANGUAGE plpgsql AS $$
DECLARE
  asked change___HASH__[] := ARRAY(
    SELECT c FROM json_populate_recordset(NULL::change___HASH__, the_changes) AS c WHERE c.shard = ANY (held)
  );
  done change___HASH__[];
  missed change___HASH__[];
BEGIN
  -- Pruning does not wait for locks, and skips locked lives.
  PERFORM FROM unnest(asked) AS c JOIN history AS h
    ON h.namespace = c.namespace AND h.timer_id = c.timer_id AND h.revision >= c.e_life_revision
      AND h.fire_id = c.e_life_fire_id
  WHERE c.e_life_state IS NOT NULL FOR UPDATE OF h;

  done := ARRAY(
    SELECT c FROM unnest(asked) AS c
    LEFT JOIN timers AS t ON t.namespace = c.namespace AND t.timer_id = c.timer_id
    WHERE CASE c.e_pending
        WHEN 'none' THEN t.fire_id IS NULL
        WHEN 'same' THEN t.fire_id = c.e_fire_id AND t.attempts = c.e_attempts AND t.revision = c.e_revision
          AND t.asked_at IS NOT DISTINCT FROM c.e_asked_at
        ELSE true END
      AND (c.checks_last IS NOT TRUE OR c.e_last_fire_id IS NOT DISTINCT FROM (
        SELECT h.fire_id FROM history AS h WHERE h.namespace = c.namespace AND h.timer_id = c.timer_id
        ORDER BY h.revision DESC LIMIT 1))
      AND (c.e_life_fire_id IS NULL OR c.e_life_state IS NOT DISTINCT FROM (
        SELECT h.state FROM history AS h WHERE h.namespace = c.namespace AND h.timer_id = c.timer_id
          AND h.revision >= c.e_life_revision AND h.fire_id = c.e_life_fire_id ORDER BY h.revision LIMIT 1))
  );

  DELETE FROM timers AS t USING unnest(done) AS c
  WHERE c.pending = 'remove' AND t.namespace = c.namespace AND t.timer_id = c.timer_id;

  UPDATE timers AS t SET fire_at = c.fire_at, fire_id = c.fire_id, revision = c.revision, execute_at = c.execute_at,
    attempts = c.attempts, first_attempt_at = c.first_attempt_at, last_attempt = c.last_attempt,
    created_at = c.created_at, updated_at = c.updated_at, asked_at = c.asked_at, correlation_id = c.correlation_id«, # = c.#»,
    spec = CASE WHEN c.spec IS NULL THEN t.spec ELSE the_specs[c.spec] END,
    payload = CASE WHEN c.keeps_payload THEN t.payload
      ELSE substring(the_payloads FROM c.payload_from FOR c.payload_bytes) END
  FROM unnest(done) AS c
  WHERE c.pending = 'update' AND t.namespace = c.namespace AND t.timer_id = c.timer_id;

  INSERT INTO timers (shard, uuid, namespace, timer_id, fire_at, fire_id, revision, execute_at, attempts,
    first_attempt_at, last_attempt, created_at, updated_at, asked_at, correlation_id«, #», spec, payload)
  SELECT shard, uuid, namespace, timer_id, fire_at, fire_id, revision, execute_at, attempts, first_attempt_at,
    last_attempt, created_at, updated_at, asked_at, correlation_id«, #», the_specs[spec],
    substring(the_payloads FROM payload_from FOR payload_bytes)
  FROM unnest(done) WHERE pending = 'insert';

  DELETE FROM history AS h USING unnest(done) AS c
  WHERE c.life = 'remove' AND h.namespace = c.namespace AND h.timer_id = c.timer_id
    AND h.revision >= c.e_life_revision AND h.fire_id = c.e_life_fire_id;

  -- A corrected life keeps its id, so that it keeps its position among lives of the same instant.
  UPDATE history AS h SET state = c.l_state, revision = c.l_revision, execute_at = c.l_execute_at,
    attempts = c.l_attempts, last_attempt = c.l_last_attempt, created_at = c.l_created_at,
    finished_at = c.l_finished_at, lateness_ms = c.l_lateness_ms, reason = c.l_reason, ended_by = c.l_ended_by,
    correlation_id = c.l_correlation_id«, # = c.l_#», spec = the_specs[c.l_spec],
    payload = substring(the_payloads FROM c.l_payload_from FOR c.l_payload_bytes)
  FROM unnest(done) AS c
  WHERE c.life = 'correct' AND h.namespace = c.namespace AND h.timer_id = c.timer_id
    AND h.revision >= c.e_life_revision AND h.fire_id = c.e_life_fire_id;

  -- In the given order, so that their ids order lives of the same instant.
  INSERT INTO history (uuid, namespace, timer_id, state, fire_id, revision, execute_at, attempts, last_attempt,
    created_at, finished_at, lateness_ms, reason, ended_by, correlation_id«, #», spec, payload)
  SELECT uuid, namespace, timer_id, l_state, l_fire_id, l_revision, l_execute_at, l_attempts, l_last_attempt,
    l_created_at, l_finished_at, l_lateness_ms, l_reason, l_ended_by, l_correlation_id«, l_#», the_specs[l_spec],
    substring(the_payloads FROM l_payload_from FOR l_payload_bytes)
  FROM unnest(done) WHERE life = 'add' ORDER BY place;

  IF cardinality(done) = cardinality(asked) THEN RETURN '{}'; END IF;
  missed := ARRAY(SELECT c FROM unnest(asked) AS c WHERE c.place NOT IN (SELECT d.place FROM unnest(done) AS d));
  UPDATE shards AS s SET created = s.created - m.created, rearmed = s.rearmed - m.rearmed,
    replayed = s.replayed - m.replayed, delivered = s.delivered - m.delivered, cancelled = s.cancelled - m.cancelled,
    replaced = s.replaced - m.replaced, dead = s.dead - m.dead, discarded = s.discarded - m.discarded
  FROM (
    SELECT shard, sum(created) AS created, sum(rearmed) AS rearmed, sum(replayed) AS replayed,
      sum(delivered) AS delivered, sum(cancelled) AS cancelled, sum(replaced) AS replaced, sum(dead) AS dead,
      sum(discarded) AS discarded
    FROM unnest(missed) GROUP BY shard
  ) AS m WHERE s.shard = m.shard;
  RETURN ARRAY(SELECT c.place FROM unnest(missed) AS c);
END $$;

-- Inserts timers of unused keys, no matter which node owns the shard. The shard's row is locked too, so that the
-- owner's commits come before or after this. The owner's next renewal sees the increased counter. Returns the keys
-- (uuids) that were stored.
CREATE FUNCTION insert_new___HASH__(the_shard integer, specs_json json, the_payloads bytea, the_timers json,
  words json)
RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  the_specs text[] := ARRAY(SELECT json_array_elements_text(specs_json));
  stored_keys uuid[];
BEGIN
  PERFORM FROM shards WHERE shard = the_shard FOR NO KEY UPDATE;
  WITH inserted AS (
    INSERT INTO timers (shard, uuid, namespace, timer_id, fire_at, fire_id, revision, execute_at, attempts,
      first_attempt_at, last_attempt, created_at, updated_at, asked_at, correlation_id«, #», spec, payload)
    SELECT the_shard, uuid, namespace, timer_id, fire_at, fire_id, revision, execute_at, attempts, first_attempt_at,
      last_attempt, created_at, updated_at, asked_at, correlation_id«, #», the_specs[spec],
      substring(the_payloads FROM payload_from FOR payload_bytes)
    FROM json_populate_recordset(NULL::change___HASH__, the_timers) AS n
    WHERE NOT EXISTS (SELECT FROM history AS h WHERE h.namespace = n.namespace AND h.timer_id = n.timer_id)
    ON CONFLICT (namespace, timer_id) DO NOTHING
    RETURNING uuid
  )
  SELECT coalesce(array_agg(uuid), '{}') INTO stored_keys FROM inserted;
  IF cardinality(stored_keys) > 0 THEN
    UPDATE shards SET created = created + cardinality(stored_keys), foreign_writes = foreign_writes + 1
    WHERE shard = the_shard;
  END IF;
  IF words IS NOT NULL THEN
    PERFORM change_words___HASH__(ARRAY(
      SELECT w FROM json_populate_recordset(NULL::word___HASH__, words) AS w WHERE w.uuid = ANY (stored_keys)
    ));
  END IF;
  RETURN to_json(stored_keys);
END $$;

-- The fence is locked first: a claim waits for a running commit, and the next commit waits for the claim. The commit
-- numbers of a new owner start again.
CREATE FUNCTION claim_shard___HASH__(the_shard integer, expected_epoch bigint, expected_counter bigint, the_node text)
RETURNS SETOF leases
LANGUAGE plpgsql AS $$
DECLARE
  claimed leases;
BEGIN
  -- A claim that cannot succeed does not wait for the lock.
  PERFORM FROM leases WHERE shard = the_shard AND epoch = expected_epoch AND counter = expected_counter;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM FROM shards WHERE shard = the_shard FOR NO KEY UPDATE;
  UPDATE leases SET epoch = epoch + 1, counter = counter + 1, node = the_node
  WHERE shard = the_shard AND epoch = expected_epoch AND counter = expected_counter
  RETURNING * INTO claimed;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE shards SET epoch = claimed.epoch, last_write = 0 WHERE shard = the_shard;
  RETURN NEXT claimed;
END $$;
