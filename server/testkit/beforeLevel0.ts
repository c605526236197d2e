// Files of SQLite as they were before the orders of pending timers became tables.
import { Database } from "bun:sqlite"
import { faultsOfOrders } from "../src/stores/sqlite/level0/faultsOfOrders.ts"
import { ReaderOrders } from "../src/stores/sqlite/level0/ReaderOrders.ts"
import { numberIn, openForWriting } from "../src/stores/sqlite/openDatabase.ts"

/** Gives a file the earlier schema. The store must have been closed, so that its journal is empty. */
export const beforeLevel0 = (database: Database): void => {
  const ofRuns = ["run_keys", "run_dues", "run_times", "runs"]
  for (const table of ["timer_keys", "timer_dues", "timer_times", "journal", "merging", ...ofRuns]) {
    database.run(`DROP TABLE ${table}`)
  }
  database.run("CREATE UNIQUE INDEX timers_by_key ON timers (namespace, timer_id)")
  database.run("CREATE INDEX timers_by_due ON timers (shard, fire_at, fire_id, namespace)")
  database.run("CREATE INDEX timers_by_namespace ON timers (namespace, fire_at, fire_id, shard)")
}

/** The last version of the schema before the orders. */
export const versionBefore = 8

/** Makes such a file with many timers in four shards and three namespaces. */
export const fileBeforeLevel0 = (path: string, timers: number): void => {
  const { database, lock } = openForWriting({ path, shards: 4 })
  try {
    beforeLevel0(database)
    database.run(`PRAGMA user_version = ${versionBefore}`)
    database.run(
      `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${timers})
       INSERT INTO timers (id, shard, uuid, namespace, timer_id, fire_at, fire_id, revision, execute_at, attempts,
         created_at, updated_at, correlation_id)
       SELECT n, n % 4, randomblob(16), 'space-' || (n % 3), 't-' || n, 1750000000000 + n * 7919 % 100000, randomblob(16),
         1, 1750000000000, 0, 1, 1, 'c' FROM numbers`,
    )
    database.run("INSERT INTO bodies (id, spec) SELECT id, '{}' FROM timers")
  } finally {
    database.close()
    lock.close()
  }
}

/** How many timers are pending in a file of this version, and what is wrong with their orders. */
export const pendingIn = (
  path: string,
): { readonly faults: ReadonlyArray<string>; readonly pending: number } => {
  using database = new Database(path)
  const orders = new ReaderOrders(database, { isReadOnly: false })
  const faults = orders.atOneInstant(() => faultsOfOrders(orders))
  return { faults, pending: numberIn(database, "SELECT count(*) FROM timers") }
}
