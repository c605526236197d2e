// `punctual restore`: a backup replaces a store. The old store is kept. Nothing fires until the operator says what
// happens to overdue timers. A restore that was interrupted can be repeated.
import { Database } from "bun:sqlite"
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { basename } from "node:path"
import { Documents } from "@punctual/documents/Documents"
import { Effect } from "effect"
import { BulkRecords } from "../../../src/bulk/BulkRecords.ts"
import { migrations } from "../../../src/stores/sqlite/migrations/all.ts"
import { beforeLevel0 } from "../../../testkit/beforeLevel0.ts"
import { readSqliteContents } from "../../../testkit/SqliteContents.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"
import { sampleJob } from "../../bulk/sampleJob.ts"
import {
  backupOf,
  damage,
  filesIn,
  fill,
  restoredAt,
  runKeeping,
  serviceSettingsIn,
  within,
} from "./KeptStoreRig.ts"

setDefaultTimeout(60_000)

const folder = new TemporaryFolder()
afterAll(() => folder[Symbol.dispose]())
const fresh = filesIn(folder)

const restored = (path: string, ...args: ReadonlyArray<string>) => restoredAt(`sqlite:${path}`, ...args)

const epochsIn = (path: string): ReadonlyArray<number> => {
  const database = new Database(path, { readonly: true })
  const rows = database.query("SELECT epoch FROM shards ORDER BY shard").values()
  database.close()
  return rows.map(([epoch]) => Number(epoch))
}

const leftovers = (path: string) =>
  readdirSync(folder.path).filter((name) => name.startsWith(`${basename(path)}.restoring`))

