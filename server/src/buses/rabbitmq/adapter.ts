// RabbitMQ as the bus. Its client is not part of the runtime; drivers/rabbitmq contains it.

import type { RabbitOptions } from "@punctual/bus/rabbitmq/RabbitBus"
import {
  parseRabbitUrl,
  type RabbitAddress,
  rabbitSchemes,
  rabbitUrlShown,
} from "@punctual/bus/rabbitmq/rabbitUrl"
import { Effect, Layer } from "effect"
import type { BusAdapter, BusChoice, BusTerms } from "../../ports/BusAdapter.ts"
import { brokerDefaults, tlsOf, tlsTerms } from "../brokerSettings.ts"

const tlsForm = "amqps://host:5671"

export const rabbitmq: BusAdapter = {
  name: "rabbitmq",
  schemes: rabbitSchemes,
  forms: {
    "amqp://host:5672": "RabbitMQ; also amqp://user:password@host/vhost, amqp://host,host",
    [tlsForm]: "the same, and TLS is required",
  },
  driver: "rabbitmq",
  isShared: true,
  tlsForm,
  parse: (url) => {
    const parsed = parseRabbitUrl(url)
    return "problem" in parsed ? parsed : { value: choiceOf(parsed.value, rabbitUrlShown(url)) }
  },
  shown: rabbitUrlShown,
}

const choiceOf = (address: RabbitAddress, shown: string): BusChoice => ({
  adapter: rabbitmq,
  shown,
  obeys: new Set<keyof BusTerms>(["prefix", "subjects", "queues", ...tlsTerms(address.isTls)]),
  open: (terms, { routing, onRefused }) =>
    Layer.unwrap(
      Effect.promise(async () => {
        const [{ RabbitBus }, { defaultIntakeOptions }] = await Promise.all([
          import("@punctual/bus/rabbitmq/RabbitBus"),
          import("@punctual/bus/IntakeOptions"),
        ])
        const intake = defaultIntakeOptions
        return RabbitBus.layer({ ...rabbitSettings(address, terms), routing, intake, onRefused })
      }),
    ),
})

export const rabbitSettings = (
  { isTls, ...address }: RabbitAddress,
  terms: BusTerms,
): Omit<RabbitOptions, "routing" | "intake" | "onRefused"> => ({
  ...address,
  ...tlsOf(isTls, terms),
  prefix: terms.prefix,
  queues: terms.queues,
  ...brokerDefaults,
})
