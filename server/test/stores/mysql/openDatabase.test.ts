// What a user reads when the store cannot be opened, on real servers.
import { expect, test } from "bun:test"
import { Effect, Layer } from "effect"
import { whyMysqlUnfit } from "../../../src/stores/mysql/checkMysql.ts"
import { mysqlKeeper } from "../../../src/stores/mysql/mysqlKeeper.ts"
import { makeCertificates } from "../../../testkit/Certificates.ts"
import { type MysqlFlavour, MysqlServer } from "../../../testkit/MysqlServer.ts"
import { describeMysql, mysqlForTests, mysqlStoreAt, targetAt } from "../../../testkit/mysql.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"

const failureOf = async (url: string, shards = 1) => {
  const failure = await Effect.runPromise(Effect.scoped(Effect.flip(Layer.build(mysqlStoreAt(url, shards)))))
  expect(failure.message).not.toContain("secret")
  return failure
}

/** Runs with a global setting, which new sessions get. */
const withSetting = async (
  server: MysqlServer,
  { name, value, usual }: { readonly name: string; readonly value: string; readonly usual: string },
  use: () => Promise<void>,
): Promise<void> => {
  await server.admin(`SET GLOBAL ${name} = ${value}`)
  try {
    await use()
  } finally {
    await server.admin(`SET GLOBAL ${name} = ${usual}`)
  }
}

for (const flavour of ["mysql", "mariadb"] satisfies ReadonlyArray<MysqlFlavour>) {
  describeMysql(flavour, `a store that cannot be opened on ${flavour}`, () => {
    const server = mysqlForTests(flavour)

    test("a wrong password, an unknown database and missing rights are told apart", async () => {
      const { url, name } = await server().database()
      await server().admin(
        "CREATE USER IF NOT EXISTS poor@'%' IDENTIFIED BY 'secret'",
        `GRANT SELECT ON ${name}.* TO poor@'%'`,
      )
      expect(await failureOf(url.replace(":secret@", ":secret2@"))).toMatchObject({
        reason: "refused",
        message: expect.stringContaining("refused the password of the user test"),
      })
      expect(await failureOf(url.replace(name, "nothing"))).toMatchObject({
        reason: "refused",
        message: expect.stringContaining("there is no database nothing"),
      })
      expect(await failureOf(url.replace("test:", "poor:"))).toMatchObject({
        reason: "refused",
        message: expect.stringContaining("the user poor lacks rights"),
      })
    })

    test("a server that is not there is named, and so is a host that does not exist", async () => {
      expect(await failureOf(`${flavour}://test:secret@127.0.0.1:1/timers`)).toMatchObject({
        reason: "unreachable",
        message: expect.stringContaining("cannot be reached"),
      })
      expect((await failureOf(`${flavour}://test:secret@nothing.invalid/timers`)).message).toContain(
        "the host name nothing.invalid cannot be resolved",
      )
    })

    test("the scheme must name the product", async () => {
      const { url } = await server().database()
      const other = flavour === "mysql" ? "mariadb" : "mysql"
      expect((await failureOf(url.replace(flavour, other))).message).toContain(
        `begin the store's URL with ${flavour}://`,
      )
    })

    test("a server that could lose acknowledged timers is refused", async () => {
      const { url } = await server().database()
      const setting = { name: "innodb_flush_log_at_trx_commit", value: "2", usual: "1" }
      await withSetting(server(), setting, async () => {
        expect(await failureOf(url)).toMatchObject({
          reason: "notDurable",
          message: expect.stringContaining("innodb_flush_log_at_trx_commit=2"),
        })
      })
    })

    test("a server that is read-only, or takes only small packets, is refused", async () => {
      const { url } = await server().database()
      await withSetting(server(), { name: "read_only", value: "1", usual: "0" }, async () => {
        expect(await failureOf(url)).toMatchObject({ reason: "standby" })
      })
      const small = { name: "max_allowed_packet", value: "1048576", usual: "16777216" }
      await withSetting(server(), small, async () => {
        expect((await failureOf(url)).message).toContain("max_allowed_packet=1048576")
      })
    })

    test("a database of another program, of a newer program or with other shards is refused", async () => {
      const { url, name } = await server().database()
      await Effect.runPromise(Effect.scoped(Layer.build(mysqlStoreAt(url, 2))))
      expect(await failureOf(url, 3)).toMatchObject({ reason: "otherShardCount" })
      await server().admin(`INSERT INTO ${name}.migrations (version) VALUES (999)`)
      expect(await failureOf(url, 2)).toMatchObject({ reason: "newerSchema" })
      const other = await server().database()
      await server().admin(`CREATE TABLE ${other.name}.orders (id int)`)
      expect(await failureOf(other.url)).toMatchObject({ reason: "otherProgram" })
    })

    test("a migration that ended half-way is finished by the next start, and two starts do not disturb each other", async () => {
      const { url, name } = await server().database()
      await server().admin(`CREATE TABLE ${name}.migrations (version int NOT NULL PRIMARY KEY)`)
      const open = () => Effect.runPromise(Effect.scoped(Layer.build(mysqlStoreAt(url, 2))))
      await Promise.all([open(), open(), open()])
      const rows = await server().admin<{ readonly shards: number }>(
        `SELECT COUNT(*) AS shards FROM ${name}.shards`,
      )
      expect(rows[0]?.shards).toBe(2)
    })

    test("the doctor reports what is there, and a missing store is not created", async () => {
      const { url } = await server().database()
      const examined = Effect.scoped(
        Effect.flatMap(mysqlKeeper(targetAt(url)).examination(Date.now), ({ examine }) =>
          examine({ overdueBeforeMs: 0, overdueBeforeMsIfPaused: 0, isFull: false }),
        ),
      )
      const missing = await Effect.runPromise(Effect.flip(examined))
      expect(missing.message).toContain("There is no store")
      await Effect.runPromise(Effect.scoped(Layer.build(mysqlStoreAt(url, 2))))
      const report = await Effect.runPromise(examined)
      expect(report).toMatchObject({ store: flavour, faults: [], unreadable: [], overdue: { count: 0 } })
      expect(report.shards.length).toBe(2)
      expect(report.sizes.map(({ name }) => name)).toContain("timers")
    })

    test("TLS: required, checked, and refused with what to do", async () => {
      const { url } = await server().database()
      if (flavour === "mariadb") {
        // This server has no certificate.
        expect((await failureOf(`${url}?sslmode=require`)).message).toContain("offers no TLS")
        return
      }
      await Effect.runPromise(Effect.scoped(Layer.build(mysqlStoreAt(`${url}?sslmode=require`, 1))))
      expect((await failureOf(`${url}?sslmode=verify-full`)).message).toContain("cannot be trusted")
      await server().admin("CREATE USER IF NOT EXISTS safe@'%' IDENTIFIED BY 'secret' REQUIRE SSL")
      expect((await failureOf(url.replace("test:", "safe:"))).reason).toBe("refused")
    })
  })
}

