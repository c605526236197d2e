-- A call that its client gave up may lie in a socket's buffer and be carried out seconds later, after the owner has
-- repeated it and others have changed its keys. So the owner of a shard numbers its calls, and the fence remembers the
-- last number that was taken under its epoch: none at or below it is taken again. The row is the fence's own, locked
-- by every write anyway; no index has the column, and the row's page has room, so that it is changed in place.
ALTER TABLE shards ADD COLUMN last_write bigint NOT NULL DEFAULT 0;

-- Of shards whose fences the caller's transaction holds, those whose call is the newest so far: it is noted.
CREATE FUNCTION take_numbers(held integer[], the_shards integer[], the_numbers bigint[]) RETURNS integer[]
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  taken integer[];
BEGIN
  WITH numbered AS (
    UPDATE shards AS s SET last_write = asked.number
    FROM unnest(the_shards, the_numbers) AS asked (shard, number)
    WHERE s.shard = asked.shard AND asked.shard = ANY (held) AND asked.number > s.last_write
    RETURNING s.shard
  )
  SELECT coalesce(array_agg(shard), '{}') INTO taken FROM numbered;
  RETURN taken;
END $$;

-- One write, as before, and under the numbers of its shards' calls. Of a shard that is not under its epoch any more,
-- or whose call comes after a newer one, nothing is written, and it is answered under the place -1 - shard. The function
-- without numbers stays, for nodes of the release before as long as they run.
CREATE FUNCTION write_items(the_shards integer[], the_epochs bigint[], the_numbers bigint[], waves integer,
  has_records boolean, the_items json, the_specs text[], the_payloads bytea)
RETURNS TABLE (place integer, ruling text, revision bigint, created_at bigint, told json, payload bytea)
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
  held integer[] := lock_fences(the_shards, the_epochs);
  taken integer[] := take_numbers(held, the_shards, the_numbers);
BEGIN
  FOR wave IN 1 .. waves LOOP
    RETURN QUERY SELECT * FROM apply_wave(wave, taken, the_items, the_specs, the_payloads);
    IF has_records THEN
      RETURN QUERY SELECT * FROM record_lives(wave, taken, the_items, the_specs, the_payloads);
    END IF;
  END LOOP;
  RETURN QUERY
  SELECT -1 - shard, CASE WHEN shard = ANY (held) THEN 'overtaken' ELSE 'ownershipLost' END,
    NULL::bigint, NULL::bigint, NULL::json, NULL::bytea
  FROM unnest(the_shards) AS shard WHERE shard <> ALL (taken);
END $$;

-- Puts of keys that were never used, whoever owns the shard: it has no number, so that a late call is told by what
-- has become of its key meanwhile. Whatever was there has left a life behind, and the next one is for an owner to begin.
CREATE OR REPLACE FUNCTION insert_if_absent(the_shard integer, waves integer, the_items json, the_specs text[],
  the_payloads bytea)
RETURNS TABLE (place integer, ruling text, revision bigint, created_at bigint, told json, payload bytea)
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
  held integer[] := lock_fences(ARRAY[the_shard], NULL);
  created_before bigint := (SELECT created FROM shards WHERE shard = the_shard);
  refused integer[];
  rest json := the_items;
BEGIN
  SELECT array_agg(i.place) INTO refused
  FROM json_to_recordset(the_items) AS i (
    place integer, namespace text, timer_id text, fire_id uuid, execute_at bigint, created_at bigint, is_repeat boolean
  )
  CROSS JOIN LATERAL (
    SELECT h.fire_id, h.execute_at FROM history AS h
    WHERE h.namespace = i.namespace AND h.timer_id = i.timer_id
    ORDER BY h.revision DESC LIMIT 1
  ) AS l
  -- What is told of these without another life being begun, the wave tells.
  WHERE i.is_repeat IS NOT TRUE AND l.fire_id <> i.fire_id
    AND NOT (i.execute_at <= i.created_at AND l.execute_at = i.execute_at)
    AND NOT EXISTS (SELECT FROM timers AS p WHERE p.namespace = i.namespace AND p.timer_id = i.timer_id);
  IF refused IS NOT NULL THEN
    RETURN QUERY
    SELECT r.place, 'livedBefore', NULL::bigint, NULL::bigint, NULL::json, NULL::bytea
    FROM unnest(refused) AS r (place);
    rest := (SELECT coalesce(json_agg(item), '[]') FROM json_array_elements(the_items) AS item
      WHERE (item ->> 'place')::integer <> ALL (refused));
  END IF;
  FOR wave IN 1 .. waves LOOP
    RETURN QUERY SELECT * FROM apply_wave(wave, held, rest, the_specs, the_payloads);
  END LOOP;
  UPDATE shards SET foreign_writes = foreign_writes + 1 WHERE shard = the_shard AND created > created_before;
END $$;

-- As before; the numbers of a new owner begin anew.
CREATE OR REPLACE FUNCTION claim_shard(the_shard integer, expected_epoch bigint, expected_counter bigint, the_node text)
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
  UPDATE shards SET epoch = claimed.epoch, last_write = 0 WHERE shard = the_shard;
  RETURN NEXT claimed;
END $$;
