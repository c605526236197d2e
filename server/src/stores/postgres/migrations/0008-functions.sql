-- The functions in which the schema decided are no longer used. Those that carry changes out are made from
-- functions.sql by each program that opens the store, under names that end with the hash of that file.
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

CREATE TABLE functions (
  id   integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash text    NOT NULL UNIQUE
);
