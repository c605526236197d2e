-- Every table and index begins with the tenant, except the indexes of the sweep, of pruning and of waiting attempts.
CREATE TABLE calls (
  tenant_id TEXT NOT NULL,
  service_call_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  state TEXT NOT NULL,
  submitted_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  finished_at INTEGER,
  check_at INTEGER,
  method TEXT NOT NULL,
  host TEXT NOT NULL,
  name_folded TEXT NOT NULL,
  is_starred INTEGER NOT NULL,
  tags TEXT NOT NULL,
  attempt_id TEXT,
  record TEXT NOT NULL,
  PRIMARY KEY (tenant_id, service_call_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX calls_by_due ON calls (tenant_id, state, due_at, service_call_id);
CREATE INDEX calls_by_submission ON calls (tenant_id, state, submitted_at, service_call_id);
CREATE INDEX calls_by_change ON calls (tenant_id, updated_at, service_call_id);
CREATE INDEX calls_to_check ON calls (check_at) WHERE check_at IS NOT NULL;
CREATE INDEX calls_to_prune ON calls (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE requests (
  tenant_id TEXT NOT NULL,
  service_call_id TEXT NOT NULL,
  sealed BLOB NOT NULL,
  PRIMARY KEY (tenant_id, service_call_id)
) STRICT;

CREATE TABLE answers (
  tenant_id TEXT NOT NULL,
  service_call_id TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (tenant_id, service_call_id)
) STRICT;

CREATE TABLE timeline (
  tenant_id TEXT NOT NULL,
  service_call_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  entry TEXT NOT NULL,
  PRIMARY KEY (tenant_id, service_call_id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
  tenant_id TEXT NOT NULL,
  service_call_id TEXT NOT NULL,
  lane INTEGER NOT NULL,
  position INTEGER NOT NULL,
  ready_at INTEGER NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0,
  message TEXT NOT NULL,
  PRIMARY KEY (tenant_id, service_call_id, lane, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX outbox_ready ON outbox (tenant_id, ready_at, service_call_id);

CREATE TABLE attempts (
  tenant_id TEXT NOT NULL,
  attempt_id TEXT NOT NULL,
  service_call_id TEXT NOT NULL,
  state TEXT NOT NULL,
  owner TEXT NOT NULL,
  timeout_ms INTEGER NOT NULL,
  claimed_at INTEGER NOT NULL,
  started_at INTEGER,
  ended TEXT,
  PRIMARY KEY (tenant_id, attempt_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX attempts_of_call ON attempts (tenant_id, service_call_id);
CREATE INDEX attempts_waiting ON attempts (claimed_at) WHERE state = 'claimed';
CREATE INDEX attempts_calling ON attempts (owner) WHERE state = 'calling';
