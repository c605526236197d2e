// The migration of a file with many timers: it copies their orders in slices, and says how far it is.
import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { migrateSchema } from "../../../src/stores/sqlite/migrateSchema.ts"
import { migrations } from "../../../src/stores/sqlite/migrations/all.ts"
import { fileBeforeLevel0, pendingIn, versionBefore } from "../../../testkit/beforeLevel0.ts"
import { temporaryFolder } from "../../../testkit/sqlite.ts"

test("a migration in several slices writes every timer into each order, and says how far it is", () => {
  const folder = temporaryFolder()
  try {
    const timers = 2_200
    fileBeforeLevel0(folder.database, timers)
    const told: Array<string> = []
    {
      using database = new Database(folder.database)
      migrateSchema(database, { path: "timers.db", shards: 4 }, (message) => told.push(message), {
        rowsOfSlice: 1_000,
        tellEveryMs: 0,
      })
      expect(database.query("SELECT merged_timers FROM merging").values()).toEqual([[timers]])
    }
    const what = `timers.db is migrated from schema version ${versionBefore} to ${migrations.length}`
    const percents = [15, 30, 33, 48, 63, 66, 81, 96, 100]
    expect(told).toEqual([
      ...percents.map(
        (percent) => `${what}: ${percent} % of the orders of ${timers} pending timers are written`,
      ),
      expect.stringContaining(`${what}: done in`),
    ])
    expect(pendingIn(folder.database)).toEqual({ faults: [], pending: timers })
  } finally {
    folder.dispose()
  }
}, 60_000)
