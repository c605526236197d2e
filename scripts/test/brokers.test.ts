// The table "What differs by broker" says what the tests of each broker show. Every cell names its test here, except for
// cells that promise nothing. Rows about abilities also follow from what the adapters state.
import { describe, expect, test } from "bun:test"
import type { BusAbilities } from "../../bus/src/Bus.ts"
import { defaultIntakeOptions } from "../../bus/src/IntakeOptions.ts"
import { kafkaAbilities } from "../../bus/src/kafka/KafkaSubscription.ts"
import { defaultLocalBusOptions } from "../../bus/src/local/LocalBus.ts"
import { natsAbilities } from "../../bus/src/nats/NatsSubscription.ts"
import { rabbitAbilities } from "../../bus/src/rabbitmq/RabbitSubscription.ts"
import { textOf } from "../repository.ts"

const guide = "docs/guides/messages.md"

interface Broker {
  readonly abilities: BusAbilities
  /** Runs the suite of buses. */
  readonly suiteFile: string
  readonly faultsFile: string
}

/** By the head of the column. */
const brokers: Readonly<Record<string, Broker>> = {
  "`local:`": {
    abilities: defaultLocalBusOptions.abilities,
    suiteFile: "bus/test/local/LocalBus.test.ts",
    faultsFile: "bus/test/local/LocalBus.test.ts",
  },
  "NATS JetStream": {
    abilities: natsAbilities,
    suiteFile: "bus/test/nats/NatsBus.test.ts",
    faultsFile: "bus/test/nats/NatsFaults.test.ts",
  },
  RabbitMQ: {
    abilities: rabbitAbilities,
    suiteFile: "bus/test/rabbitmq/RabbitBus.test.ts",
    faultsFile: "bus/test/rabbitmq/RabbitFaults.test.ts",
  },
  Kafka: {
    abilities: kafkaAbilities,
    suiteFile: "bus/test/kafka/KafkaBus.test.ts",
    faultsFile: "bus/test/kafka/KafkaFaults.test.ts",
  },
}

interface AbilityRow {
  readonly ability: keyof BusAbilities
  readonly suite: string
  /** What a cell begins with, and the law of the suite, if the broker has the ability. */
  readonly present: readonly [begin: string, law: string]
  readonly absent: readonly [begin: string, law: string]
  /** Tests of what a cell says beyond the ability, by column. */
  readonly more?: Readonly<Record<string, ShownBy>>
}

/** A title in the broker's tests of faults, or in another file. */
type ShownBy = string | { readonly file: string; readonly title: string }

const expectTest = (head: string, shown: ShownBy): void => {
  const { file, title } =
    typeof shown === "string" ? { file: brokers[head]?.faultsFile ?? "", title: shown } : shown
  expect(textOf(file)).toContain(title)
}

const busSuite = "bus/testkit/Bus.suite.ts"

const ofAbilities: Readonly<Record<string, AbilityRow>> = {
  "a message that is published twice with the same id": {
    ability: "dropsRepeats",
    suite: busSuite,
    present: ["comes once", "the same envelope again is a duplicate, and handed out once"],
    absent: ["comes twice", "the same envelope again is handed out again, and never called a duplicate"],
    more: {
      "NATS JetStream": {
        file: "bus/test/nats/StreamSetup.test.ts",
        title: "duplicate_window: nanos(120_000)",
      },
    },
  },
  "who times a redelivery": {
    ability: "delays",
    suite: busSuite,
    present: ["the bus", "a message whose handler failed comes again after the delay"],
    absent: ["the service", "a message whose handler failed comes again after the delay"],
    more: {
      "NATS JetStream": "the broker keeps the delay: another subscription gets the message when it is over",
      RabbitMQ: "the broker keeps the delay: another subscription gets the message when it is over",
      Kafka: "a retry and the messages behind it survive a restart of the member, in order",
    },
  },
  "a message that is retried": {
    ability: "retriesInOrder",
    suite: "bus/testkit/BusKeys.suite.ts",
    present: ["keeps its place", "those behind a message that failed wait for it in its key"],
    absent: ["comes after later messages", "a message that failed comes again after those behind it"],
  },
  "a message that a stopping node gives back": {
    ability: "countsUnanswered",
    suite: busSuite,
    present: ["counts", "a handler that does not finish in time is interrupted, and its message comes again"],
    absent: [
      "does not count",
      "a handler that does not finish in time is interrupted, and its message comes again",
    ],
  },
  "undeliverable messages": {
    ability: "listsUndeliverable",
    suite: "bus/testkit/BusUndeliverable.suite.ts",
    present: ["can be listed", "are listed oldest first, page by page, for each tenant its own"],
    absent: ["cannot be listed", "are listed oldest first"],
  },
}

