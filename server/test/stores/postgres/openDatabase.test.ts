import { describe, expect, test } from "bun:test"
import { chmodSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { whyUnfit } from "@punctual/sql/checkServer"
import { Effect } from "effect"
import { ShardLeases } from "../../../src/ports/ShardLeases.ts"
import { connectionTo } from "../../../src/stores/postgres/connectionTo.ts"
import { postgresLeases } from "../../../src/stores/postgres/Leases.ts"
import { migrations, oldestVersion, programVersion } from "../../../src/stores/postgres/migrations/all.ts"
import { openDatabase } from "../../../src/stores/postgres/openDatabase.ts"
import { PostgresStore } from "../../../src/stores/postgres/PostgresStore.ts"
import { describePostgres } from "../../../testkit/PostgresBinaries.ts"
import { PostgresServer } from "../../../testkit/PostgresServer.ts"
import { serverForTests } from "../../../testkit/postgres.ts"
import { expectMovedSettings, settingsOfBefore } from "../../../testkit/settingsOfBefore.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"

const open = (url: string, shards = 2) =>
  Effect.runPromise(
    Effect.flatMap(ShardLeases, (leases) => leases.owners).pipe(
      Effect.provide(PostgresStore.layer({ url, shards })),
      Effect.scoped,
      Effect.result,
    ),
  )

const refusal = async (url: string, shards = 2) => {
  const opened = await open(url, shards)
  if (opened._tag === "Success") throw new Error("the store was opened")
  const error = opened.failure
  if (error._tag !== "StoreOpenError") throw new Error(`not an opening error: ${error.message}`)
  expect(error.message).not.toContain("\n")
  return error
}

const using = async <A>(url: string, use: (sql: Bun.SQL) => Promise<A>): Promise<A> => {
  const sql = new Bun.SQL({ url, max: 1 })
  try {
    return await use(sql)
  } finally {
    await sql.close()
  }
}

describePostgres("installed", "opening a PostgreSQL store", () => {
  const server = serverForTests("installed")

  test("creates the schema and all shards, and opens it again", async () => {
    const { url } = server().database()
    for (let time = 0; time < 2; time++) {
      const opened = await open(url, 5)
      expect(opened._tag === "Success" && opened.success.map(({ shard }) => shard)).toEqual([0, 1, 2, 3, 4])
    }
  })

  test("the schema is named punctual unless the URL names another", async () => {
    expect((await open(server().url))._tag).toBe("Success")
    const [row] = await using(server().url, (sql) =>
      sql.unsafe("SELECT version FROM punctual.migrations ORDER BY 1 DESC"),
    )
    expect(row).toEqual({ version: programVersion })
  })

  test("nodes that start together create it once", async () => {
    const { url } = server().database()
    const opened = await Promise.all(Array.from({ length: 4 }, () => open(url, 3)))
    expect(opened.map(({ _tag }) => _tag)).toEqual(["Success", "Success", "Success", "Success"])
  })

  /** A store after the first migrations, up to this version. */
  const makeOld = (schema: string, version: number, fill: string): Promise<unknown> =>
    using(server().url, (sql) =>
      sql.begin(async (tx) => {
        await tx.unsafe(`CREATE SCHEMA ${schema}`)
        await tx.unsafe(`SET LOCAL search_path TO ${schema}`)
        await tx.unsafe(
          "CREATE TABLE migrations (version integer PRIMARY KEY, applied_at timestamptz DEFAULT now())",
        )
        for (const migration of migrations) {
          if (migration.version <= version) await tx.unsafe(migration.text).simple()
        }
        await tx.unsafe("INSERT INTO migrations SELECT generate_series(1, $1::integer)", [version])
        await tx.unsafe(fill).simple()
      }),
    )

  test("migrates a store of an older program, and keeps its contents", async () => {
    for (const { version } of migrations) {
      const { url, schema } = server().database()
      await makeOld(
        schema,
        version,
        `INSERT INTO shards (shard, epoch) VALUES (0, 7), (1, 8);
         INSERT INTO leases (shard, epoch) VALUES (0, 7), (1, 8);`,
      )
      const opened = await open(url, 2)
      expect(opened._tag === "Success" && opened.success.map(({ epoch }) => epoch)).toEqual([7, 8])
    }
  })

  test("refuses a store from before the first release, and says what to do", async () => {
    const { url, schema } = server().database()
    await makeOld(schema, oldestVersion, "DELETE FROM migrations WHERE version > 3")
    const opened = await open(url, 2)
    expect(opened).toMatchObject({ failure: { reason: "olderSchema" } })
    expect(String(opened._tag === "Failure" && opened.failure)).toContain("name another schema")
  })

  test("creates the functions of this program once, and removes those of old programs", async () => {
    const { url, schema } = server().database()
    await openDatabase(url, 1)
    const hashes = () =>
      using(
        server().url,
        (sql): Promise<ReadonlyArray<{ hash: string }>> =>
          sql.unsafe(`SELECT hash FROM ${schema}.functions ORDER BY hash`),
      )
    const functions = () =>
      using(
        server().url,
        (sql): Promise<ReadonlyArray<{ proname: string }>> =>
          sql.unsafe(
            `SELECT proname FROM pg_proc WHERE pronamespace = '${schema}'::regnamespace ORDER BY proname`,
          ),
      )
    const [own] = await hashes()
    const made = await functions()
    expect(made.map(({ proname }) => proname)).toEqual(
      ["change_others", "change_words", "claim_shard", "commit_changes", "insert_new"].map(
        (name) => `${name}_${own?.hash}`,
      ),
    )
    // Other programs have opened the store since: one long ago, and one that may still run.
    await using(server().url, async (sql) => {
      for (const { proname } of made) {
        await sql.unsafe(
          `ALTER FUNCTION ${schema}.${proname} RENAME TO ${proname.replace(/_[0-9a-f]+$/, "_old")}`,
        )
      }
      for (const type of ["change", "word"]) {
        await sql.unsafe(`ALTER TYPE ${schema}.${type}_${own?.hash} RENAME TO ${type}_old`)
      }
      await sql.unsafe(`DELETE FROM ${schema}.functions`)
      await sql.unsafe(`INSERT INTO ${schema}.functions (hash, used_at)
        VALUES ('old', now() - interval '31 days'), ('recent', now() - interval '29 days')`)
    })
    await openDatabase(url, 1)
    expect((await hashes()).map(({ hash }) => hash).sort()).toEqual([own?.hash ?? "", "recent"].sort())
    expect(await functions()).toEqual(made)
  })

  test("keeps the functions of a program that has opened the store again", async () => {
    const { url, schema } = server().database()
    await openDatabase(url, 1)
    const openedAt = () =>
      using(
        server().url,
        (sql): Promise<ReadonlyArray<{ is_recent: boolean }>> =>
          sql.unsafe(`SELECT used_at > now() - interval '1 day' AS is_recent FROM ${schema}.functions`),
      )
    await using(server().url, (sql) =>
      sql.unsafe(`UPDATE ${schema}.functions SET used_at = now() - interval '31 days'`),
    )
    await openDatabase(url, 1)
    expect([...(await openedAt())]).toEqual([{ is_recent: true }])
  })

  test("keeps the functions of a node that has run for longer, while it announces itself", async () => {
    const { url, schema } = server().database()
    const { place } = await openDatabase(url, 1)
    const ageInDays = async () => {
      const rows = await using(
        server().url,
        (sql): Promise<ReadonlyArray<{ days: number }>> =>
          sql.unsafe(`SELECT extract(day FROM now() - used_at)::integer AS days FROM ${schema}.functions`),
      )
      return rows[0]?.days
    }
    const setAge = (days: number) =>
      using(server().url, (sql) =>
        sql.unsafe(`UPDATE ${schema}.functions SET used_at = now() - interval '${days} days'`),
      )
    const announceOnce = async () => {
      const connection = connectionTo(place)
      const member = { node: "first", address: "", isLeaving: false }
      await postgresLeases.announce(connection, member, "a process")
      await connection.close()
    }
    await setAge(2)
    await announceOnce()
    expect(await ageInDays()).toBe(0)
  })

  test("moves old settings into documents and keeps their versions", async () => {
    const { url, schema } = server().database()
    await makeOld(
      schema,
      7,
      `INSERT INTO shards (shard) VALUES (0); INSERT INTO leases (shard) VALUES (0); ${settingsOfBefore};
       UPDATE settings_version SET version = 12;`,
    )
    await expectMovedSettings(PostgresStore.layer({ url, shards: 1, connections: 4 }))
    const left = await using(server().url, (sql) =>
      sql.unsafe(
        `SELECT to_regclass('${schema}.namespaces') AS rows, to_regclass('${schema}.settings_version') AS version,
          to_regproc('${schema}.put_settings') AS writing`,
      ),
    )
    expect([...left]).toEqual([{ rows: null, version: null, writing: null }])
  })

  test("refuses a newer schema and names both versions", async () => {
    const { url, schema } = server().database()
    await open(url)
    await using(server().url, (sql) => sql.unsafe(`INSERT INTO ${schema}.migrations (version) VALUES (99)`))
    const { reason, message } = await refusal(url)
    expect(reason).toBe("newerSchema")
    expect(message).toContain("schema version 99")
  })

  test("refuses another shard count, because it is fixed when the store is created", async () => {
    const { url } = server().database()
    await open(url, 2)
    const { reason, message } = await refusal(url, 3)
    expect(reason).toBe("otherShardCount")
    expect(message).toContain(
      "has 2 shards, but TIMER_SHARDS is 3: the number is fixed when the store is created",
    )
  })

  test("refuses another program's schema", async () => {
    const { url, schema } = server().database()
    await using(server().url, (sql) =>
      sql.unsafe(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.notes (text text)`).simple(),
    )
    expect((await refusal(url)).reason).toBe("otherProgram")
  })

  test("refuses an unreachable server, a missing database, and a user without rights", async () => {
    const { host, port, url } = server()
    const away = await refusal(`postgres://someone:secret@${host}:1/timers`)
    expect(away.reason).toBe("unreachable")
    expect(away.message).toContain(`${host}:1/timers`)
    expect(away.message).not.toContain("secret")
    expect((await refusal(`postgres://postgres@${host}:${port}/nowhere`)).reason).toBe("refused")
    await using(url, (sql) => sql.unsafe("CREATE ROLE guest LOGIN"))
    expect((await refusal(`postgres://guest@${host}:${port}/postgres?schema=guests`)).reason).toBe("refused")
  })

  test("says that a host name cannot be resolved, which is no refused connection", async () => {
    const { reason, message } = await refusal("postgres://someone:hunter2@nosuch.invalid:5432/timers")
    expect(reason).toBe("unreachable")
    expect(message).toContain("the host name nosuch.invalid cannot be resolved (ENOTFOUND)")
    expect(message).toContain("TIMER_STORE_URL")
    expect(message).not.toMatch(/refused|hunter2/i)
    const { host } = server()
    expect((await refusal(`postgres://someone@${host}:1/timers`)).message).toContain("the server must run")
  })

  test("says which user and which setting a wrong password is of, and no password", async () => {
    using folder = new TemporaryFolder()
    const rules = join(folder.path, "hba.conf")
    writeFileSync(
      rules,
      "host all guarded 127.0.0.1/32 scram-sha-256\nhost all barred 127.0.0.1/32 reject\nhost all all 127.0.0.1/32 trust\n",
    )
    for (const path of [rules, folder.path]) chmodSync(path, 0o755)
    await using guarded = await PostgresServer.start("installed", { settings: { hba_file: rules } })
    const { host, port, url } = guarded
    await using(url, (sql) => sql.unsafe("CREATE ROLE guarded LOGIN PASSWORD 'right'"))
    const refusalOf = (user: string, database = "postgres") =>
      refusal(`postgres://${user}@${host}:${port}/${database}`)
    const wrong = await refusalOf("guarded:hunter2")
    expect(wrong.reason).toBe("refused")
    expect(wrong.message).toContain(
      "the server refused the password of the user guarded: correct user and password in the store's URL (TIMER_STORE_URL).",
    )
    expect(wrong.message).not.toMatch(/hunter2|right/)
    expect((await refusalOf("barred")).message).toContain("the server does not let the user barred log in")
    expect((await refusalOf("postgres", "nowhere")).message).toContain("there is no database nowhere")
    await using(url, (sql) => sql.unsafe("CREATE ROLE guest LOGIN"))
    expect((await refusalOf("guest")).message).toContain("the user guest must own the schema punctual")
  })

  test("refuses a text that is not a URL, and a schema with an invalid name", async () => {
    expect((await refusal("nonsense")).reason).toBe("invalidUrl")
    expect((await refusal(`${server().url}?schema=a"b`)).reason).toBe("invalidUrl")
    expect((await refusal(`${server().url}?schema=pg_own`)).reason).toBe("invalidUrl")
  })

  test("has views that show times in a readable form", async () => {
    const { url, schema } = server().database()
    await open(url)
    const rows: ReadonlyArray<Record<string, unknown>> = await using(server().url, (sql) =>
      sql
        .unsafe(`INSERT INTO ${schema}.timers VALUES (1750000000123, 1, 1, 1, 1, NULL, NULL, 0, 0, gen_random_uuid(),
        gen_random_uuid(), 'shop', 'a', 'c', NULL, '{}', '{"n":"é"}'::text::bytea);
        SELECT fire_at AT TIME ZONE 'UTC' AS shown, payload FROM ${schema}.timers_readable`)
        .simple(),
    ).then((results: ReadonlyArray<ReadonlyArray<Record<string, unknown>>>) => results[1] ?? [])
    expect(String(rows[0]?.["payload"])).toContain('{"n":')
    expect(new Date(String(rows[0]?.["shown"])).toISOString()).toContain("2025-06-15")
  })
})

describePostgres("installed", "a PostgreSQL server that may lose acknowledged writes", () => {
  test("is refused if it does not sync, or writes half pages", async () => {
    for (const setting of ["fsync", "full_page_writes"]) {
      await using server = await PostgresServer.start("installed", { settings: { [setting]: "off" } })
      const { reason, message } = await refusal(server.url)
      expect(reason).toBe("notDurable")
      expect(message).toContain(`${setting}=off`)
    }
  }, 20_000)

  test("is used with commits that wait for the disk, even if its default is different", async () => {
    await using server = await PostgresServer.start("installed", { settings: { synchronous_commit: "off" } })
    const { place, warnings } = await openDatabase(server.url, 1)
    expect(place.settings["synchronous_commit"]).toBe("on")
    expect(warnings.join()).toContain("synchronous_commit is off")
  }, 20_000)
})

describe("the report of a server about itself", () => {
  const sound = {
    version: 15,
    fsync: "on",
    full_page_writes: "on",
    synchronous_commit: "on",
    encoding: "UTF8",
    is_standby: false,
  }

  test("is sufficient from version 15 on", () => {
    expect(whyUnfit(sound, "here", "timers")).toBeUndefined()
    expect(whyUnfit({ ...sound, version: 14 }, "here", "timers")?.reason).toBe("serverTooOld")
  })

  test("is not sufficient for a standby, nor in another encoding", () => {
    expect(whyUnfit({ ...sound, is_standby: true }, "here", "timers")?.reason).toBe("standby")
    expect(whyUnfit({ ...sound, encoding: "LATIN1" }, "here", "timers")?.reason).toBe("otherEncoding")
  })
})