describe("punctual restore", () => {
  test("restores everything, under epochs above all claimed ones, and leaves the store paused", async () => {
    const file = await backupOf(fresh, 20)
    const path = fresh()
    const { exitCode, out, err } = await restored(path, file)
    expect([exitCode, err]).toEqual([
      0,
      expect.stringContaining("20 pending timers, 2 in the history, 1 dead letter;"),
    ])
    expect(out).toContain("The store is paused")
    expect(readSqliteContents(path)).toEqual(readSqliteContents(file))
    expect(Math.min(...epochsIn(path))).toBeGreaterThan(Math.max(...epochsIn(file)))
    expect(leftovers(path)).toEqual([])
    const { pause } = await serviceSettingsIn(`sqlite:${path}`)
    expect(pause).toMatchObject({ kind: "restored", reason: expect.stringContaining("from a backup of") })
    // No timer can have fired since the backup was made. That time does not count against timers.
    expect(pause?.sinceMs).toBeLessThan(Date.now())
  })

  test("ends the jobs on many timers that ran when the backup was made, also after other tools restored it", async () => {
    const recordsIn = Effect.map(
      Documents,
      (documents) => new BulkRecords({ documents, now: Date.now, runningMax: 10 }),
    )
    const beginIn = (path: string) =>
      within(
        `sqlite:${path}`,
        Effect.flatMap(recordsIn, (records) => records.begin(sampleJob)),
      )
    const jobIn = (path: string) =>
      within(
        `sqlite:${path}`,
        Effect.gen(function* () {
          const records = yield* recordsIn
          return [yield* records.running, yield* records.find(sampleJob.jobId)] as const
        }),
      )
    const path = fresh()
    await fill(`sqlite:${path}`, 1)
    await beginIn(path)
    const file = fresh()
    await runKeeping("backup", "--store", `sqlite:${path}`, file)
    const other = fresh()
    expect((await restored(other, file)).exitCode).toBe(0)
    expect((await restored(path, "--force", "--due-before", "now", "fire")).exitCode).toBe(0)
    for (const store of [other, path]) {
      expect(await jobIn(store)).toMatchObject([
        [],
        { state: "failed", problem: expect.stringContaining("restored from a backup") },
      ])
    }
  })

  test("replaces an existing store only with --force, and keeps that store with the contents of its log", async () => {
    const file = await backupOf(fresh, 5)
    const path = fresh()
    await fill(`sqlite:${path}`, 7)
    const before = readSqliteContents(path)
    const refused = await restored(path, file)
    expect([refused.exitCode, refused.err]).toEqual([1, expect.stringContaining("--force")])
    expect(readSqliteContents(path)).toEqual(before)
    const { exitCode, err } = await restored(path, file, "--force")
    expect(exitCode).toBe(0)
    const kept = /is now (\S+)\.\n/.exec(err)?.[1] ?? ""
    expect(readSqliteContents(kept)).toEqual(before)
    expect(readSqliteContents(path).pending).toHaveLength(5)
    expect(Math.min(...epochsIn(path))).toBeGreaterThan(Math.max(...epochsIn(kept)))
  })

  test("does not apply the log of a killed service to the new store", async () => {
    const file = await backupOf(fresh, 5)
    const path = fresh()
    // A kill leaves a file, and a log with commits that are not in the file.
    const killed = fresh()
    await fill(`sqlite:${killed}`, 3)
    const live = new Database(killed)
    live.run("PRAGMA wal_autocheckpoint = 0")
    live.run("UPDATE timers SET attempts = 9")
    for (const ending of ["", "-wal"]) copyFileSync(`${killed}${ending}`, `${path}${ending}`)
    live.close()
    const { exitCode, err } = await restored(path, file, "--force")
    expect(exitCode).toBe(0)
    expect(existsSync(`${path}-wal`)).toBe(false)
    const kept = new Database(/is now (\S+)\.\n/.exec(err)?.[1] ?? "", { readonly: true })
    expect(kept.query("SELECT DISTINCT attempts FROM timers").values()).toEqual([[9]])
    kept.close()
    expect(readSqliteContents(path)).toEqual(readSqliteContents(file))
  })

  test("processes that have the old store open keep it, and restore fails during a running read", async () => {
    const file = await backupOf(fresh, 5)
    const path = fresh()
    await fill(`sqlite:${path}`, 3)
    const reader = new Database(path)
    const pending = () => reader.query("SELECT count(*) FROM timers").values()[0]?.[0]
    reader.run("UPDATE timers SET attempts = 9")
    reader.run("BEGIN")
    expect(pending()).toBe(3)
    const writer = new Database(path)
    writer.run("UPDATE timers SET attempts = 10")
    const refused = await restored(path, file, "--force")
    expect([refused.exitCode, refused.err]).toEqual([1, expect.stringContaining("is being read")])
    writer.close()
    reader.run("COMMIT")
    const { exitCode, err } = await restored(path, file, "--force")
    expect(exitCode).toBe(0)
    // The old log was moved into the kept file, and is not beside the new file.
    const kept = new Database(/is now (\S+)\.\n/.exec(err)?.[1] ?? "", { readonly: true })
    expect(kept.query("SELECT DISTINCT attempts FROM timers").values()).toEqual([[10]])
    kept.close()
    expect(existsSync(`${path}-wal`)).toBe(false)
    expect(pending()).toBe(3)
    reader.close()
    expect(readSqliteContents(path)).toEqual(readSqliteContents(file))
  })

  test("fails if the store is in use, even with --force", async () => {
    const file = await backupOf(fresh, 1)
    const path = fresh()
    const ended = await within(
      `sqlite:${path}`,
      Effect.promise(() => restored(path, file, "--force")),
    )
    expect([ended.exitCode, ended.err]).toEqual([1, expect.stringContaining("A service runs on")])
  })

  test("refuses a file that is not a backup, is damaged, or is newer than the program, and changes nothing", async () => {
    const good = await backupOf(fresh, 3)
    const path = fresh()
    await fill(`sqlite:${path}`, 1)
    const before = readFileSync(path)
    const [text, damaged, newer, foreign] = [fresh(), fresh(), fresh(), fresh()]
    writeFileSync(text, "not a database, but long enough to be looked at as one".repeat(100))
    copyFileSync(good, damaged)
    damage(damaged)
    copyFileSync(good, newer)
    const edited = new Database(newer)
    edited.run(`PRAGMA user_version = ${migrations.length + 1}`)
    edited.close()
    const other = new Database(foreign)
    other.run("CREATE TABLE theirs (a)")
    other.close()
    const cases: ReadonlyArray<readonly [string, RegExp]> = [
      [text, /not an SQLite database/],
      [damaged, /is damaged .* take another backup/],
      [newer, /has schema version/],
      [foreign, /another program/],
      [fresh(), /There is no file/],
      [path, /is the store itself/],
    ]
    for (const [file, why] of cases) {
      const { exitCode, err } = await restored(path, file, "--force")
      expect([exitCode, err]).toEqual([1, expect.stringMatching(why)])
    }
    expect(readFileSync(path)).toEqual(before)
    expect(leftovers(path)).toEqual([])
  })

  test("accepts a plain copy of a store's file, also of an older schema, and dates it by its contents", async () => {
    const source = fresh()
    await fill(`sqlite:${source}`, 2)
    const database = new Database(source)
    beforeLevel0(database)
    database.run("DROP TABLE documents")
    database.run("DROP TABLE documents_version")
    database.run("DROP TABLE lookups")
    for (const table of ["timers", "history", "dead"]) {
      for (const column of ["tags", "traceparent"]) database.run(`ALTER TABLE ${table} DROP COLUMN ${column}`)
    }
    database.run("ALTER TABLE history DROP COLUMN reason")
    database.run("PRAGMA user_version = 2")
    const [newestMs] = database.query("SELECT max(updated_at) FROM timers").values()[0] ?? []
    database.close()
    const path = fresh()
    expect((await restored(path, source)).exitCode).toBe(0)
    expect((await serviceSettingsIn(`sqlite:${path}`)).pause?.sinceMs).toBeGreaterThanOrEqual(
      Number(newestMs),
    )
    expect(existsSync(source)).toBe(true)
  })

  test("gives the new store the mode of the store that it replaces, or else of the backup", async () => {
    const file = await backupOf(fresh, 1)
    const [path, there] = [fresh(), fresh()]
    await fill(`sqlite:${there}`, 1)
    chmodSync(there, 0o640)
    chmodSync(file, 0o400)
    expect((await restored(path, file)).exitCode).toBe(0)
    expect((await restored(there, file, "--force")).exitCode).toBe(0)
    expect([path, there].map((store) => statSync(store).mode & 0o777)).toEqual([0o600, 0o640])
  })

  test("works after an earlier restore was killed", async () => {
    const file = await backupOf(fresh, 2)
    const path = fresh()
    for (const ending of ["", "-wal", "-shm", ".lock"]) writeFileSync(`${path}.restoring${ending}`, "half")
    expect((await restored(path, file)).exitCode).toBe(0)
    expect(leftovers(path)).toEqual([])
  })

  test("on PostgreSQL names the right tool", async () => {
    const ended = await restoredAt("postgres://u@127.0.0.1:1/db", fresh())
    expect([ended.exitCode, ended.err]).toEqual([1, expect.stringContaining("pg_restore")])
  })

  test("explains its usage", async () => {
    const path = fresh()
    const wrong: ReadonlyArray<readonly [ReadonlyArray<string>, RegExp]> = [
      [[], /Name the backup/],
      [["a.db", "dead"], /--due-before T dead/],
      [["a.db", "--due-before", "now"], /fire, dead or discard/],
      [["a.db", "--due-before", "tomorrow", "fire"], /an instant with an offset/],
      [["a.db", "b.db", "--due-before", "now", "fire"], /.*/],
    ]
    for (const [args, why] of wrong) {
      const { exitCode, err } = await restored(path, ...args)
      expect([exitCode, err]).toEqual([2, expect.stringMatching(why)])
    }
  })
})