const keptForLater = "a message for which nobody has subscribed yet is kept for every group that subscribes"
const countsAll = "the lag counts each message that is not done, also those of other nodes"

/** The tests of the other rows, by column. A cell without a test promises nothing. */
const ofTests: Readonly<Record<string, Readonly<Record<string, ShownBy | undefined>>>> = {
  "a message whose handler kills the process": {
    "`local:`": undefined,
    "NATS JetStream":
      "a message that kills every process becomes undeliverable after five deliveries, and each counts for the messages beside it",
    RabbitMQ:
      "a message that kills every process becomes undeliverable after five deliveries, and each counts for the messages beside it",
    Kafka:
      "a message that kills every process becomes undeliverable after five deliveries, and takes no other message with it",
  },
  "a message for which nobody has subscribed yet": {
    "`local:`": "refuses a message that no group in the process handles",
    "NATS JetStream": keptForLater,
    RabbitMQ:
      "a message for which nobody has subscribed yet is refused, and a later group gets only what comes after it",
    Kafka: keptForLater,
  },
  "order of the messages of a timer if a node joins or leaves": {
    "`local:`": undefined,
    "NATS JetStream": {
      file: "server/test/process/bus.test.ts",
      title: "a repeated command moves the due time, an older one does not",
    },
    RabbitMQ: "the queues move between members while messages flow, and each key keeps its order",
    Kafka: "members that come and go while messages fail lose nothing, and each key keeps its order",
  },
  "order of the messages of a timer if a node is killed": {
    "`local:`": undefined,
    "NATS JetStream": {
      file: "server/test/process/bus.test.ts",
      title: "a repeated command moves the due time, an older one does not",
    },
    RabbitMQ: "a consumer that stands by takes the queues of a killed one over, and each key keeps its order",
    Kafka: "a member that stands by takes the partitions of a killed one over, and each key keeps its order",
  },
  "`timer_bus_lag_messages`": {
    // The lag is 30 while 30 messages wait.
    "`local:`": {
      file: busSuite,
      title: "costs no delivery, and no other message is handed out until it can work again",
    },
    "NATS JetStream": countsAll,
    RabbitMQ: "the lag counts the messages in the queues and those of this node, not those of other nodes",
    Kafka: countsAll,
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
    for (const row of rows) expect(row).toHaveLength(heads.length)
  })

  test.each(Object.entries(ofAbilities))(
    "%s: as the adapters state, and a law of the suite shows it",
    (name, row) => {
      const cells = rows.find(([first]) => first === name)?.slice(1) ?? []
      heads.slice(1).forEach((head, column) => {
        const broker = brokers[head]
        const [begin, law] = broker?.abilities[row.ability] === true ? row.present : row.absent
        expect(`${head}: ${cells[column]}`).toStartWith(`${head}: ${begin}`)
        expect(textOf(row.suite)).toContain(law)
        expect(textOf(broker?.suiteFile ?? "")).toContain("busSuite(")
        const more = row.more?.[head]
        if (more !== undefined) expectTest(head, more)
      })
    },
  )

  test.each(Object.entries(ofTests))("%s: a test shows it", (_, tests) => {
    expect(Object.keys(tests).toSorted()).toEqual(Object.keys(brokers).toSorted())
    for (const [head, shown] of Object.entries(tests)) if (shown !== undefined) expectTest(head, shown)
  })

  test("the wait of NATS that it names is the default one", () => {
    const cells = rows.find(([first]) => first === "a message whose handler kills the process") ?? []
    expect(cells[heads.indexOf("NATS JetStream")]).toContain(`${defaultIntakeOptions.ackWaitMs / 1_000} s`)
  })
})
