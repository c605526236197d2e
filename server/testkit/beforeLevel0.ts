// Gives a file of SQLite the schema that it had before the orders of pending timers became tables. The store must have
// been closed, so that its journal is empty.
import type { Database } from "bun:sqlite"

export const beforeLevel0 = (database: Database): void => {
  for (const table of ["timer_keys", "timer_dues", "timer_times", "journal", "level0"]) {
    database.run(`DROP TABLE ${table}`)
  }
  database.run("CREATE UNIQUE INDEX timers_by_key ON timers (namespace, timer_id)")
  database.run("CREATE INDEX timers_by_due ON timers (shard, fire_at, fire_id, namespace)")
  database.run("CREATE INDEX timers_by_namespace ON timers (namespace, fire_at, fire_id, shard)")
}
