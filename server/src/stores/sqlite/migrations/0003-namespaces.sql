-- What operators have set for namespaces, as JSON; under _service what they have set for the service as a whole. Rows
-- are never removed, and versions rise over the whole table: whoever has read all changes up to a version misses none
-- by asking for those after it.
CREATE TABLE namespaces (
  namespace  TEXT    PRIMARY KEY,
  settings   TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX namespaces_by_version ON namespaces (version);
