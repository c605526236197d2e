// `punctual migrate`: it names the old and the new version, works from every earlier state, and does nothing twice.
import { Database } from "bun:sqlite"
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { SQL } from "bun"
import { Effect, Layer } from "effect"
import { programVersion } from "../../../src/stores/postgres/migrations/all.ts"
import { migrations } from "../../../src/stores/sqlite/migrations/all.ts"
import { beforeLevel0 } from "../../../testkit/beforeLevel0.ts"
import { describePostgres } from "../../../testkit/PostgresBinaries.ts"
import { serverForTests } from "../../../testkit/postgres.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"
import { fill, runKeeping, shards, storeAt } from "./KeptStoreRig.ts"

setDefaultTimeout(30_000)

const migrated = (url: string, ...args: ReadonlyArray<string>) =>
  runKeeping("migrate", "--store", url, ...args)

interface StoreUnderTest {
  readonly url: () => string
  readonly newest: number
  /** Leaves the store as a program of another version would. */
  readonly setVersion: (url: string, version: number) => Promise<void>
  readonly versionOf: (url: string) => Promise<number>
}

const lawsOfMigrate = ({ url: fresh, newest, setVersion, versionOf }: StoreUnderTest): void => {
  test("migrate creates a missing store, and a second migrate has nothing to do", async () => {
    const url = fresh()
    const check = await migrated(url, "--check")
    expect([check.exitCode, check.out]).toEqual([1, expect.stringContaining("would create it")])
    const made = await migrated(url)
    expect([made.exitCode, made.out]).toEqual([0, expect.stringContaining(`with schema version ${newest}`)])
    expect(await versionOf(url)).toBe(newest)
    const again = await migrated(url)
    expect([again.exitCode, again.out]).toEqual([0, expect.stringContaining("nothing to do")])
    expect((await migrated(url, "--check")).exitCode).toBe(0)
    // The new store works like any other.
    await fill(url, 1)
  })

  test("migrate refuses a newer schema", async () => {
    const url = fresh()
    await migrated(url)
    await setVersion(url, newest + 1)
    for (const args of [[], ["--check"]]) {
      const { exitCode, err } = await migrated(url, ...args)
      expect([exitCode, err]).toEqual([1, expect.stringContaining(`has schema version ${newest + 1}`)])
    }
    expect(await versionOf(url)).toBe(newest + 1)
  })
}

describe("punctual migrate on SQLite", () => {
  const folder = new TemporaryFolder()
  afterAll(() => folder[Symbol.dispose]())
  let names = 0
  const fresh = () => `sqlite:${join(folder.path, `${++names}.db`)}`
  const pathOf = (url: string) => url.slice("sqlite:".length)
  const editing = <A>(url: string, edit: (database: Database) => A): A => {
    const database = new Database(pathOf(url))
    try {
      return edit(database)
    } finally {
      database.close()
    }
  }
  const versionOf = async (url: string) =>
    editing(url, (database) => Number(database.query("PRAGMA user_version").values()[0]?.[0]))

  lawsOfMigrate({
    url: fresh,
    newest: migrations.length,
    versionOf,
    setVersion: async (url, version) => {
      editing(url, (database) => database.run(`PRAGMA user_version = ${version}`))
    },
  })

  /** As the first version of the program made it, with another number of shards than the current setting. */
  const asVersionOne = (url: string) =>
    editing(url, (database) => {
      database.run("PRAGMA journal_mode = WAL")
      database.run(migrations[0] ?? "")
      database.run(`PRAGMA application_id = ${0x50554e43}`)
      database.run("PRAGMA user_version = 1")
      for (let shard = 0; shard < shards - 1; shard++) {
        database.run(`INSERT INTO shards (shard) VALUES (${shard})`)
        database.run(`INSERT INTO tally (shard) VALUES (${shard})`)
      }
    })

  test("migrate updates an older schema step by step, and keeps its shards", async () => {
    const url = fresh()
    asVersionOne(url)
    const check = await migrated(url, "--check", "--json")
    expect(check.exitCode).toBe(1)
    const steps = migrations.slice(1).map((_, index) => index + 2)
    expect(JSON.parse(check.out)).toEqual({ store: url, from: 1, to: migrations.length, wouldApply: steps })
    expect(await versionOf(url)).toBe(1)
    const done = await migrated(url, "--json")
    expect([done.exitCode, JSON.parse(done.out)]).toMatchObject([
      0,
      { from: 1, to: migrations.length, applied: steps },
    ])
    expect(await versionOf(url)).toBe(migrations.length)
    expect(editing(url, (database) => database.query("SELECT count(*) FROM shards").values())).toEqual([[3]])
  })

  test("migrate does not touch a store that is in use", async () => {
    const url = fresh()
    const ended = await Effect.runPromise(
      Effect.gen(function* () {
        yield* Layer.build(storeAt(url))
        // The store looks as if an older program made it.
        yield* Effect.sync(() =>
          editing(url, (database) => {
            beforeLevel0(database)
            database.run("DROP TABLE documents")
            database.run("DROP TABLE lookups")
            database.run("ALTER TABLE timers DROP COLUMN traceparent")
            database.run("PRAGMA user_version = 4")
          }),
        )
        return yield* Effect.promise(() => migrated(url))
      }).pipe(Effect.scoped),
    )
    expect([ended.exitCode, ended.err]).toEqual([1, expect.stringContaining("another process is using it")])
  })

  test("migrate --check creates nothing", async () => {
    const url = fresh()
    await migrated(url, "--check")
    expect([existsSync(pathOf(url)), existsSync(`${pathOf(url)}.lock`)]).toEqual([false, false])
  })
})

describePostgres("installed", "punctual migrate on PostgreSQL", () => {
  const server = serverForTests("installed")
  const asking = async (url: string, text: string): Promise<ReadonlyArray<{ readonly version?: number }>> => {
    const schema = new URL(url).searchParams.get("schema")
    await using sql = new SQL({ url: server().url, max: 1 })
    return await sql.unsafe(text.replaceAll("$schema", schema ?? ""))
  }
  lawsOfMigrate({
    url: () => server().database().url,
    newest: programVersion,
    versionOf: async (url) =>
      (await asking(url, "SELECT max(version) AS version FROM $schema.migrations"))[0]?.version ?? 0,
    setVersion: async (url, version) => {
      await asking(url, `INSERT INTO $schema.migrations (version) VALUES (${version})`)
    },
  })

  test("migrate works while nodes run, and the nodes keep running", async () => {
    const { url } = server().database()
    const beside = await Effect.runPromise(
      Effect.gen(function* () {
        yield* Layer.build(storeAt(url))
        return yield* Effect.promise(() => migrated(url))
      }).pipe(Effect.scoped),
    )
    expect([beside.exitCode, beside.out]).toEqual([0, expect.stringContaining("nothing to do")])
  })
})
