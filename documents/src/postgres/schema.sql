-- Small records as JSON, each under a version. A row without JSON is the tombstone of a record that was removed.
CREATE TABLE documents (
  kind       text   COLLATE "C" NOT NULL,
  id         text   COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  json       text,
  updated_at bigint NOT NULL,
  PRIMARY KEY (kind, id)
);

CREATE UNIQUE INDEX documents_by_version ON documents (kind, version);

CREATE INDEX documents_removed ON documents (updated_at) WHERE json IS NULL;

-- The last version that was given: one row. A writer holds the lock of this row until it commits, so that versions
-- become visible in their order.
CREATE TABLE documents_version (
  version bigint NOT NULL
);

INSERT INTO documents_version VALUES (0);
