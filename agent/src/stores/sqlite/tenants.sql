-- What tenants have set, as JSON. A file of an earlier version gets the table when it is opened.
CREATE TABLE IF NOT EXISTS tenant_settings (
  tenant_id TEXT NOT NULL PRIMARY KEY,
  settings TEXT NOT NULL
) STRICT, WITHOUT ROWID;
