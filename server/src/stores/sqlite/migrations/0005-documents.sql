-- Settings become documents. Their versions stay, so that nodes which have read up to a version go on from there.
INSERT INTO documents (kind, id, version, json, updated_at)
SELECT 'settings', namespace, version, settings, updated_at FROM namespaces;

UPDATE documents_version SET version = (SELECT coalesce(max(version), 0) FROM namespaces);

DROP TABLE namespaces;
