-- Words by which timers and lives are found: t: and a tag, c: and a correlation id that the caller gave. A row is of the
-- pending timer or of the life that has this fireId; `at` is its fire_at or finished_at.
CREATE TABLE lookups (
  at        bigint NOT NULL,
  revision  bigint NOT NULL,
  fire_id   uuid   NOT NULL,
  namespace text   COLLATE "C" NOT NULL,
  word      text   COLLATE "C" NOT NULL,
  state     text   COLLATE "C" NOT NULL,
  timer_id  text   COLLATE "C" NOT NULL,
  PRIMARY KEY (namespace, word, state, at, fire_id)
);

-- What pruning walks, oldest first.
CREATE INDEX lookups_prunable ON lookups (at) WHERE state IN ('delivered', 'cancelled');

-- Words come and go with their timers: see the table of timers.
ALTER TABLE lookups SET (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 50000,
  autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 20000,
  autovacuum_vacuum_cost_delay = 0
);

-- Ids of this form are nearly always the service's own, which are no words. Others were given by callers.
INSERT INTO lookups (namespace, word, state, at, fire_id, timer_id, revision)
SELECT namespace, 'c:' || correlation_id, 'pending', fire_at, fire_id, timer_id, revision FROM timers
WHERE correlation_id !~ '^.{8}-.{4}-[78].{3}-.{4}-.{12}$' AND length(correlation_id) <= 255;

INSERT INTO lookups (namespace, word, state, at, fire_id, timer_id, revision)
SELECT namespace, 'c:' || correlation_id, state, finished_at, fire_id, timer_id, revision FROM history
WHERE correlation_id !~ '^.{8}-.{4}-[78].{3}-.{4}-.{12}$' AND length(correlation_id) <= 255;
