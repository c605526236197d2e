-- Timers that are due in the same instant come in the order in which they were armed, which their fireIds have.
DROP INDEX timers_by_due;
CREATE INDEX timers_by_due ON timers (shard, fire_at, fire_id, namespace);

DROP INDEX timers_by_namespace;
CREATE INDEX timers_by_namespace ON timers (namespace, fire_at, fire_id, shard);
