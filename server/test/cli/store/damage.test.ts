// Commands on a damaged store. Each says that the store is damaged and how to restore it. None changes the store. The
// advice that they give works.
import { Database } from "bun:sqlite"
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { damageFile, unreadable, unwritable } from "../../../testkit/damagedFiles.ts"
import { readSqliteContents } from "../../../testkit/SqliteContents.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"
import { backupOf, filesIn, fill, restoredAt, runKeeping } from "./KeptStoreRig.ts"

// Threads start slowly while other tests use the machine.
setDefaultTimeout(30_000)

const folder = new TemporaryFolder()
afterAll(() => folder[Symbol.dispose]())
const fresh = filesIn(folder)

const onStore = (path: string): ReadonlyArray<readonly [string, ReadonlyArray<string>]> =>
  [
    ["doctor", []],
    ["backup", [fresh()]],
    ["migrate", []],
    ["migrate", ["--check"]],
  ].map(([command, args]) => [String(command), ["--store", `sqlite:${path}`, ...(args ?? [])]])

const filesOf = (path: string): ReadonlyArray<string> =>
  readdirSync(dirname(path)).filter((name) => name.startsWith(`${basename(path)}.before-restore`))

describe("on a damaged store", () => {
  for (const damage of unreadable) {
    test(`doctor, backup and migrate report the damage and do not change the store: ${damage.name}`, async () => {
      const path = fresh()
      await fill(`sqlite:${path}`, 2)
      const left = damageFile(path, damage)
      for (const [command, args] of onStore(path)) {
        const { exitCode, err } = await runKeeping(command, ...args)
        expect([command, exitCode, err]).toEqual([
          command,
          1,
          expect.stringContaining(`${path} is damaged (`),
        ])
        expect(err).toContain(`"punctual restore <backup> --force --store sqlite:${path}"`)
        expect(err).not.toMatch(/remove|delete/)
      }
      expect(left.equals(readFileSync(path))).toBe(true)
    })
  }

  test(`doctor finds the damage if the store can still be read: ${unwritable.name}`, async () => {
    const path = fresh()
    await fill(`sqlite:${path}`, 2)
    damageFile(path, unwritable)
    const { exitCode, out } = await runKeeping("doctor", "--store", `sqlite:${path}`)
    expect([exitCode, out]).toEqual([1, expect.stringContaining("The store is damaged: its header has")])
  })

  for (const damage of [...unreadable, unwritable]) {
    test(`restore replaces the store by a backup, and keeps the damaged store: ${damage.name}`, async () => {
      const file = await backupOf(fresh, 3)
      const path = fresh()
      await fill(`sqlite:${path}`, 1)
      const left = damageFile(path, damage)
      const { exitCode, err } = await restoredAt(`sqlite:${path}`, file, "--force")
      expect([exitCode, err]).toEqual([0, expect.stringContaining("before-restore")])
      expect(readSqliteContents(path)).toEqual(readSqliteContents(file))
      const kept = filesOf(path).map((name) => readFileSync(join(dirname(path), name)))
      expect(kept.map((bytes) => left.equals(bytes))).toEqual([true])
    })
  }
})

describe("on a file that is not a store", () => {
  const cases: ReadonlyArray<readonly [string, (path: string) => void, string]> = [
    [
      "a text",
      (path) => writeFileSync(path, "a letter to a friend\n".repeat(1_000)),
      "is not an SQLite database: name another file for the timers. If it was a store, it is damaged: restore it",
    ],
    ["an empty file", (path) => writeFileSync(path, ""), "is not a store of Punctual, because it is empty"],
    [
      "another program's database",
      (path) => {
        const database = new Database(path, { create: true })
        database.run("CREATE TABLE notes (text TEXT)")
        database.close()
      },
      "is an SQLite database of another program: name another file for the timers.",
    ],
  ]

  for (const [name, make, said] of cases) {
    test(`doctor, backup and migrate say what the file is, and do not change it: ${name}`, async () => {
      const path = fresh()
      make(path)
      const before = readFileSync(path)
      for (const [command, args] of onStore(path)) {
        const { exitCode, err } = await runKeeping(command, ...args)
        expect([command, exitCode, err]).toEqual([command, 1, expect.stringContaining(`${path} ${said}`)])
        expect(err).not.toMatch(/remove|delete/)
      }
      expect(before.equals(readFileSync(path))).toBe(true)
    })
  }
})

describe("the log of a store whose file is empty or missing", () => {
  /** A log with a commit of another store. SQLite would apply it to any file. */
  const logOfAnother = async (): Promise<Buffer> => {
    const path = fresh()
    await fill(`sqlite:${path}`, 1)
    const live = new Database(path)
    live.run("PRAGMA wal_autocheckpoint = 0")
    live.run("DELETE FROM timers")
    const log = readFileSync(`${path}-wal`)
    live.close()
    return log
  }

  for (const [name, prepare] of [
    ["empty", (path: string) => writeFileSync(path, "")],
    ["missing", (path: string) => rmSync(path, { force: true })],
  ] as const) {
    test(`is kept by restore, and does not reach the new store: ${name}`, async () => {
      const file = await backupOf(fresh, 3)
      const path = fresh()
      const log = await logOfAnother()
      prepare(path)
      writeFileSync(`${path}-wal`, log)
      expect((await restoredAt(`sqlite:${path}`, file, "--force")).exitCode).toBe(0)
      expect(existsSync(`${path}-wal`)).toBe(false)
      expect(readSqliteContents(path)).toEqual(readSqliteContents(file))
      const kept = readdirSync(folder.path)
        .filter((other) => other.startsWith(basename(path)) && other.includes("wal"))
        .map((other) => readFileSync(join(folder.path, other)))
      expect(kept.map((bytes) => log.equals(bytes))).toEqual([true])
    })
  }
})
