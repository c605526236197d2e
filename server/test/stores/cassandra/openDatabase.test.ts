// What an operator is told if a store in Cassandra cannot be opened. The server wants users, offers encryption, and
// acknowledges writes before they are on its disk.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { Effect, Layer, type Scope } from "effect"
import { CassandraStore } from "../../../src/stores/cassandra/CassandraStore.ts"
import { cassandraKeeper } from "../../../src/stores/cassandra/cassandraKeeper.ts"
import { checkServers } from "../../../src/stores/cassandra/openDatabase.ts"
import { Session } from "../../../src/stores/cassandra/Session.ts"
import { CassandraServer, missingCassandra } from "../../../testkit/CassandraServer.ts"
import { makeCertificates } from "../../../testkit/Certificates.ts"
import { targetOf } from "../../../testkit/cassandra.ts"
import { describeNeeding } from "../../../testkit/describeUnless.ts"
import { eventually } from "../../../testkit/eventually.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"

const password = "a-password-that-no-message-shows"

describeNeeding(missingCassandra(), "a store in Cassandra that cannot be opened", () => {
  const folder = new TemporaryFolder()
  let server: CassandraServer
  let admin: Session
  let caFile: string

  beforeAll(async () => {
    const certificates = makeCertificates(folder.path)
    caFile = certificates.caFile
    const keystore = join(folder.path, "server.p12")
    execFileSync("openssl", [
      ...["pkcs12", "-export", "-in", certificates.certFile, "-inkey", certificates.keyFile],
      ...["-out", keystore, "-passout", "pass:keystore", "-name", "server"],
    ])
    server = await CassandraServer.start({
      settings: {
        commitlog_sync: "periodic",
        commitlog_sync_period: "10000ms",
        authenticator: "PasswordAuthenticator",
        authorizer: "CassandraAuthorizer",
        client_encryption_options: `{enabled: true, optional: true, keystore: ${keystore}, keystore_password: keystore, store_type: PKCS12}`,
      },
    })
    // The server makes its first user shortly after it has begun to listen.
    admin = await eventually("the first user can log in", () =>
      Session.connect(targetOf(urlOf("cassandra:cassandra"))).catch(() => undefined),
    )
    for (const [name, access] of [
      ["owner", "SUPERUSER = true AND LOGIN = true"],
      ["guest", "LOGIN = true"],
    ])
      await admin.define(`CREATE ROLE ${name} WITH PASSWORD = '${password}' AND ${access}`)
  }, 240_000)

  afterAll(async () => {
    await admin?.close()
    await server?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const urlOf = (login: string, rest = "&commitlog=periodic", keyspace = "punctual"): string =>
    `cassandra://${login === "" ? "" : `${login}@`}${server.process.address}/${keyspace}?replication=1${rest}`

  const owner = `owner:${password}`

  const failureIn = async <A>(open: Effect.Effect<A, { readonly message: string }, Scope.Scope>) => {
    const message = await Effect.runPromise(
      Effect.scoped(
        Effect.match(open, { onSuccess: () => "it was opened", onFailure: (failure) => failure.message }),
      ),
    )
    expect(message).not.toContain(password)
    return message
  }

  const failureOf = (url: string, shards = 64): Promise<string> =>
    failureIn(Layer.build(CassandraStore.layer({ target: targetOf(url), shards })))

  test("says who was refused, and never shows a password", async () => {
    expect(await failureOf(urlOf("owner:wrong"))).toContain(
      "refused the user owner. Correct user and password",
    )
    expect(await failureOf(urlOf(""))).toContain("refused a client without a user")
    const guest = await failureOf(urlOf(`guest:${password}`))
    expect(guest).toContain("the user guest needs CREATE, ALTER, SELECT and MODIFY on the keyspace punctual")
  })

  test("names a setting of the servers that could lose timers, and accepts it if the operator does", async () => {
    const refused = await failureOf(urlOf(owner, ""))
    expect(refused).toContain("commitlog_sync: periodic")
    expect(refused).toContain("commitlog_sync: group")
    expect(await failureOf(urlOf(owner))).toBe("it was opened")
  })

  test("refuses a keyspace that does not keep its writes, or has too few copies", async () => {
    const replication = "replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}"
    await admin.define(`CREATE KEYSPACE lossy WITH ${replication} AND durable_writes = false`)
    expect(await failureOf(urlOf(owner, "&commitlog=periodic", "lossy"))).toContain("durable_writes = true")
    await admin.define(`CREATE KEYSPACE thin WITH ${replication}`)
    const thin = urlOf(owner, "&commitlog=periodic", "thin").replace("replication=1", "replication=3")
    expect(await failureOf(thin)).toContain(
      "has 1 copies of each row in the data centre datacenter1, and the URL wants 3",
    )
  })

  test("refuses another number of shards, another data centre and a newer schema", async () => {
    const url = urlOf(owner, "&commitlog=periodic&store=kept")
    expect(await failureOf(url)).toBe("it was opened")
    expect(await failureOf(url, 128)).toContain("has 64 shards, but TIMER_SHARDS is 128")
    expect(await failureOf(`${url}&dc=elsewhere`)).toContain("Set dc in TIMER_STORE_URL")
    await admin.use("punctual")
    await admin.rows("UPDATE stores SET data_center = 'berlin' WHERE store = 'kept'")
    expect(await failureOf(url)).toContain("belongs to the data centre berlin")
    const nowhere = targetOf(urlOf(owner, "&commitlog=periodic&store=nowhere"))
    expect(await failureIn(cassandraKeeper(nowhere).archive)).toContain("There is no store")
    await admin.rows("UPDATE schema_versions SET version = 99 WHERE name = 'schema'")
    expect(await failureOf(url)).toContain("has schema version 99, and this program supports at most 1")
    await admin.rows("UPDATE schema_versions SET version = 1 WHERE name = 'schema'")
  })

  test("services that start at the same time make one store", async () => {
    const url = urlOf(owner, "&commitlog=periodic", "together")
    const opened = await Promise.all([1, 2, 3].map(() => failureOf(url)))
    expect(opened).toEqual(["it was opened", "it was opened", "it was opened"])
  }, 120_000)

  test("says that the servers cannot be reached", async () => {
    const away = urlOf(owner).replace(/:\d+\//, ":1/")
    expect(await failureOf(away)).toContain("cannot be reached")
  })

  test("encrypts, and refuses a certificate of an unknown authority", async () => {
    expect(await failureOf(urlOf(owner, `&commitlog=periodic&ca=${encodeURIComponent(caFile)}`))).toBe(
      "it was opened",
    )
    expect(await failureOf(urlOf(owner, "&commitlog=periodic&tls=verify"))).toContain(
      "the encrypted connection failed",
    )
  })
})

test("a server that is too old is refused by its version, and named", async () => {
  const on = (version: string) =>
    checkServers(
      { hosts: () => [{ address: "10.0.0.7:9042", version }], rowsAt: async () => [] },
      targetOf("cassandra://h/k"),
    ).catch(String)
  expect(await on("4.1.3")).toContain("10.0.0.7:9042 runs Cassandra 4.1.3, and this program needs 5.0")
  expect(await on("5.0.9")).toBeUndefined()
})
