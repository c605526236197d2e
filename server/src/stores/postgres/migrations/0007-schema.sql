-- The schema as of version 7. Stores of earlier versions were never released.
--
-- Times are epoch milliseconds (UTC), texts are ordered bytewise (COLLATE "C"), and uuids by their 16 bytes: the
-- engine's order. The views at the end render the times for people.

-- One row for each pending timer. Indexes are kept few and narrow, because every create and every delivery pays
-- for each of them. Values of two kilobytes and more lie out of line, and a retry does not rewrite them.
CREATE TABLE timers (
  fire_at          bigint  NOT NULL,
  execute_at       bigint  NOT NULL,
  revision         bigint  NOT NULL,
  created_at       bigint  NOT NULL,
  updated_at       bigint  NOT NULL,
  first_attempt_at bigint,
  -- When the sender of the command that last set the due time sent it, by its own clock; NULL if the due time
  -- was not set over the bus. A command that was sent before it, and comes after it, does not move the timer.
  asked_at         bigint,
  shard            integer NOT NULL,
  attempts         integer NOT NULL,
  uuid             uuid    NOT NULL,
  fire_id          uuid    NOT NULL,
  namespace        text    COLLATE "C" NOT NULL,
  timer_id         text    COLLATE "C" NOT NULL,
  correlation_id   text    COLLATE "C" NOT NULL,
  -- The log of the arming's latest attempts, as JSON: an array, or the last attempt alone.
  last_attempt     text,
  spec             text    NOT NULL,
  payload          bytea,
  -- The key look-up, and the walk by id prefix.
  PRIMARY KEY (namespace, timer_id)
);

-- Payloads are not compressed: it costs more time than it saves space.
ALTER TABLE timers ALTER COLUMN payload SET STORAGE EXTERNAL;

-- Due reads of a shard. The namespace is in it so that exclusions need not touch the table.
CREATE INDEX timers_by_due ON timers (shard, fire_at, fire_id) INCLUDE (namespace);

-- Lists of a namespace; with the shard in it, its due reads too. POSIX is the same order as C by another name, so
-- that only the queries that ask by that name can go by this index: else a plan that was made while the table was
-- empty, when all indexes cost the same, may look keys up by it, and keep doing so as the table fills.
CREATE INDEX timers_by_namespace ON timers (namespace COLLATE "POSIX", fire_at, fire_id) INCLUDE (shard);

-- Lives that ended. Dead letters keep their payload, and stay until they are replayed or discarded.
CREATE TABLE history (
  id             bigint  GENERATED ALWAYS AS IDENTITY,
  finished_at    bigint  NOT NULL,
  execute_at     bigint  NOT NULL,
  revision       bigint  NOT NULL,
  created_at     bigint  NOT NULL,
  lateness_ms    bigint,
  attempts       integer NOT NULL,
  uuid           uuid    NOT NULL,
  fire_id        uuid    NOT NULL,
  namespace      text    COLLATE "C" NOT NULL,
  timer_id       text    COLLATE "C" NOT NULL,
  state          text    COLLATE "C" NOT NULL CHECK (state IN ('delivered', 'cancelled', 'dead')),
  correlation_id text    COLLATE "C" NOT NULL,
  ended_by       text,
  reason         text,
  last_attempt   text,
  spec           text    NOT NULL,
  payload        bytea,
  -- Lists by end. The id, which tells lives of one instant apart, makes it unique.
  PRIMARY KEY (namespace, state, finished_at, id)
);

ALTER TABLE history ALTER COLUMN payload SET STORAGE EXTERNAL;

-- Revisions grow over the lives of a key, so the last life is the one with the highest.
CREATE INDEX history_by_key ON history (namespace, timer_id, revision);

-- What pruning walks, oldest first, without stepping over dead letters.
CREATE INDEX history_prunable ON history (finished_at) WHERE state <> 'dead';

