// What the URL and the settings tell the RabbitMQ client.
import { expect, test } from "bun:test"
import { parseRabbitUrl, type RabbitAddress } from "@punctual/bus/rabbitmq/rabbitUrl"
import { rabbitSettings } from "../../../src/buses/rabbitmq/adapter.ts"

const addressOf = (url: string): RabbitAddress => {
  const parsed = parseRabbitUrl(url)
  if ("problem" in parsed) throw new Error(parsed.problem)
  return parsed.value
}

const terms = {
  replicas: 1,
  isSynced: false,
  stream: "svc",
  prefix: "prod",
  subjects: "shared",
  queues: 8,
  topic: "service.events",
  partitions: 12,
} as const

test("a URL that demands TLS makes the client use TLS and check the server by the operator's authority", () => {
  expect(rabbitSettings(addressOf("amqp://h"), terms)).not.toHaveProperty("tls")
  expect(rabbitSettings(addressOf("amqps://h"), terms)).toMatchObject({ tls: {} })
  expect(rabbitSettings(addressOf("amqps://ann:pw@h/orders"), { ...terms, caFile: "/ca.pem" })).toMatchObject(
    {
      hosts: [{ host: "h", port: 5671 }],
      auth: { user: "ann", password: "pw" },
      vhost: "orders",
      tls: { caFile: "/ca.pem" },
    },
  )
  const pair = { certFile: "/cert.pem", keyFile: "/key.pem" }
  expect(rabbitSettings(addressOf("amqps://h"), { ...terms, ...pair }).tls).toEqual(pair)
})

test("the prefix and the layout of the queues reach the bus", () => {
  expect(rabbitSettings(addressOf("amqp://h"), terms)).toMatchObject({ prefix: "prod", queues: 8 })
  expect(rabbitSettings(addressOf("amqp://h"), { ...terms, queues: "tenant" }).queues).toBe("tenant")
})
