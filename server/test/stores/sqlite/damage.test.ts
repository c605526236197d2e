// How a file that cannot be opened is reported. A damaged store differs from a file that never was a store. The message
// says how to restore the store, and never to delete it.
import { Database } from "bun:sqlite"
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { Effect } from "effect"
import { ShardLeases } from "../../../src/ports/ShardLeases.ts"
import { migrations } from "../../../src/stores/sqlite/migrations/all.ts"
import { SqliteArchive } from "../../../src/stores/sqlite/SqliteArchive.ts"
import { inspectFile } from "../../../src/stores/sqlite/SqliteBackup.ts"
import { damageFile, unreadable, unwritable } from "../../../testkit/damagedFiles.ts"
import { sqliteAt, type TemporaryFolder, temporaryFolder } from "../../../testkit/sqlite.ts"

let folder: TemporaryFolder
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(() => folder.dispose())

const open = (path = folder.database) =>
  Effect.runPromise(
    Effect.flatMap(ShardLeases, (leases) => leases.owners).pipe(
      Effect.provide(sqliteAt(path, { shards: 2 })),
      Effect.scoped,
      Effect.result,
    ),
  )

const refusal = async (path = folder.database) => {
  const opened = await open(path)
  if (opened._tag === "Success") throw new Error("the store was opened")
  const error = opened.failure
  if (error._tag !== "SqliteOpenError") throw new Error(`not an opening error: ${error.message}`)
  return error
}

/** The only advice is to restore. */
const expectDamage = ({ reason, message }: { readonly reason: string; readonly message: string }): void => {
  const { database } = folder
  expect(reason).toBe("damaged")
  expect(message).toContain(`${database} is damaged (`)
  expect(message).toContain(`"punctual restore <backup> --force --store sqlite:${database}"`)
  expect(message).not.toMatch(/remove|delete|\n/)
}

const make = (sql: string): void => {
  const database = new Database(folder.database, { create: true })
  database.run(sql)
  database.close()
}

describe("a damaged store", () => {
  for (const damage of [...unreadable, unwritable]) {
    test(`is reported as damaged by the service, and not changed: ${damage.name}`, async () => {
      await open()
      const left = damageFile(folder.database, damage)
      expectDamage(await refusal())
      expect(left.equals(readFileSync(folder.database))).toBe(true)
    })
  }

  for (const damage of unreadable) {
    test(`is reported as damaged by an export: ${damage.name}`, async () => {
      await open()
      damageFile(folder.database, damage)
      expectDamage(await Effect.runPromise(Effect.scoped(Effect.flip(SqliteArchive.open(folder.database)))))
    })
  }

  test("is recognised by its contents without its lock, and by its lock without contents", async () => {
    await open()
    const [header] = unreadable
    if (header === undefined) throw new Error("there are ways to damage a file")
    damageFile(folder.database, header)
    rmSync(`${folder.database}.lock`)
    expectDamage(await refusal())
    writeFileSync(folder.database, "all of it was overwritten")
    writeFileSync(`${folder.database}.lock`, "")
    expectDamage(await refusal())
  })

  test("keeps its log if it is empty or missing, though SQLite would delete the log", async () => {
    writeFileSync(`${folder.database}-wal`, "what was committed last")
    expectDamage(await refusal())
    writeFileSync(folder.database, "")
    expectDamage(await refusal())
    expect(readFileSync(`${folder.database}-wal`, "utf8")).toBe("what was committed last")
  })

  test("is repaired by a log that has its first page", async () => {
    await open()
    const database = new Database(folder.database)
    database.run("PRAGMA wal_autocheckpoint = 0")
    database.run(`PRAGMA user_version = ${migrations.length}`)
    database.run("CREATE TABLE extra (a)")
    const log = readFileSync(`${folder.database}-wal`)
    database.close()
    damageFile(folder.database, { name: "header", of: (bytes) => bytes.fill(0, 0, 100) })
    writeFileSync(`${folder.database}-wal`, log)
    rmSync(`${folder.database}.lock`)
    expect((await open())._tag).toBe("Success")
  })
})

describe("a file that is not a damaged store", () => {
  test("can be a text, which is reported so each time", async () => {
    writeFileSync(folder.database, "this is a letter, and not a database at all".repeat(100))
    for (let time = 0; time < 2; time++) {
      const { reason, message } = await refusal()
      expect(reason).toBe("notADatabase")
      expect(message).toContain("is not an SQLite database: name another file for the timers.")
      expect(message).toContain("If it was a store, it is damaged: restore it")
      expect(message).not.toMatch(/remove|delete|\n/)
      expect(existsSync(`${folder.database}.lock`)).toBe(false)
    }
  })

  test("can be an empty file, which becomes a store", async () => {
    writeFileSync(folder.database, "")
    expect((await open())._tag).toBe("Success")
  })

  test("can be another program's database, by its application id or by its tables", async () => {
    make("CREATE TABLE notes (text TEXT)")
    expect((await refusal()).reason).toBe("otherProgram")
    make("PRAGMA application_id = 77")
    expect((await refusal()).reason).toBe("otherProgram")
    make("CREATE TABLE timers (id INTEGER)")
    const { reason, message } = await refusal()
    expect(reason).toBe("otherProgram")
    expect(message).toContain("is an SQLite database of another program: name another file for the timers.")
  })
})

describe("a damaged lock", () => {
  test("is reported separately from the store, which is not damaged", async () => {
    await open()
    const lock = `${folder.database}.lock`
    writeFileSync(lock, "no lock at all".repeat(100))
    const { reason, message } = await refusal()
    expect(reason).toBe("damaged")
    expect(message).toContain(`${lock} is damaged`)
    expect(message).toContain("It contains no data")
    writeFileSync(lock, "")
    expect((await open())._tag).toBe("Success")
  })
})

describe("a backup", () => {
  const inspected = (path = folder.database): string => {
    try {
      inspectFile(path)
    } catch (error) {
      return String(error)
    }
    throw new Error("nothing was wrong with it")
  }

  for (const damage of unreadable) {
    test(`that is damaged causes no advice to restore it from itself: ${damage.name}`, async () => {
      await open()
      damageFile(folder.database, damage)
      expect(inspected()).toMatch(/ is damaged \(.+\): take another backup\.$/)
    })
  }

  test("that never was one is reported so", () => {
    writeFileSync(folder.database, "this is a letter, and not a database at all".repeat(100))
    expect(inspected()).toContain("is not an SQLite database: name a file that punctual backup has made.")
    writeFileSync(folder.database, "")
    expect(inspected()).toContain("because it is empty: take another backup.")
    rmSync(folder.database)
    mkdirSync(folder.database)
    expect(inspected()).toContain("There is no file at")
  })
})
