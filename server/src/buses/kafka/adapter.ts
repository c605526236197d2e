// Kafka as the bus, or a broker that speaks its protocol. The wire protocol is not part of the runtime; drivers/kafka
// contains it.

import type { KafkaOptions } from "@punctual/bus/kafka/KafkaBus"
import { type KafkaAddress, kafkaSchemes, kafkaUrlShown, parseKafkaUrl } from "@punctual/bus/kafka/kafkaUrl"
import { Effect, Layer } from "effect"
import type { BusAdapter, BusChoice, BusTerms } from "../../ports/BusAdapter.ts"

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
  obeys: new Set<keyof BusTerms>([
    "replicas",
    "topic",
    "partitions",
    "subjects",
    ...(address.isTls ? (["caFile", "certFile", "keyFile"] as const) : []),
  ]),
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

const fixed = {
  clientName: "punctual",
  // The topic that all messages share, unless commands and events have topics of their own.
  mainTopic: "serviceCall",
  // The contract of the bus requires this header name.
  aggregateHeader: "serviceCallId",
  connectTimeoutMs: 10_000,
  publishTimeoutMs: 10_000,
}

export const kafkaSettings = (
  { isTls, ...address }: KafkaAddress,
  { caFile, certFile, keyFile, replicas, topic, partitions }: BusTerms,
): Omit<KafkaOptions, "routing" | "intake" | "onRefused"> => ({
  ...address,
  ...(isTls
    ? {
        tls: {
          ...(caFile === undefined ? {} : { caFile }),
          ...(certFile === undefined || keyFile === undefined ? {} : { certFile, keyFile }),
        },
      }
    : {}),
  replicas,
  topic,
  partitions,
  ...fixed,
})