for (const flavour of ["mysql", "mariadb"] satisfies ReadonlyArray<MysqlFlavour>) {
  describeMysql(flavour, `certificates on ${flavour}`, () => {
    test("a certificate of a known authority is accepted, and one of another is refused", async () => {
      using own = new TemporaryFolder()
      using foreign = new TemporaryFolder()
      const certificates = makeCertificates(own.path)
      await using server = await MysqlServer.start(flavour, { tls: certificates })
      const { url } = await server.database()
      const checked = (caFile: string) => `${url}?sslmode=verify-full&sslrootcert=${caFile}`
      await Effect.runPromise(Effect.scoped(Layer.build(mysqlStoreAt(checked(certificates.caFile), 1))))
      const { message } = await failureOf(checked(makeCertificates(foreign.path).caFile))
      expect(message).toContain("cannot be trusted")
    }, 60_000)
  })
}

test("servers that are too old or not durable are refused by what they report", () => {
  const why = (flavour: MysqlFlavour, version: string, settings: Readonly<Record<string, string>> = {}) =>
    whyMysqlUnfit({ name: "x", flavour }, version, new Map(Object.entries(settings)))?.[0]
  expect(why("mysql", "5.7.44-log")).toBe("serverTooOld")
  expect(why("mysql", "8.0.36")).toBeUndefined()
  expect(why("mariadb", "10.6.18-MariaDB")).toBe("serverTooOld")
  expect(why("mariadb", "5.5.5-10.11.6-MariaDB-log")).toBeUndefined()
  expect(why("tidb", "8.0.11-TiDB-v6.5.0")).toBe("serverTooOld")
  expect(why("tidb", "8.0.11-TiDB-v8.4.0-alpha")).toBeUndefined()
  expect(why("mysql", "9.7.4", { innodb_doublewrite: "OFF" })).toBe("notDurable")
})
