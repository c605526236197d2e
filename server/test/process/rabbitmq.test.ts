import { afterAll, beforeAll } from "bun:test"
import { describeRabbit } from "@punctual/bus/testkit/RabbitBinaries"
import { RabbitServer } from "@punctual/bus/testkit/RabbitServer"
import { brokerServiceSuite } from "../../testkit/BrokerService.suite.ts"
import { PlainRabbitClient, rabbitPlaces } from "../../testkit/PlainRabbitClient.ts"
import { TcpProxy } from "../../testkit/TcpProxy.ts"

describeRabbit("a service on RabbitMQ", () => {
  let broker: RabbitServer
  beforeAll(async () => {
    broker = await RabbitServer.start()
  })
  afterAll(() => broker[Symbol.asyncDispose]())

  brokerServiceSuite(() => ({
    title: "RabbitMQ",
    proxy: () => TcpProxy.before(broker),
    settings: (address, name) => ({ TIMER_BROKER_URL: `amqp://${address}`, TIMER_BROKER_PREFIX: name }),
    peer: (name, isSplit) =>
      new PlainRabbitClient(
        broker.address,
        isSplit
          ? { commands: `${name}.serviceCall.commands`, events: `${name}.serviceCall.events` }
          : rabbitPlaces(name),
      ),
    eventPlace: (name, isSplit) => `${name}.serviceCall${isSplit ? ".events" : ""}`,
    refused: (password) => ({
      settings: { TIMER_BROKER_URL: `amqp://guest:${password}@${broker.address}` },
      says: "refuses the user and password",
    }),
    kill9: (run) => broker.kill9([...groupQueues(run.name), run.peer.queue, `${run.name}.dlq`]),
    restart: () => broker.restart(),
  }))
})

const groupQueues = (prefix: string): ReadonlyArray<string> =>
  Array.from({ length: 8 }, (_, number) => `${prefix}:punctual:${number}`)
