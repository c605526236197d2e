import { Database } from "bun:sqlite"
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import type { Timer } from "../../../src/domain/Timer.ts"
import { ShardLeases } from "../../../src/ports/ShardLeases.ts"
import { migrations } from "../../../src/stores/sqlite/migrations/all.ts"
import { isOlder, marksOfVersions } from "../../../src/stores/sqlite/openDatabase.ts"
import { beforeLevel0 } from "../../../testkit/beforeLevel0.ts"
import { owned } from "../../../testkit/StoreFixture.ts"
import { expectMovedSettings, settingsOfBefore } from "../../../testkit/settingsOfBefore.ts"
import { sqliteAt, type TemporaryFolder, temporaryFolder } from "../../../testkit/sqlite.ts"
import { sampleNow, sampleTimer, scheduleOf } from "../../../testkit/timers.ts"

let folder: TemporaryFolder
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(() => folder.dispose())

const open = (path = folder.database, shards = 2) =>
  Effect.runPromise(
    Effect.flatMap(ShardLeases, (leases) => leases.owners).pipe(
      Effect.provide(sqliteAt(path, { shards })),
      Effect.scoped,
      Effect.result,
    ),
  )

const refusal = async (path = folder.database, shards = 2) => {
  const opened = await open(path, shards)
  if (opened._tag === "Success") throw new Error("the store was opened")
  const error = opened.failure
  if (error._tag !== "SqliteOpenError") throw new Error(`not an opening error: ${error.message}`)
  expect(error.message).not.toContain("\n")
  expect(error.message).toContain(path)
  return error
}

const edit = (change: (database: Database) => void): void => {
  const database = new Database(folder.database)
  change(database)
  database.close()
}

/** A file as the program left it when it knew only the first migration, with one timer in it. */
const fillAsVersionOne = (database: Database, timer: Timer): void => {
  database.run("PRAGMA journal_mode = WAL")
  database.run(migrations[0] ?? "")
  database.run(`PRAGMA application_id = ${0x50554e43}`)
  database.run("PRAGMA user_version = 1")
  database.run("INSERT INTO shards (shard) VALUES (0)")
  database.run("INSERT INTO tally (shard, created) VALUES (0, 1)")
  database.run(
    `INSERT INTO timers (shard, uuid, namespace, timer_id, fire_at, fire_id, revision, execute_at, attempts,
      created_at, updated_at, correlation_id)
     VALUES (0, unhex(?1), ?2, ?3, ?4, unhex(?5, '-'), ?6, ?4, 0, ?7, ?7, ?8)`,
    [
      timer.uuid,
      timer.namespace,
      timer.timerId,
      timer.fireAt,
      timer.fireId,
      timer.revision,
      timer.createdAt,
      timer.correlationId,
    ],
  )
  database.run("INSERT INTO bodies (id, spec, payload) VALUES (last_insert_rowid(), ?1, ?2)", [
    JSON.stringify(timer.spec),
    timer.payload ?? null,
  ])
}

