// Kafka as the bus, or a broker that speaks its protocol. The wire protocol is not part of the runtime; drivers/kafka
// contains it.

import type { KafkaOptions } from "@punctual/bus/kafka/KafkaBus"
import { type KafkaAddress, kafkaSchemes, kafkaUrlShown, parseKafkaUrl } from "@punctual/bus/kafka/kafkaUrl"
import { Effect, Layer } from "effect"
import type { BusAdapter, BusChoice, BusTerms } from "../../ports/BusAdapter.ts"
import { brokerDefaults, tlsOf, tlsTerms } from "../brokerSettings.ts"

const tlsForm = "kafka+ssl://host:9093"

export const kafka: BusAdapter = {
  name: "kafka",
  schemes: kafkaSchemes,
  forms: {
    "kafka://host:9092": "Kafka or Redpanda; also kafka://user:password@host?sasl=plain, kafka://host,host",
    [tlsForm]: "the same, and TLS is required",
  },
  driver: "kafka",
  isShared: true,
  tlsForm,
  parse: (url) => {
    const parsed = parseKafkaUrl(url)
    return "problem" in parsed ? parsed : { value: choiceOf(parsed.value, kafkaUrlShown(url)) }
  },
  shown: kafkaUrlShown,
}

const choiceOf = (address: KafkaAddress, shown: string): BusChoice => ({
  adapter: kafka,
  shown,
  obeys: new Set<keyof BusTerms>(["replicas", "topic", "partitions", "subjects", ...tlsTerms(address.isTls)]),
  open: (terms, { routing, onRefused }) =>
    Layer.unwrap(
      Effect.promise(async () => {
        const [{ KafkaBus }, { defaultIntakeOptions }] = await Promise.all([
          import("@punctual/bus/kafka/KafkaBus"),
          import("@punctual/bus/IntakeOptions"),
        ])
        const intake = defaultIntakeOptions
        return KafkaBus.layer({ ...kafkaSettings(address, terms), routing, intake, onRefused })
      }),
    ),
})

export const kafkaSettings = (
  { isTls, ...address }: KafkaAddress,
  terms: BusTerms,
): Omit<KafkaOptions, "routing" | "intake" | "onRefused"> => ({
  ...address,
  ...tlsOf(isTls, terms),
  replicas: terms.replicas,
  topic: terms.topic,
  partitions: terms.partitions,
  // The topic that all messages share, unless commands and events have topics of their own.
  mainTopic: "serviceCall",
  ...brokerDefaults,
})
