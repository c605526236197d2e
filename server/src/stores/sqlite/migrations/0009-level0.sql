-- The orders of pending timers become tables of their own, because entries are written into them later than the timers,
-- sorted and many at a time (stores/sqlite/level0). Until then the journal has them, one row for each commit.
CREATE TABLE timer_keys (
  namespace TEXT    NOT NULL,
  timer_id  TEXT    NOT NULL,
  id        INTEGER NOT NULL,
  PRIMARY KEY (namespace, timer_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE timer_dues (
  shard     INTEGER NOT NULL,
  fire_at   INTEGER NOT NULL,
  fire_id   BLOB    NOT NULL,
  id        INTEGER NOT NULL,
  namespace TEXT    NOT NULL,
  PRIMARY KEY (shard, fire_at, fire_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE timer_times (
  namespace TEXT    NOT NULL,
  fire_at   INTEGER NOT NULL,
  fire_id   BLOB    NOT NULL,
  id        INTEGER NOT NULL,
  shard     INTEGER NOT NULL,
  PRIMARY KEY (namespace, fire_at, fire_id, id)
) STRICT, WITHOUT ROWID;

-- migrateSchema.ts executes a copy of this form in slices, each after the last key of the new table.
INSERT INTO timer_keys (namespace, timer_id, id)
SELECT namespace, timer_id, id FROM timers INDEXED BY timers_by_key ORDER BY namespace, timer_id;

INSERT INTO timer_dues (shard, fire_at, fire_id, id, namespace)
SELECT shard, fire_at, fire_id, id, namespace FROM timers INDEXED BY timers_by_due ORDER BY shard, fire_at, fire_id, id;

INSERT INTO timer_times (namespace, fire_at, fire_id, id, shard)
SELECT namespace, fire_at, fire_id, id, shard FROM timers INDEXED BY timers_by_namespace
ORDER BY namespace, fire_at, fire_id, id;

DROP INDEX timers_by_key;
DROP INDEX timers_by_due;
DROP INDEX timers_by_namespace;

CREATE TABLE journal (
  seq     INTEGER PRIMARY KEY,
  entries TEXT NOT NULL
) STRICT;

-- What the journal has up to merged_seq is in the tables. What it has up to frozen_seq is on its way into them.
CREATE TABLE level0 (
  one        INTEGER PRIMARY KEY CHECK (one = 1),
  frozen_seq INTEGER NOT NULL,
  merged_seq INTEGER NOT NULL
) STRICT;

INSERT INTO level0 (one, frozen_seq, merged_seq) VALUES (1, 0, 0);
