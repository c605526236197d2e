-- Times are epoch milliseconds (UTC). Texts by which rows are found and sorted are bytes, so that their order is that of
-- UTF-8 and no space at an end is ignored. DDL of MySQL cannot be rolled back, so every statement can be repeated.

-- One narrow row for each pending timer, in the order in which timers are due.
CREATE TABLE IF NOT EXISTS timers (
  shard            int             NOT NULL,
  fire_at          bigint          NOT NULL,
  fire_id          binary(16)      NOT NULL,
  uuid             binary(16)      NOT NULL,
  namespace        varbinary(1000) NOT NULL,
  timer_id         varbinary(1000) NOT NULL,
  revision         bigint          NOT NULL,
  execute_at       bigint          NOT NULL,
  attempts         int             NOT NULL,
  created_at       bigint          NOT NULL,
  updated_at       bigint          NOT NULL,
  first_attempt_at bigint,
  asked_at         bigint,
  correlation_id   longtext        NOT NULL,
  -- The log of the arming's latest attempts, as JSON.
  last_attempt     longtext,
  tags             longtext,
  traceparent      longtext,
  PRIMARY KEY (shard, fire_at, fire_id),
  UNIQUE KEY timers_by_uuid (shard, uuid),
  KEY timers_by_namespace (namespace, fire_at, fire_id, shard),
  KEY timers_by_id (namespace, timer_id)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What only a delivery needs. A retry moves the row of a timer, and leaves its body alone.
CREATE TABLE IF NOT EXISTS bodies (
  shard         int        NOT NULL,
  uuid          binary(16) NOT NULL,
  payload_bytes int        NOT NULL,
  spec          longtext   NOT NULL,
  payload       longblob,
  PRIMARY KEY (shard, uuid)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Lives that ended. Dead letters keep their payload, and stay until they are replayed or discarded. TiDB gives ids in
-- order only without a cache of ids.
CREATE TABLE IF NOT EXISTS history (
  id             bigint          NOT NULL AUTO_INCREMENT PRIMARY KEY,
  shard          int             NOT NULL,
  finished_at    bigint          NOT NULL,
  state          varchar(9) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  uuid           binary(16)      NOT NULL,
  fire_id        binary(16)      NOT NULL,
  namespace      varbinary(1000) NOT NULL,
  timer_id       varbinary(1000) NOT NULL,
  revision       bigint          NOT NULL,
  execute_at     bigint          NOT NULL,
  created_at     bigint          NOT NULL,
  lateness_ms    bigint,
  attempts       int             NOT NULL,
  correlation_id longtext        NOT NULL,
  ended_by       longtext,
  reason         longtext,
  last_attempt   longtext,
  tags           longtext,
  traceparent    longtext,
  spec           longtext        NOT NULL,
  payload        longblob,
  KEY history_by_end (namespace, state, finished_at, id),
  KEY history_by_id (namespace, timer_id, revision),
  KEY history_prunable (state, finished_at)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin /*T![auto_id_cache] AUTO_ID_CACHE 1 */;

-- Words by which timers and lives are found. `at` is fire_at or finished_at.
CREATE TABLE IF NOT EXISTS lookups (
  namespace varbinary(1000) NOT NULL,
  word      varbinary(800)  NOT NULL,
  state     varchar(9) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  at        bigint          NOT NULL,
  fire_id   binary(16)      NOT NULL,
  timer_id  varbinary(1000) NOT NULL,
  revision  bigint          NOT NULL,
  PRIMARY KEY (namespace, word, state, at, fire_id),
  KEY lookups_prunable (state, at)
);

-- The fence of a shard, and what its commits count. Whoever writes a shard holds the lock of its row, and a claim waits
-- for it. `last_write` is the number of the last commit that was accepted under the epoch.
CREATE TABLE IF NOT EXISTS shards (
  shard          int    NOT NULL PRIMARY KEY,
  epoch          bigint NOT NULL DEFAULT 0,
  foreign_writes bigint NOT NULL DEFAULT 0,
  last_write     bigint NOT NULL DEFAULT 0,
  created        bigint NOT NULL DEFAULT 0,
  rearmed        bigint NOT NULL DEFAULT 0,
  replayed       bigint NOT NULL DEFAULT 0,
  delivered      bigint NOT NULL DEFAULT 0,
  cancelled      bigint NOT NULL DEFAULT 0,
  replaced       bigint NOT NULL DEFAULT 0,
  dead           bigint NOT NULL DEFAULT 0,
  discarded      bigint NOT NULL DEFAULT 0
);

-- Who fires a shard. Apart from the fence, so that a slow write does not delay a renewal.
CREATE TABLE IF NOT EXISTS leases (
  shard   int    NOT NULL PRIMARY KEY,
  epoch   bigint NOT NULL DEFAULT 0,
  counter bigint NOT NULL DEFAULT 0,
  node    varchar(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
);

-- The nodes that take part. Whether one lives is judged by those who watch its beat.
CREATE TABLE IF NOT EXISTS members (
  node       varbinary(500) NOT NULL PRIMARY KEY,
  address    longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  beat       bigint         NOT NULL,
  is_leaving tinyint        NOT NULL,
  process    longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
);
