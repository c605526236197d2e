// The tables of a keyspace, and their versions. A version is a list of statements that bring the version before it up to
// date. Several stores can share the tables; `store` is the name of one.
//
// `shards` has one partition for each shard. Conditional batches guard one partition, so a commit changes only rows of
// this table. Nothing else than conditional batches writes them: a condition and an ordinary write would not see each
// other. The partition's first row is never deleted. A condition on the static columns (epoch, number) reads the
// partition up to its first live row, and would otherwise read all rows that were deleted before it
// (test/stores/cassandra/tombstones.suite.ts shows both).
//
// `bodies` has the large parts of timers and lives, by key. They are written before the commit that names them, under the
// stamp of the commit, and are never changed. Rows that a refused commit has written are never read.

/** After this time a deleted row may be forgotten, so a repair must run more often than that. */
const graceSeconds = 86_400

const table = `WITH gc_grace_seconds = ${graceSeconds}`

export const versions: ReadonlyArray<ReadonlyArray<string>> = [
  [
    `CREATE TABLE IF NOT EXISTS shards (store text, shard int, kind tinyint, place blob,
      epoch bigint static, number bigint static, low bigint static, tally text static,
      state text, timer text, payload_at bigint, last_fire_id text, last_revision bigint, stamp bigint, has_dead boolean,
      life text, ref blob,
      PRIMARY KEY ((store, shard), kind, place)) ${table} AND compaction = {'class': 'LeveledCompactionStrategy'}`,
    `CREATE TABLE IF NOT EXISTS bodies (store text, uuid blob, part tinyint, stamp bigint,
      spec text, log text, payload blob, PRIMARY KEY ((store, uuid), part, stamp)) ${table}`,
    `CREATE TABLE IF NOT EXISTS namespaces (store text, name text, PRIMARY KEY (store, name)) ${table}`,
    `CREATE TABLE IF NOT EXISTS leases (store text, shard int, epoch bigint, counter bigint, node text,
      PRIMARY KEY (store, shard)) ${table}`,
    `CREATE TABLE IF NOT EXISTS members (store text, node text, address text, beat bigint, is_leaving boolean,
      process text, PRIMARY KEY (store, node)) ${table}`,
    `CREATE TABLE IF NOT EXISTS documents (store text, kind text, part tinyint, version bigint, id text,
      last_version bigint static, document_version bigint, json text, updated_at bigint,
      PRIMARY KEY (store, kind, part, version, id)) ${table}`,
  ],
]

export const programVersion = versions.length

/** Made before the lock is taken, because the lock is a row of it. */
export const firstTables: ReadonlyArray<string> = [
  `CREATE TABLE IF NOT EXISTS stores (store text PRIMARY KEY, shards int, data_center text)`,
  // The row of the keyspace's schema has its version. The row of the lock expires.
  `CREATE TABLE IF NOT EXISTS schema_versions (name text PRIMARY KEY, version int, holder text)`,
]
