-- Functions of earlier programs, which decided in the database. They are no longer used. Each program that opens the
-- store makes its own from functions.sql, under names that end with the hash of that file.
DROP FUNCTION IF EXISTS write_items(integer[], bigint[], integer, boolean, json, text[], bytea);
DROP FUNCTION IF EXISTS write_items(integer[], bigint[], bigint[], integer, boolean, json, text[], bytea);
DROP FUNCTION IF EXISTS insert_if_absent(integer, integer, json, text[], bytea);
DROP FUNCTION IF EXISTS apply_wave(integer, integer[], json, text[], bytea);
DROP FUNCTION IF EXISTS record_lives(integer, integer[], json, text[], bytea);
DROP FUNCTION IF EXISTS dispose_dead(integer, integer[], json);
DROP FUNCTION IF EXISTS take_numbers(integer[], integer[], bigint[]);
DROP FUNCTION IF EXISTS lock_fences(integer[], bigint[]);
DROP FUNCTION IF EXISTS claim_shard(integer, bigint, bigint, text);
DROP FUNCTION IF EXISTS changed_spec(text, text);

-- `used_at` is when a program last opened the store with its functions, or a node last said that it still uses them.
CREATE TABLE functions (
  hash      text        PRIMARY KEY,
  used_at   timestamptz NOT NULL DEFAULT now()
);
