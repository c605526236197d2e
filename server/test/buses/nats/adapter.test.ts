// What the URL and the settings tell the NATS client.
import { expect, test } from "bun:test"
import { type NatsAddress, parseNatsUrl } from "@punctual/bus/nats/natsUrl"
import { natsSettings } from "../../../src/buses/nats/adapter.ts"

const addressOf = (url: string): NatsAddress => {
  const parsed = parseNatsUrl(url)
  if ("problem" in parsed) throw new Error(parsed.problem)
  return parsed.value
}

test("a URL that demands TLS makes the client use TLS and check the server by the operator's authority", () => {
  const terms = {
    replicas: 3,
    isSynced: true,
    stream: "svc",
    prefix: "svc",
    subjects: "shared",
    queues: 8,
    topic: "service.events",
    partitions: 12,
  } as const
  expect(natsSettings(addressOf("nats://h"), terms)).not.toHaveProperty("tls")
  expect(natsSettings(addressOf("tls://h"), terms)).toMatchObject({ tls: {}, replicas: 3, isSynced: true })
  expect(natsSettings(addressOf("tls://ann:pw@h"), { ...terms, caFile: "/ca.pem" })).toMatchObject({
    servers: ["h:4222"],
    auth: { user: "ann", password: "pw" },
    tls: { caFile: "/ca.pem" },
    stream: "svc",
    prefix: "svc",
  })
  const pair = { certFile: "/cert.pem", keyFile: "/key.pem" }
  expect(natsSettings(addressOf("tls://h"), { ...terms, ...pair }).tls).toEqual(pair)
})
