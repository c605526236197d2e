-- Settings become documents. Their versions stay, so that nodes which have read up to a version go on from there.
INSERT INTO documents (kind, id, version, json, updated_at)
SELECT 'settings', namespace, version, settings, updated_at FROM namespaces;

UPDATE documents_version SET version = (SELECT version FROM settings_version);

DROP FUNCTION IF EXISTS put_settings(text, text, bigint, bigint);

DROP TABLE namespaces;

DROP TABLE settings_version;
