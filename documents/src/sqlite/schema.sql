-- Small records as JSON, each under a version. A row without JSON is the tombstone of a record that was removed.
CREATE TABLE documents (
  kind       TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  json       TEXT,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (kind, id)
) STRICT;

CREATE UNIQUE INDEX documents_by_version ON documents (kind, version);

CREATE INDEX documents_removed ON documents (updated_at) WHERE json IS NULL;

-- The last version that was given: one row.
CREATE TABLE documents_version (
  version INTEGER NOT NULL
) STRICT;

INSERT INTO documents_version VALUES (0);
