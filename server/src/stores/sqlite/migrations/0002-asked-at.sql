-- When the sender of the command that last set the due time sent it, by its own clock; NULL if the due time was
-- not set over the bus. A command that was sent before it, and comes after it, does not move the timer.
ALTER TABLE timers ADD COLUMN asked_at INTEGER;

DROP VIEW timers_readable;

CREATE VIEW timers_readable AS
SELECT namespace,
       timer_id,
       strftime('%Y-%m-%dT%H:%M:%fZ', fire_at / 1000.0, 'unixepoch')    AS fire_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', execute_at / 1000.0, 'unixepoch') AS execute_at,
       attempts,
       last_attempt,
       revision,
       lower(hex(fire_id))                                              AS fire_id,
       lower(hex(uuid))                                                 AS uuid,
       shard,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', updated_at / 1000.0, 'unixepoch') AS updated_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', asked_at / 1000.0, 'unixepoch')   AS asked_at,
       correlation_id,
       spec,
       CAST(payload AS TEXT)                                            AS payload
FROM timers JOIN bodies USING (id);
