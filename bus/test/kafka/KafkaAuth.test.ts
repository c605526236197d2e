import { expect, test } from "bun:test"
import { makeCertificates } from "@punctual/server/testkit/Certificates"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { Effect, Exit, Layer, Logger } from "effect"
import { Bus } from "../../src/Bus.ts"
import { defaultIntakeOptions } from "../../src/IntakeOptions.ts"
import { KafkaBus, type KafkaOptions } from "../../src/kafka/KafkaBus.ts"
import { sampleMessage, sampleRouting, sampleTopic } from "../../testkit/BusFixture.ts"
import { describeKafka, KafkaServer } from "../../testkit/KafkaServer.ts"

const secret = "a-secret-that-no-message-shows"

/** Returns "published", or why it failed. */
const publishing = async (server: KafkaServer, overrides: Partial<KafkaOptions>): Promise<string> => {
  const layer = KafkaBus.layer({
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
  }).pipe(Layer.provideMerge(Logger.layer([])))
  const exit = await Effect.runPromise(
    Effect.flatMap(Bus, (bus) => bus.publish([sampleMessage()])).pipe(Effect.provide(layer), Effect.exit),
  )
  if (Exit.isSuccess(exit)) return "published"
  const why = String(exit.cause)
  expect(why).not.toContain(secret)
  return why
}

describeKafka("who may use the broker", () => {
  test("PLAIN: user and password, and nobody else", async () => {
    const auth = { mechanism: "PLAIN", user: "punctual", password: secret } as const
    await using server = await KafkaServer.start({ auth })
    expect(await publishing(server, { auth })).toBe("published")
    const refusal = await publishing(server, { auth: { ...auth, password: "wrong" } })
    expect(refusal).toContain(`Kafka at ${server.address}`)
    expect(refusal).toContain("refuses the user and password")
    const otherMechanism = await publishing(server, { auth: { ...auth, mechanism: "SCRAM-SHA-512" } })
    expect(otherMechanism).toContain("does not offer this SASL mechanism")
    expect(await publishing(server, { connectTimeoutMs: 2_000 })).toContain("Cannot connect to Kafka")
  })

  test("SCRAM over TLS: the password and the authority must be right", async () => {
    using folder = new TemporaryFolder()
    using otherFolder = new TemporaryFolder()
    const tls = makeCertificates(folder.path)
    const others = makeCertificates(otherFolder.path)
    const auth = { mechanism: "SCRAM-SHA-512", user: "punctual", password: secret } as const
    await using server = await KafkaServer.start({ auth, tls })
    const trusting = { tls: { caFile: tls.caFile } }
    expect(await publishing(server, { auth, ...trusting })).toBe("published")
    const byName = { servers: [server.address.replace("127.0.0.1", "localhost")] }
    expect(await publishing(server, { auth, ...trusting, ...byName })).toBe("published")
    expect(await publishing(server, { auth: { ...auth, password: "wrong" }, ...trusting })).toContain(
      "refuses the user and password",
    )
    expect(await publishing(server, { auth, tls: { caFile: others.caFile } })).toContain("certificate")
    expect(await publishing(server, { auth, tls: {} })).toContain("certificate")
    expect(await publishing(server, { auth, tls: { caFile: `${folder.path}/absent.pem` } })).toContain(
      "absent.pem",
    )
  })
})