describe("opening an SQLite store", () => {
  test("creates missing folders, the file and all shards, and opens it again", async () => {
    const path = join(folder.path, "a", "b", "timers.db")
    for (let time = 0; time < 2; time++) {
      const opened = await open(path, 5)
      expect(opened._tag === "Success" && opened.success.length).toBe(5)
    }
    expect(existsSync(path)).toBe(true)
  })

  test("is durable: it uses WAL, and the file names its program", async () => {
    await open()
    edit((database) => {
      expect(database.query("PRAGMA journal_mode").values()).toEqual([["wal"]])
      expect(database.query("PRAGMA application_id").values()).toEqual([[0x50554e43]])
      expect(database.query("PRAGMA user_version").values()).toEqual([[migrations.length]])
    })
  })

  test("migrates a database of the version before, with its contents", async () => {
    const timer = sampleTimer({ timerId: "old", payload: new TextEncoder().encode("1") })
    edit((database) => fillAsVersionOne(database, timer))
    const [found, moved, shown] = await Effect.runPromise(
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const found = yield* store.find(timer)
        const later = sampleTimer({ timerId: "old", executeAt: timer.executeAt + 1, askedAt: sampleNow + 1 })
        const [answer] = yield* write([scheduleOf(later)])
        return [found, answer, yield* store.tally] as const
      }).pipe(Effect.provide(sqliteAt(folder.database, { shards: 1 })), Effect.scoped),
    )
    expect(found).toEqual({ pending: timer, last: undefined })
    expect(moved).toMatchObject({
      result: "moved",
      timer: { askedAt: sampleNow + 1, payload: timer.payload },
    })
    expect(shown).toMatchObject({ created: 2, replaced: 1 })
    edit((database) => {
      expect(database.query("PRAGMA user_version").values()).toEqual([[migrations.length]])
      const asked = new Date(sampleNow + 1).toISOString()
      expect(database.query("SELECT timer_id, asked_at FROM timers_readable").values()).toEqual([
        ["old", asked],
      ])
    })
  })

  test("moves old settings into documents and keeps their versions", async () => {
    edit((database) => {
      database.run("PRAGMA journal_mode = WAL")
      for (const text of migrations.slice(0, 4)) database.run(text)
      database.run(`PRAGMA application_id = ${0x50554e43}`)
      database.run("PRAGMA user_version = 4")
      database.run("INSERT INTO shards (shard) VALUES (0)")
      database.run("INSERT INTO tally (shard) VALUES (0)")
      database.run(settingsOfBefore)
    })
    await expectMovedSettings(sqliteAt(folder.database, { shards: 1 }))
    edit((database) => {
      expect(database.query("SELECT 1 FROM sqlite_schema WHERE name = 'namespaces'").values()).toEqual([])
    })
  })

  test("refuses a newer schema and names both versions", async () => {
    await open()
    edit((database) => database.run("PRAGMA user_version = 99"))
    const { reason, message } = await refusal()
    expect(reason).toBe("newerSchema")
    expect(message).toContain("schema version 99")
  })

  test("refuses another shard count, because it is fixed when the store is created", async () => {
    await open(folder.database, 2)
    const { reason, message } = await refusal(folder.database, 3)
    expect(reason).toBe("otherShardCount")
    expect(message).toContain(
      "has 2 shards, but TIMER_SHARDS is 3: the number is fixed when the store is created",
    )
  })

  test("refuses a folder that cannot be created or written", async () => {
    writeFileSync(join(folder.path, "file"), "")
    expect((await refusal(join(folder.path, "file", "timers.db"))).reason).toBe("unwritable")
    mkdirSync(folder.database)
    expect((await refusal()).reason).toBe("unwritable")
  })

  test("does not migrate while another process holds the store", async () => {
    await open()
    // The other process is an older program, whose schema this program would have to migrate.
    edit((database) => {
      beforeLevel0(database)
      database.run("DROP TABLE documents")
      database.run("DROP TABLE lookups")
      database.run("ALTER TABLE timers DROP COLUMN traceparent")
      database.run("PRAGMA user_version = 4")
    })
    const holder = new Database(`${folder.database}.lock`)
    holder.run("BEGIN EXCLUSIVE")
    try {
      expect((await refusal()).reason).toBe("inUse")
    } finally {
      holder.close()
    }
  })

  test("recognises a store of the newest version by a mark, so that a damaged version differs from an old one", () => {
    expect(marksOfVersions.at(-1)?.version).toBe(migrations.length)
  })

  test("distinguishes older library versions from newer ones", () => {
    expect(isOlder("3.51.2", "3.51.3")).toBe(true)
    expect(isOlder("3.9.9", "3.51.3")).toBe(true)
    expect(isOlder("3.51.3", "3.51.3")).toBe(false)
    expect(isOlder("3.53.4", "3.51.3")).toBe(false)
    expect(isOlder("4.0.0", "3.51.3")).toBe(false)
  })
})
