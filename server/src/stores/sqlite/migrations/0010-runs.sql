-- The places of new timers may wait in runs: sorted entries of one merged layer, which are appended, so that they share
-- pages however large the orders are (stores/sqlite/level0/Runs.ts). Each entry is in a run or in the orders, never in both.
CREATE TABLE run_keys (
  run       INTEGER NOT NULL,
  namespace TEXT    NOT NULL,
  timer_id  TEXT    NOT NULL,
  id        INTEGER NOT NULL,
  PRIMARY KEY (run, namespace, timer_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_dues (
  run       INTEGER NOT NULL,
  shard     INTEGER NOT NULL,
  fire_at   INTEGER NOT NULL,
  fire_id   BLOB    NOT NULL,
  id        INTEGER NOT NULL,
  namespace TEXT    NOT NULL,
  PRIMARY KEY (run, shard, fire_at, fire_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_times (
  run       INTEGER NOT NULL,
  namespace TEXT    NOT NULL,
  fire_at   INTEGER NOT NULL,
  fire_id   BLOB    NOT NULL,
  id        INTEGER NOT NULL,
  shard     INTEGER NOT NULL,
  PRIMARY KEY (run, namespace, fire_at, fire_id, id)
) STRICT, WITHOUT ROWID;

-- How many timers a run has got, and the filter of their keys (level0/KeyFilter.ts).
CREATE TABLE runs (
  run    INTEGER PRIMARY KEY,
  timers INTEGER NOT NULL,
  filter BLOB    NOT NULL
) STRICT;

-- A process of an earlier version that still has the file open does not know the runs. It must not go on: its next statement
-- finds no table of this name.
ALTER TABLE level0 RENAME TO merging;

-- The runs in use are first_run to last_run. If frozen_to_run is 1, the merge that is under way writes run last_run + 1.
ALTER TABLE merging ADD COLUMN first_run INTEGER NOT NULL DEFAULT 1;
ALTER TABLE merging ADD COLUMN last_run INTEGER NOT NULL DEFAULT 0;
ALTER TABLE merging ADD COLUMN frozen_to_run INTEGER NOT NULL DEFAULT 0;

-- About how many timers are in the orders and in the runs: it decides when there are runs. After a migration in the middle of
-- a merge it is wrong by a part of a layer.
ALTER TABLE merging ADD COLUMN merged_timers INTEGER NOT NULL DEFAULT 0;
UPDATE merging SET merged_timers = (SELECT count(*) FROM timer_keys);
