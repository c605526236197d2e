-- Words by which timers and lives are found: t: and a tag, c: and a correlation id that the caller gave. A row is of the
-- pending timer or of the life that has this fireId; `at` is its fire_at or finished_at.
CREATE TABLE lookups (
  namespace TEXT    NOT NULL,
  word      TEXT    NOT NULL,
  state     TEXT    NOT NULL,
  at        INTEGER NOT NULL,
  fire_id   BLOB    NOT NULL CHECK (length(fire_id) = 16),
  timer_id  TEXT    NOT NULL,
  revision  INTEGER NOT NULL,
  PRIMARY KEY (namespace, word, state, at, fire_id)
) STRICT, WITHOUT ROWID;

-- What pruning walks, oldest first.
CREATE INDEX lookups_prunable ON lookups (at) WHERE state IN ('delivered', 'cancelled');

-- Ids of this form are nearly always the service's own, which are no words. Others were given by callers.
INSERT INTO lookups (namespace, word, state, at, fire_id, timer_id, revision)
SELECT namespace, 'c:' || correlation_id, 'pending', fire_at, fire_id, timer_id, revision FROM timers
WHERE correlation_id NOT GLOB '????????-????-[78]???-????-????????????' AND length(correlation_id) <= 255;

INSERT INTO lookups (namespace, word, state, at, fire_id, timer_id, revision)
SELECT namespace, 'c:' || correlation_id, state, finished_at, fire_id, timer_id, revision FROM history
WHERE correlation_id NOT GLOB '????????-????-[78]???-????-????????????' AND length(correlation_id) <= 255;

INSERT INTO lookups (namespace, word, state, at, fire_id, timer_id, revision)
SELECT namespace, 'c:' || correlation_id, 'dead', finished_at, fire_id, timer_id, revision FROM dead
WHERE correlation_id NOT GLOB '????????-????-[78]???-????-????????????' AND length(correlation_id) <= 255;
