// The table "What differs by broker" says what the tests of each broker show. Rows about abilities follow from what the
// adapters state, and the suite of buses tests each ability. Every other cell names its test here.
import { describe, expect, test } from "bun:test"
import type { BusAbilities } from "../../bus/src/Bus.ts"
import { kafkaAbilities } from "../../bus/src/kafka/KafkaSubscription.ts"
import { defaultLocalBusOptions } from "../../bus/src/local/LocalBus.ts"
import { natsAbilities } from "../../bus/src/nats/NatsSubscription.ts"
import { rabbitAbilities } from "../../bus/src/rabbitmq/RabbitSubscription.ts"
import { textOf } from "../repository.ts"

const guide = "docs/guides/messages.md"

/** By the head of the column. */
const brokers: Readonly<Record<string, BusAbilities>> = {
  "`local:`": defaultLocalBusOptions.abilities,
  "NATS JetStream": natsAbilities,
  RabbitMQ: rabbitAbilities,
  Kafka: kafkaAbilities,
}

/** What a cell begins with if the broker has the ability, and if not. */
const ofAbilities: Readonly<
  Record<string, readonly [ability: keyof BusAbilities, present: string, absent: string]>
> = {
  "a message that is published twice with the same id": ["dropsRepeats", "comes once", "comes twice"],
  "who times a redelivery": ["delays", "the bus", "the service"],
  "a message that is retried": ["retriesInOrder", "keeps its place", "comes after later messages"],
  "a delivery that ends without an answer": ["countsUnanswered", "counts", "does not count"],
  "undeliverable messages": ["listsUndeliverable", "can be listed", "cannot be listed"],
}

interface ShownBy {
  readonly file: string
  readonly title: string
}

const shownBy = (file: string, title: string): ShownBy => ({ file, title })

/** The tests of the other rows, by column. A cell that promises nothing has no test. */
const ofTests: Readonly<Record<string, Readonly<Record<string, ShownBy>>>> = {
  "a message for which nobody has subscribed yet": {
    "`local:`": shownBy("bus/test/local/LocalBus.test.ts", "nobody"),
    "NATS JetStream": shownBy(
      "bus/test/nats/NatsFaults.test.ts",
      "messages come at the pace of the handlers",
    ),
    RabbitMQ: shownBy("bus/test/rabbitmq/RabbitFaults.test.ts", "one that nobody listens to is not"),
    Kafka: shownBy("bus/test/kafka/KafkaFaults.test.ts", "messages come at the pace of the handlers"),
  },
  "order of the messages of a timer if a node joins or leaves": {
    RabbitMQ: shownBy(
      "bus/test/rabbitmq/RabbitFaults.test.ts",
      "the queues move between members while messages flow, and each key keeps its order",
    ),
    Kafka: shownBy(
      "bus/test/kafka/KafkaFaults.test.ts",
      "members that come and go while messages fail lose nothing, and each key keeps its order",
    ),
  },
  "`timer_bus_lag_messages`": {
    RabbitMQ: shownBy("bus/test/rabbitmq/RabbitFaults.test.ts", "no more than are held"),
    Kafka: shownBy("bus/testkit/Bus.suite.ts", "a message is not acknowledged before its handler succeeded"),
  },
}

const tableOf = (text: string): ReadonlyArray<ReadonlyArray<string>> => {
  const [, rest = ""] = text.split("## What differs by broker\n")
  const lines =
    rest
      .split("\n## ")[0]
      ?.split("\n")
      .filter((line) => line.startsWith("|")) ?? []
  return lines.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

const [heads = [], , ...rows] = tableOf(textOf(guide))

describe("the table of what differs by broker", () => {
  test("has a column for each broker, and rows that a test knows", () => {
    expect(heads.slice(1).toSorted()).toEqual(Object.keys(brokers).toSorted())
    const known = [...Object.keys(ofAbilities), ...Object.keys(ofTests)]
    expect(rows.map(([name = ""]) => name).toSorted()).toEqual(known.toSorted())
  })

  test.each(Object.entries(ofAbilities))("%s: as the adapters state", (name, [ability, present, absent]) => {
    const cells = rows.find(([row]) => row === name)?.slice(1) ?? []
    heads.slice(1).forEach((broker, column) => {
      const expected = brokers[broker]?.[ability] === true ? present : absent
      expect(`${broker}: ${cells[column]}`).toStartWith(`${broker}: ${expected}`)
    })
  })

  test.each(Object.entries(ofTests))("%s: a test shows it", (_, tests) => {
    for (const { file, title } of Object.values(tests)) expect(textOf(file)).toContain(title)
  })
})