-- The fence of a shard, and what its commits count: the armings by how they began and how they ended. Whoever
-- writes a shard holds the lock of its row, and a claim waits for it. The number of rows is the store's shard
-- count, fixed when it is created. `last_write` is the number of the last commit that was accepted under the epoch: a
-- commit that its client gave up may lie in a socket's buffer for seconds, and must not be carried out after a later one.
CREATE TABLE shards (
  shard          integer PRIMARY KEY,
  epoch          bigint  NOT NULL DEFAULT 0,
  foreign_writes bigint  NOT NULL DEFAULT 0,
  created        bigint  NOT NULL DEFAULT 0,
  rearmed        bigint  NOT NULL DEFAULT 0,
  replayed       bigint  NOT NULL DEFAULT 0,
  delivered      bigint  NOT NULL DEFAULT 0,
  cancelled      bigint  NOT NULL DEFAULT 0,
  replaced       bigint  NOT NULL DEFAULT 0,
  dead           bigint  NOT NULL DEFAULT 0,
  discarded      bigint  NOT NULL DEFAULT 0,
  last_write     bigint  NOT NULL DEFAULT 0
) WITH (fillfactor = 10);

-- Who fires a shard. Apart from the fence, so that a slow write does not delay a renewal.
CREATE TABLE leases (
  shard   integer PRIMARY KEY REFERENCES shards,
  epoch   bigint  NOT NULL DEFAULT 0,
  counter bigint  NOT NULL DEFAULT 0,
  node    text
) WITH (fillfactor = 10);

-- The nodes that take part. Whether one lives is judged by those who watch its beat.
CREATE TABLE members (
  node       text    COLLATE "C" PRIMARY KEY,
  address    text    NOT NULL,
  beat       bigint  NOT NULL,
  is_leaving boolean NOT NULL,
  -- The process that the node is, so that a later one of the same machine can tell that it has ended. Unknown: NULL.
  process    text
) WITH (fillfactor = 10);

-- What operators have set for namespaces, as JSON; under _service what they have set for the service as a whole.
CREATE TABLE namespaces (
  namespace  text   COLLATE "C" PRIMARY KEY,
  settings   text   NOT NULL,
  version    bigint NOT NULL,
  updated_at bigint NOT NULL
);

CREATE UNIQUE INDEX namespaces_by_version ON namespaces (version);

-- The last version that was given. Whoever writes settings holds the lock of this row until it commits, so that
-- versions become visible in their order: whoever has read all changes up to a version misses none by asking for
-- those after it.
CREATE TABLE settings_version (
  version bigint NOT NULL
);

INSERT INTO settings_version VALUES (0);

-- Timers come and go like the entries of a queue: in an hour a table may be written anew many times over, and due
-- reads begin where most rows have died. So vacuum comes after a fixed number of dead rows rather than a share of
-- all, and does not rest in between; else reads slow down as it falls behind. Statistics follow at the same pace,
-- so that plans know an empty table from a full one. The rows of shards, leases and members are few and
-- always changing: the low fill factor above leaves room to change them in place, and vacuum only has to tidy up.
ALTER TABLE timers SET (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 50000,
  autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 20000,
  autovacuum_vacuum_cost_delay = 0,
  toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 50000,
  toast.autovacuum_vacuum_cost_delay = 0
);
ALTER TABLE history SET (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_insert_threshold = 50000,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 20000,
  autovacuum_vacuum_cost_delay = 1
);
ALTER TABLE shards SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
ALTER TABLE leases SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
ALTER TABLE members SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);

CREATE VIEW timers_readable AS
SELECT namespace,
       timer_id,
       to_timestamp(fire_at / 1000.0)    AS fire_at,
       to_timestamp(execute_at / 1000.0) AS execute_at,
       attempts,
       last_attempt,
       revision,
       fire_id,
       uuid,
       shard,
       to_timestamp(created_at / 1000.0) AS created_at,
       to_timestamp(updated_at / 1000.0) AS updated_at,
       to_timestamp(asked_at / 1000.0)   AS asked_at,
       correlation_id,
       spec,
       encode(payload, 'escape')         AS payload
FROM timers;

CREATE VIEW history_readable AS
SELECT namespace,
       timer_id,
       state,
       reason,
       to_timestamp(finished_at / 1000.0) AS finished_at,
       to_timestamp(execute_at / 1000.0)  AS execute_at,
       lateness_ms,
       attempts,
       last_attempt,
       revision,
       fire_id,
       correlation_id,
       spec,
       encode(payload, 'escape')          AS payload
FROM history;
