-- Every table and index begins with the tenant, except the indexes of the sweep, of pruning and of waiting attempts.
-- Ids are compared by their bytes, so that cursors do not depend on the language of the database.
CREATE TABLE IF NOT EXISTS calls (
  tenant_id text COLLATE "C" NOT NULL,
  service_call_id text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  state text NOT NULL,
  submitted_at bigint NOT NULL,
  due_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  finished_at bigint,
  check_at bigint,
  method text NOT NULL,
  host text NOT NULL,
  name_folded text NOT NULL,
  is_starred integer NOT NULL,
  tags text NOT NULL,
  attempt_id text,
  record text NOT NULL,
  PRIMARY KEY (tenant_id, service_call_id)
);

CREATE INDEX IF NOT EXISTS calls_by_due ON calls (tenant_id, state, due_at, service_call_id);
CREATE INDEX IF NOT EXISTS calls_by_submission ON calls (tenant_id, state, submitted_at, service_call_id);
CREATE INDEX IF NOT EXISTS calls_by_change ON calls (tenant_id, updated_at, service_call_id);
CREATE INDEX IF NOT EXISTS calls_to_check ON calls (check_at) WHERE check_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS calls_to_prune ON calls (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE IF NOT EXISTS requests (
  tenant_id text COLLATE "C" NOT NULL,
  service_call_id text COLLATE "C" NOT NULL,
  sealed bytea NOT NULL,
  PRIMARY KEY (tenant_id, service_call_id)
);

CREATE TABLE IF NOT EXISTS answers (
  tenant_id text COLLATE "C" NOT NULL,
  service_call_id text COLLATE "C" NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (tenant_id, service_call_id)
);

CREATE TABLE IF NOT EXISTS timeline (
  tenant_id text COLLATE "C" NOT NULL,
  service_call_id text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  entry text NOT NULL,
  PRIMARY KEY (tenant_id, service_call_id, version)
);

CREATE TABLE IF NOT EXISTS outbox (
  tenant_id text COLLATE "C" NOT NULL,
  service_call_id text COLLATE "C" NOT NULL,
  lane integer NOT NULL,
  position bigint NOT NULL,
  ready_at bigint NOT NULL,
  tries integer NOT NULL DEFAULT 0,
  message text NOT NULL,
  PRIMARY KEY (tenant_id, service_call_id, lane, position)
);

CREATE INDEX IF NOT EXISTS outbox_ready ON outbox (tenant_id, ready_at, service_call_id);

CREATE TABLE IF NOT EXISTS attempts (
  tenant_id text COLLATE "C" NOT NULL,
  attempt_id text COLLATE "C" NOT NULL,
  service_call_id text COLLATE "C" NOT NULL,
  state text NOT NULL,
  owner text NOT NULL,
  timeout_ms integer NOT NULL,
  claimed_at bigint NOT NULL,
  started_at bigint,
  ended text,
  PRIMARY KEY (tenant_id, attempt_id)
);

CREATE TABLE IF NOT EXISTS tenant_settings (
  tenant_id text COLLATE "C" NOT NULL PRIMARY KEY,
  settings text NOT NULL
);

CREATE INDEX IF NOT EXISTS attempts_of_call ON attempts (tenant_id, service_call_id);
CREATE INDEX IF NOT EXISTS attempts_waiting ON attempts (claimed_at) WHERE state = 'claimed';
CREATE INDEX IF NOT EXISTS attempts_calling ON attempts (owner) WHERE state = 'calling';
