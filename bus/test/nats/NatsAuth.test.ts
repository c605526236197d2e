import { expect, test } from "bun:test"
import { makeCertificates } from "@punctual/server/testkit/Certificates"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { defaultIntakeOptions } from "../../src/IntakeOptions.ts"
import { NatsBus, type NatsOptions } from "../../src/nats/NatsBus.ts"
import { brokerSecret, publishingOn } from "../../testkit/BrokerRig.ts"
import { sampleRouting } from "../../testkit/BusFixture.ts"
import { describeNats } from "../../testkit/NatsBinary.ts"
import { NatsServer } from "../../testkit/NatsServer.ts"

/** Returns "published", or why it failed. */
const publishing = (server: NatsServer, overrides: Partial<NatsOptions>): Promise<string> =>
  publishingOn(
    NatsBus.layer({
      servers: [server.address],
      replicas: 1,
      isSynced: true,
      intake: defaultIntakeOptions,
      routing: sampleRouting,
      stream: "svc",
      prefix: "svc",
      aggregateHeader: "aggregateId",
      syncSetting: "SYNC=always",
      clientName: "suite",
      publishTimeoutMs: 5_000,
      connectTimeoutMs: 1_000,
      ...overrides,
    }),
  )

describeNats("who may use the broker", () => {
  test("user and password", async () => {
    await using server = await NatsServer.start({ auth: { user: "punctual", password: brokerSecret } })
    expect(await publishing(server, { auth: { user: "punctual", password: brokerSecret } })).toBe("published")
    for (const auth of [{ user: "punctual", password: "wrong" }, { token: brokerSecret }]) {
      const refusal = await publishing(server, { auth })
      expect(refusal).toContain(`NATS at ${server.address}`)
      expect(refusal).toContain("refuses the user and password, or the token")
    }
    expect(await publishing(server, {})).toContain("refuses the user and password, or the token")
  })

  test("token", async () => {
    await using server = await NatsServer.start({ auth: { token: brokerSecret } })
    expect(await publishing(server, { auth: { token: brokerSecret } })).toBe("published")
    expect(await publishing(server, { auth: { token: "wrong" } })).toContain("or the token")
  })

  test("a certificate is trusted by the authority that is named, and by no other", async () => {
    using folder = new TemporaryFolder()
    using otherFolder = new TemporaryFolder()
    const certificates = makeCertificates(folder.path)
    const others = makeCertificates(otherFolder.path)
    await using server = await NatsServer.start({ tls: certificates })
    expect(await publishing(server, { tls: { caFile: certificates.caFile } })).toBe("published")
    const byName = { servers: [`localhost:${server.port}`], tls: { caFile: certificates.caFile } }
    expect(await publishing(server, byName)).toBe("published")
    expect(await publishing(server, { tls: { caFile: others.caFile } })).toContain("certificate")
    expect(await publishing(server, { tls: {} })).toContain("certificate")
    expect(await publishing(server, { tls: { caFile: `${folder.path}/absent.pem` } })).toContain("absent.pem")
  })

  test("a client certificate that the broker wants must be there, and of the authority that it trusts", async () => {
    using folder = new TemporaryFolder()
    using otherFolder = new TemporaryFolder()
    const { caFile, certFile, keyFile } = makeCertificates(folder.path)
    const others = makeCertificates(otherFolder.path)
    await using server = await NatsServer.start({
      tls: { caFile, certFile, keyFile },
      wantsClientCertificate: true,
    })
    expect(await publishing(server, { tls: { caFile, certFile, keyFile } })).toBe("published")
    const wrong = { caFile, certFile: others.certFile, keyFile: others.keyFile }
    expect(await publishing(server, { tls: { caFile } })).toContain("wants a client certificate")
    expect(await publishing(server, { tls: wrong })).toContain("not trust the configured client certificate")
    const absent = { caFile, certFile, keyFile: `${folder.path}/absent.pem` }
    expect(await publishing(server, { tls: absent })).toContain("absent.pem")
  })

  test("a certificate for another host is not trusted", async () => {
    using folder = new TemporaryFolder()
    const certificates = makeCertificates(folder.path, "DNS:elsewhere.test")
    await using server = await NatsServer.start({ tls: certificates })
    const tls = { caFile: certificates.caFile }
    const byName = { servers: [`localhost:${server.port}`], tls }
    expect(await publishing(server, { tls })).toContain("certificate is for another host")
    expect(await publishing(server, byName)).toContain("certificate is for another host")
  })

  test("encryption that is demanded and not offered is refused", async () => {
    await using server = await NatsServer.start()
    expect(await publishing(server, { tls: {} })).toContain("offers no encryption")
  })

  test("a permission that is missing is named, at the start and at a publish", async () => {
    const permissions = (publish: string) =>
      `authorization { users: [ { user: u, password: p, permissions: { publish: ${publish} } } ] }`
    const auth = { user: "u", password: "p" }
    await using mute = await NatsServer.start({ config: permissions(`["$JS.API.>"]`) })
    const refused = await publishing(mute, { auth })
    expect(refused).toContain("lacks the permission to publish to svc.acme.samples")
    await using blind = await NatsServer.start({ config: permissions(`["svc.>", "$JS.API.INFO"]`) })
    expect(await publishing(blind, { auth })).toContain("lacks the permission to publish to $JS.API.STREAM")
  })
})
