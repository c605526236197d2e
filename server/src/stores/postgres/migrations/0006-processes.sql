-- The process that a node is, so that a later one of the same machine can tell that it has ended. Unknown: NULL.
ALTER TABLE members ADD COLUMN process text;
