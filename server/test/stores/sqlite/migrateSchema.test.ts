// The migration of a file with many timers: it copies their orders in slices, and says how far it is.
import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { applicationId, migrateSchema } from "../../../src/stores/sqlite/migrateSchema.ts"
import { migrations } from "../../../src/stores/sqlite/migrations/all.ts"
import { examineFile } from "../../../src/stores/sqlite/SqliteDoctor.ts"
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

test("doctor examines a file of the version before the runs", () => {
  const folder = temporaryFolder()
  try {
    {
      using database = new Database(folder.database, { create: true })
      for (const sql of migrations.slice(0, 9)) database.run(sql)
      database.run(`PRAGMA application_id = ${applicationId}`)
      database.run("PRAGMA user_version = 9")
    }
    const examined = { isFull: false, overdueBeforeMs: 0, overdueBeforeMsIfPaused: 0 }
    expect(examineFile(folder.database, examined)).toMatchObject({ schemaVersion: 9, faults: [] })
  } finally {
    folder.dispose()
  }
})
