// The SQLite store's archives, by the laws of the port, and the cases that only a file has: it can be missing or belong
// to another program.
import { Database } from "bun:sqlite"
import { describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { Effect, Layer } from "effect"
import { SqliteArchive } from "../../../src/stores/sqlite/SqliteArchive.ts"
import { beforeLevel0 } from "../../../testkit/beforeLevel0.ts"
import { sqliteAt, type TemporaryFolder, temporaryFolder } from "../../../testkit/sqlite.ts"
import { ArchiveOpening, timerArchiveSuite } from "../../../testkit/TimerArchive.suite.ts"

timerArchiveSuite({
  name: "sqlite",
  fresh: (options) =>
    Layer.unwrap(
      Effect.map(
        Effect.acquireRelease(Effect.sync(temporaryFolder), (folder) => Effect.sync(folder.dispose)),
        ({ database }) =>
          Layer.merge(
            sqliteAt(database, options),
            Layer.succeed(ArchiveOpening, { open: SqliteArchive.open(database) }),
          ),
      ),
    ),
})

describe("the archive of a file", () => {
  const failing = async (prepare: (folder: TemporaryFolder) => void) => {
    const folder = temporaryFolder()
    try {
      prepare(folder)
      return await Effect.runPromise(Effect.scoped(Effect.flip(SqliteArchive.open(folder.database))))
    } finally {
      folder.dispose()
    }
  }

  test("creates no file where there is none", async () => {
    expect(await failing(() => {})).toMatchObject({ reason: "missing" })
  })

  test("refuses a file that is not a database, or that belongs to another program", async () => {
    expect(await failing(({ database }) => writeFileSync(database, "x".repeat(5_000)))).toMatchObject({
      reason: "notADatabase",
    })
    const other = await failing(({ database }) => {
      const file = new Database(database, { create: true })
      file.run("CREATE TABLE theirs (id)")
      file.close()
    })
    expect(other).toMatchObject({ reason: "otherProgram" })
  })

  test("does not migrate an older schema, because a service may run on it", async () => {
    const folder = temporaryFolder()
    await Effect.runPromise(Effect.scoped(Layer.build(sqliteAt(folder.database, { shards: 1 }))))
    const file = new Database(folder.database)
    beforeLevel0(file)
    file.run("DROP TABLE documents")
    file.run("DROP TABLE lookups")
    file.run("ALTER TABLE timers DROP COLUMN traceparent")
    file.run("PRAGMA user_version = 4")
    file.close()
    const failure = await Effect.runPromise(Effect.scoped(Effect.flip(SqliteArchive.open(folder.database))))
    folder.dispose()
    expect(failure).toMatchObject({ reason: "olderSchema" })
    expect(failure.message).toContain("run the service on it once")
  })
})
