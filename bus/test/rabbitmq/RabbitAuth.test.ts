// Who may use the broker, over which connections, and what the errors say.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { type Certificates, makeCertificates } from "@punctual/server/testkit/Certificates"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { defaultIntakeOptions } from "../../src/IntakeOptions.ts"
import { RabbitBus, type RabbitOptions } from "../../src/rabbitmq/RabbitBus.ts"
import { brokerSecret, publishingOn } from "../../testkit/BrokerRig.ts"
import { sampleRouting } from "../../testkit/BusFixture.ts"
import { describeRabbit } from "../../testkit/RabbitBinaries.ts"
import { RabbitServer } from "../../testkit/RabbitServer.ts"

/** Returns "published", or why it failed. */
const publishing = (server: RabbitServer, overrides: Partial<RabbitOptions>): Promise<string> => {
  const { tls } = overrides
  return publishingOn(
    RabbitBus.layer({
      hosts: [{ host: server.host, port: tls === undefined ? server.port : server.tlsPort }],
      vhost: "/",
      intake: defaultIntakeOptions,
      routing: sampleRouting,
      prefix: "svc",
      queues: 1,
      aggregateHeader: "aggregateId",
      clientName: "suite",
      publishTimeoutMs: 5_000,
      connectTimeoutMs: 1_000,
      ...overrides,
    }),
  )
}

describeRabbit("who may use the broker", () => {
  const [folder, otherFolder] = [new TemporaryFolder(), new TemporaryFolder()]
  let files: Certificates
  let others: Certificates
  let server: RabbitServer
  let strict: RabbitServer
  beforeAll(async () => {
    files = makeCertificates(folder.path)
    others = makeCertificates(otherFolder.path)
    const everything = [".*", ".*", ".*"] as const
    ;[server, strict] = await Promise.all([
      RabbitServer.start({
        vhosts: ["orders"],
        tls: files,
        users: [
          { name: "ann", password: brokerSecret, permissions: { "/": everything, orders: everything } },
          { name: "mute", password: brokerSecret, permissions: { "/": [".*", "^svc:", ".*"] } },
          { name: "blind", password: brokerSecret, permissions: { "/": ["", ".*", ".*"] } },
        ],
      }),
      RabbitServer.start({ tls: files, wantsClientCertificate: true, hasHashPlugin: false }),
    ])
  })
  afterAll(async () => {
    await Promise.all([server[Symbol.asyncDispose](), strict[Symbol.asyncDispose]()])
    folder[Symbol.dispose]()
    otherFolder[Symbol.dispose]()
  })

  test("user, password and virtual host", async () => {
    const auth = { user: "ann", password: brokerSecret }
    expect(await publishing(server, { auth })).toBe("published")
    expect(await publishing(server, { auth, vhost: "orders" })).toBe("published")
    const refusal = await publishing(server, { auth: { user: "ann", password: "wrong" } })
    expect(refusal).toContain(`RabbitMQ at ${server.address}`)
    expect(refusal).toContain("refuses the user and password")
    expect(await publishing(server, { auth, vhost: "absent" })).toContain("refuses the virtual host")
    const mute = { user: "mute", password: brokerSecret }
    expect(await publishing(server, { auth: mute, vhost: "orders" })).toContain("refuses the virtual host")
  })

  test("a permission that is missing is named", async () => {
    const refused = (user: string) =>
      publishing(server, { auth: { user, password: brokerSecret }, prefix: "svc" })
    expect(await refused("blind")).toContain(
      "access to exchange 'svc.samples' in vhost '/' refused for user 'blind'",
    )
    expect(await refused("mute")).toContain("refused for user 'mute'")
  })

  test("a certificate is trusted by the authority that is named, and by no other", async () => {
    const { caFile } = files
    expect(await publishing(server, { tls: { caFile } })).toBe("published")
    const byName = { hosts: [{ host: "localhost", port: server.tlsPort }], tls: { caFile } }
    expect(await publishing(server, byName)).toBe("published")
    expect(await publishing(server, { tls: { caFile: others.caFile } })).toContain(
      "certificate cannot be trusted",
    )
    expect(await publishing(server, { tls: {} })).toContain("certificate cannot be trusted")
    expect(await publishing(server, { tls: { caFile: `${folder.path}/absent.pem` } })).toContain("absent.pem")
  })

  test("a client certificate that the broker wants must be there, and of the authority that it trusts", async () => {
    const { caFile, certFile, keyFile } = files
    const tls = { caFile, certFile, keyFile }
    expect(await publishing(strict, { tls, queues: "tenant" })).toBe("published")
    expect(await publishing(strict, { tls: { caFile } })).toContain("wants a client certificate")
    const wrong = { caFile, certFile: others.certFile, keyFile: others.keyFile }
    expect(await publishing(strict, { tls: wrong })).toContain("not trust the configured client certificate")
  })

  test("encryption that is demanded and not offered is refused", async () => {
    const hosts = [{ host: server.host, port: server.port }]
    expect(await publishing(server, { tls: {}, hosts })).toContain("this port offers no TLS")
  })

  test("a broker without the plug-in for hashes says what to enable, and a queue for each tenant needs none", async () => {
    const refusal = await publishing(strict, { prefix: "hashed" })
    expect(refusal).toContain("rabbitmq-plugins enable rabbitmq_sharding")
    expect(await publishing(strict, { prefix: "tenants", queues: "tenant" })).toBe("published")
  })

  test("one of several hosts is enough", async () => {
    const hosts = [
      { host: "127.0.0.1", port: 1 },
      { host: server.host, port: server.port },
    ]
    expect(await publishing(server, { hosts })).toBe("published")
    expect(await publishing(server, { hosts: hosts.slice(0, 1) })).toContain(
      "Cannot connect to RabbitMQ at 127.0.0.1:1",
    )
  })
})
