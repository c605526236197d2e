import { afterAll, beforeAll } from "bun:test"
import { describeKafka, KafkaServer } from "@punctual/bus/testkit/KafkaServer"
import { brokerServiceSuite } from "../../testkit/BrokerService.suite.ts"
import { PlainKafkaClient } from "../../testkit/PlainKafkaClient.ts"

describeKafka("a service on Kafka", () => {
  let broker: KafkaServer
  beforeAll(async () => {
    broker = await KafkaServer.start()
  })
  afterAll(() => broker[Symbol.asyncDispose]())

  brokerServiceSuite(() => ({
    title: "Kafka",
    proxy: () => broker.proxy(),
    settings: (address, name) => ({
      TIMER_BROKER_URL: `kafka://${address}`,
      TIMER_BROKER_TOPIC: name,
      TIMER_BROKER_PARTITIONS: "4",
    }),
    peer: (name, isSplit) =>
      new PlainKafkaClient(
        broker.address,
        isSplit
          ? { commands: `${name}.commands`, events: `${name}.events` }
          : { commands: name, events: name },
      ),
    eventPlace: (name, isSplit) => (isSplit ? `${name}.events` : name),
    refused: (password) => ({
      // This broker wants no user.
      settings: {
        TIMER_BROKER_URL: `kafka://ann:${password}@${broker.address}?sasl=plain`,
        TIMER_BROKER_TOPIC: "refused",
      },
      says: "does not offer",
    }),
    kill9: () => broker.kill9(),
    restart: () => broker.restart(),
  }))
})
