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

-- Stores settings in place of those of the version named, 0 for none; answers nothing if that is not what is there.
CREATE FUNCTION put_settings(the_namespace text, the_settings text, expected bigint, the_time bigint)
RETURNS SETOF namespaces
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  next bigint;
BEGIN
  UPDATE settings_version SET version = settings_version.version + 1 RETURNING settings_version.version INTO next;
  -- What is there is looked at by a statement that begins after the lock was got.
  IF coalesce((SELECT version FROM namespaces WHERE namespace = the_namespace), 0) <> expected THEN
    RETURN;
  END IF;
  RETURN QUERY INSERT INTO namespaces AS n VALUES (the_namespace, the_settings, next, the_time)
    ON CONFLICT (namespace) DO UPDATE
    SET settings = excluded.settings, version = excluded.version, updated_at = excluded.updated_at
    RETURNING n.*;
END $$;
