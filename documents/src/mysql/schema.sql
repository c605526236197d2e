-- Small records as JSON, each under a version. A row without JSON is the tombstone of a record that was removed.
CREATE TABLE IF NOT EXISTS documents (
  kind       varbinary(40)  NOT NULL,
  id         varbinary(200) NOT NULL,
  version    bigint         NOT NULL,
  json       longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  updated_at bigint         NOT NULL,
  -- When it was removed. NULL if it was not.
  removed_at bigint,
  PRIMARY KEY (kind, id),
  UNIQUE KEY documents_by_version (kind, version),
  KEY documents_removed (removed_at)
);

-- The last version that was given: one row. A writer holds the lock of this row until it commits, so that versions
-- become visible in their order.
CREATE TABLE IF NOT EXISTS documents_version (
  only_row tinyint NOT NULL PRIMARY KEY,
  version  bigint  NOT NULL
);
