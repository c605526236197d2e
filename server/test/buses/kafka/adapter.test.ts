// What the URL and the settings tell the Kafka client.
import { expect, test } from "bun:test"
import { type KafkaAddress, kafkaUrlShown, parseKafkaUrl } from "@punctual/bus/kafka/kafkaUrl"
import { kafkaSettings } from "../../../src/buses/kafka/adapter.ts"

const addressOf = (url: string): KafkaAddress => {
  const parsed = parseKafkaUrl(url)
  if ("problem" in parsed) throw new Error(parsed.problem)
  return parsed.value
}

const terms = {
  replicas: 3,
  isSynced: false,
  stream: "svc",
  prefix: "svc",
  subjects: "shared",
  queues: 8,
  topic: "prod.calls",
  partitions: 24,
} as const

test("a URL that demands TLS makes the client use TLS and check the server by the operator's authority", () => {
  expect(kafkaSettings(addressOf("kafka://h"), terms)).not.toHaveProperty("tls")
  expect(
    kafkaSettings(addressOf("kafka+ssl://ann:pw@h:9093"), { ...terms, caFile: "/ca.pem" }),
  ).toMatchObject({
    servers: ["h:9093"],
    auth: { user: "ann", password: "pw", mechanism: "SCRAM-SHA-512" },
    tls: { caFile: "/ca.pem" },
    topic: "prod.calls",
    partitions: 24,
    replicas: 3,
  })
  const pair = { certFile: "/cert.pem", keyFile: "/key.pem" }
  expect(kafkaSettings(addressOf("kafka+ssl://h"), { ...terms, ...pair }).tls).toEqual(pair)
})

test("the URL names hosts, a user and a SASL mechanism", () => {
  expect(addressOf("kafka://a,b:9093").servers).toEqual(["a:9092", "b:9093"])
  expect(addressOf("kafka://ann:p%40w@h?sasl=plain").auth).toEqual({
    user: "ann",
    password: "p@w",
    mechanism: "PLAIN",
  })
  expect(addressOf("kafka://ann:pw@h?sasl=scram-sha-256").auth?.mechanism).toBe("SCRAM-SHA-256")
})

test("a URL that cannot be used is refused without its credentials, and is shown without them", () => {
  const secret = "hunter2"
  const refused = [
    `kafka://ann:${secret}`,
    `kafka://ann:${secret}@`,
    `kafka://ann@h`,
    `kafka://h?sasl=plain`,
    `kafka://ann:${secret}@h?sasl=gssapi`,
    `kafka://ann:${secret}@h?password=${secret}`,
    `kafka://ann:${secret}@h/${secret}`,
    `kafka://ann:hun@${secret}@h`,
  ]
  for (const url of refused) {
    const parsed = parseKafkaUrl(url)
    expect("problem" in parsed ? parsed.problem : url).not.toContain(secret)
    expect(kafkaUrlShown(url)).not.toContain(secret)
  }
  expect(kafkaUrlShown(`kafka+ssl://ann:${secret}@a,b?sasl=plain`)).toBe("kafka+ssl://…@a,b?sasl=plain")
})
