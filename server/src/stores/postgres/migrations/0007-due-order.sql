-- Timers that are due in the same instant come in the order in which they were armed, which their fireIds have.
DROP INDEX timers_by_due;
CREATE INDEX timers_by_due ON timers (shard, fire_at, fire_id) INCLUDE (namespace);

DROP INDEX timers_by_namespace;
CREATE INDEX timers_by_namespace ON timers (namespace COLLATE "POSIX", fire_at, fire_id) INCLUDE (shard);
