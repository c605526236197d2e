-- Times are epoch milliseconds (UTC), uuids and fireIds 16 bytes. The views at the end render both.

-- One row for each pending timer: what retries and moves rewrite. Indexes are kept few and narrow,
-- because every create and every delivery pays for each of them.
CREATE TABLE timers (
  id               INTEGER PRIMARY KEY,
  shard            INTEGER NOT NULL,
  uuid             BLOB    NOT NULL CHECK (length(uuid) = 16),
  namespace        TEXT    NOT NULL,
  timer_id         TEXT    NOT NULL,
  fire_at          INTEGER NOT NULL,
  fire_id          BLOB    NOT NULL CHECK (length(fire_id) = 16),
  revision         INTEGER NOT NULL,
  execute_at       INTEGER NOT NULL,
  attempts         INTEGER NOT NULL,
  first_attempt_at INTEGER,
  last_attempt     TEXT,
  created_at       INTEGER NOT NULL,
  updated_at       INTEGER NOT NULL,
  correlation_id   TEXT    NOT NULL
) STRICT;

-- The key look-up, and the walk by id prefix (BINARY: bytewise).
CREATE UNIQUE INDEX timers_by_key ON timers (namespace, timer_id);

-- Due reads of a shard. The namespace is in it so that exclusions need not touch the table.
CREATE INDEX timers_by_due ON timers (shard, fire_at, uuid, namespace);

-- Due reads of one namespace, and its lists.
CREATE INDEX timers_by_namespace ON timers (namespace, fire_at, uuid, shard);

-- What stays the same over all attempts of an arming, under the id of its timer.
CREATE TABLE bodies (
  id      INTEGER PRIMARY KEY,
  spec    TEXT NOT NULL,
  payload BLOB
) STRICT;

-- Lives that ended, but for the dead ones. Its ids rise as lives end, and pruning goes by them.
CREATE TABLE history (
  id             INTEGER PRIMARY KEY,
  uuid           BLOB    NOT NULL,
  namespace      TEXT    NOT NULL,
  timer_id       TEXT    NOT NULL,
  state          TEXT    NOT NULL CHECK (state IN ('delivered', 'cancelled')),
  fire_id        BLOB    NOT NULL CHECK (length(fire_id) = 16),
  revision       INTEGER NOT NULL,
  execute_at     INTEGER NOT NULL,
  attempts       INTEGER NOT NULL,
  last_attempt   TEXT,
  created_at     INTEGER NOT NULL,
  finished_at    INTEGER NOT NULL,
  lateness_ms    INTEGER,
  ended_by       TEXT,
  correlation_id TEXT    NOT NULL,
  spec           TEXT    NOT NULL
) STRICT;

-- Revisions grow over the lives of a key, so the last life is the one with the highest.
CREATE INDEX history_by_key ON history (namespace, timer_id, revision);
CREATE INDEX history_by_end ON history (namespace, state, finished_at, id);

-- Dead letters keep their payload, and stay until they are replayed or discarded.
CREATE TABLE dead (
  id             INTEGER PRIMARY KEY,
  uuid           BLOB    NOT NULL,
  namespace      TEXT    NOT NULL,
  timer_id       TEXT    NOT NULL,
  fire_id        BLOB    NOT NULL CHECK (length(fire_id) = 16),
  revision       INTEGER NOT NULL,
  execute_at     INTEGER NOT NULL,
  attempts       INTEGER NOT NULL,
  last_attempt   TEXT,
  created_at     INTEGER NOT NULL,
  finished_at    INTEGER NOT NULL,
  lateness_ms    INTEGER,
  reason         TEXT,
  ended_by       TEXT,
  correlation_id TEXT    NOT NULL,
  spec           TEXT    NOT NULL,
  payload        BLOB
) STRICT;

CREATE INDEX dead_by_key ON dead (namespace, timer_id, revision);
CREATE INDEX dead_by_end ON dead (namespace, finished_at, id);

-- Who fires a shard. The number of rows is the store's shard count, fixed when it is created.
CREATE TABLE shards (
  shard          INTEGER PRIMARY KEY,
  epoch          INTEGER NOT NULL DEFAULT 0,
  counter        INTEGER NOT NULL DEFAULT 0,
  foreign_writes INTEGER NOT NULL DEFAULT 0,
  node           TEXT
) STRICT;

-- Armings by how they began and how they ended, by shard.
CREATE TABLE tally (
  shard     INTEGER PRIMARY KEY,
  created   INTEGER NOT NULL DEFAULT 0,
  rearmed   INTEGER NOT NULL DEFAULT 0,
  replayed  INTEGER NOT NULL DEFAULT 0,
  delivered INTEGER NOT NULL DEFAULT 0,
  cancelled INTEGER NOT NULL DEFAULT 0,
  replaced  INTEGER NOT NULL DEFAULT 0,
  dead      INTEGER NOT NULL DEFAULT 0,
  discarded INTEGER NOT NULL DEFAULT 0
) STRICT;

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
       correlation_id,
       spec,
       CAST(payload AS TEXT)                                            AS payload
FROM timers JOIN bodies USING (id);

CREATE VIEW history_readable AS
SELECT namespace,
       timer_id,
       state,
       strftime('%Y-%m-%dT%H:%M:%fZ', finished_at / 1000.0, 'unixepoch') AS finished_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', execute_at / 1000.0, 'unixepoch')  AS execute_at,
       lateness_ms,
       attempts,
       last_attempt,
       revision,
       lower(hex(fire_id))                                               AS fire_id,
       correlation_id,
       spec
FROM history;

CREATE VIEW dead_readable AS
SELECT namespace,
       timer_id,
       reason,
       strftime('%Y-%m-%dT%H:%M:%fZ', finished_at / 1000.0, 'unixepoch') AS finished_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', execute_at / 1000.0, 'unixepoch')  AS execute_at,
       attempts,
       last_attempt,
       revision,
       lower(hex(fire_id))                                               AS fire_id,
       correlation_id,
       spec,
       CAST(payload AS TEXT)                                             AS payload
FROM dead;
