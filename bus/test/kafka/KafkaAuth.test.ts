import { afterAll, beforeAll, expect, test } from "bun:test"
import { type Certificates, makeCertificates } from "@punctual/server/testkit/Certificates"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { defaultIntakeOptions } from "../../src/IntakeOptions.ts"
import { KafkaBus, type KafkaOptions } from "../../src/kafka/KafkaBus.ts"
import { brokerSecret, publishingOn } from "../../testkit/BrokerRig.ts"
import { sampleRouting, sampleTopic } from "../../testkit/BusFixture.ts"
import { describeKafka, KafkaServer } from "../../testkit/KafkaServer.ts"

/** Returns "published", or why it failed. */
const publishing = (server: KafkaServer, overrides: Partial<KafkaOptions>): Promise<string> =>
  publishingOn(
    KafkaBus.layer({
      servers: [server.address],
      replicas: 1,
      partitions: 1,
      intake: defaultIntakeOptions,
      routing: sampleRouting,
      topic: "service.events",
      mainTopic: sampleTopic,
      aggregateHeader: "aggregateId",
      clientName: "suite",
      publishTimeoutMs: 20_000,
      connectTimeoutMs: 5_000,
      ...overrides,
    }),
  )

const mechanisms = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] as const

describeKafka("who may use the broker", () => {
  let folder: TemporaryFolder
  let otherFolder: TemporaryFolder
  let files: Certificates
  let others: Certificates
  let server: KafkaServer
  const user = { user: "punctual", password: brokerSecret }

  beforeAll(async () => {
    folder = new TemporaryFolder()
    otherFolder = new TemporaryFolder()
    files = makeCertificates(folder.path)
    others = makeCertificates(otherFolder.path)
    const tls = { ...files, wantsClientCertificate: true }
    server = await KafkaServer.start({ auth: { ...user, mechanisms }, tls })
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
    otherFolder[Symbol.dispose]()
  })

  const trusted = () => ({ caFile: files.caFile, certFile: files.certFile, keyFile: files.keyFile })

  for (const mechanism of mechanisms) {
    test(`${mechanism}: the user with the right password, and nobody else`, async () => {
      const auth = { ...user, mechanism }
      const tls = trusted()
      expect(await publishing(server, { auth, tls })).toBe("published")
      const refusal = await publishing(server, { auth: { ...auth, password: "wrong" }, tls })
      expect(refusal).toContain(`Kafka at ${server.address}`)
      expect(refusal).toContain("refuses the user and password")
      expect(await publishing(server, { auth: { ...auth, user: "nobody" }, tls })).toContain(
        "refuses the user and password",
      )
    })
  }

  test("a connection without a user, or without encryption, is refused", async () => {
    const auth = { ...user, mechanism: "PLAIN" } as const
    const connectTimeoutMs = 2_000
    expect(await publishing(server, { tls: trusted(), connectTimeoutMs })).toContain(
      "Cannot connect to Kafka",
    )
    expect(await publishing(server, { auth, connectTimeoutMs })).toContain("Cannot connect to Kafka")
  })

  test("a certificate is trusted by the authority that is named, and by no other", async () => {
    const auth = { ...user, mechanism: "SCRAM-SHA-512" } as const
    const byName = { servers: [server.address.replace("127.0.0.1", "localhost")], tls: trusted() }
    expect(await publishing(server, { auth, ...byName })).toBe("published")
    const ofOthers = { ...trusted(), caFile: others.caFile }
    expect(await publishing(server, { auth, tls: ofOthers })).toContain("certificate")
    const { caFile: _, ...ofSystem } = trusted()
    expect(await publishing(server, { auth, tls: ofSystem })).toContain("certificate")
    expect(await publishing(server, { auth, tls: { caFile: `${folder.path}/absent.pem` } })).toContain(
      "absent.pem",
    )
  })

  test("a client certificate that the broker wants must be there, and of the authority that it trusts", async () => {
    const auth = { ...user, mechanism: "SCRAM-SHA-512" } as const
    const connectTimeoutMs = 2_000
    const { caFile } = files
    const wrong = { caFile, certFile: others.certFile, keyFile: others.keyFile }
    for (const tls of [{ caFile }, wrong]) {
      expect(await publishing(server, { auth, tls, connectTimeoutMs })).toContain("Cannot connect to Kafka")
    }
  })
})
