// NATS JetStream as the bus. Its client is not part of the runtime; drivers/nats contains it.

import type { NatsOptions } from "@punctual/bus/nats/NatsBus"
import { type NatsAddress, natsSchemes, natsUrlShown, parseNatsUrl } from "@punctual/bus/nats/natsUrl"
import { Effect, Layer } from "effect"
import type { BusAdapter, BusChoice, BusTerms } from "../../ports/BusAdapter.ts"
import { brokerDefaults, tlsOf, tlsTerms } from "../brokerSettings.ts"

const tlsForm = "tls://host:4222"

export const nats: BusAdapter = {
  name: "nats",
  schemes: natsSchemes,
  forms: {
    "nats://host:4222": "NATS JetStream; also nats://user:password@host, nats://token@host, nats://host,host",
    [tlsForm]: "the same, and TLS is required",
  },
  driver: "nats",
  isShared: true,
  tlsForm,
  parse: (url) => {
    const parsed = parseNatsUrl(url)
    return "problem" in parsed ? parsed : { value: choiceOf(parsed.value, natsUrlShown(url)) }
  },
  shown: natsUrlShown,
}

const choiceOf = (address: NatsAddress, shown: string): BusChoice => ({
  adapter: nats,
  shown,
  obeys: new Set<keyof BusTerms>([
    "replicas",
    "isSynced",
    "stream",
    "prefix",
    "subjects",
    ...tlsTerms(address.isTls),
  ]),
  open: (terms, { routing, onRefused }) =>
    Layer.unwrap(
      Effect.promise(async () => {
        const [{ NatsBus }, { defaultIntakeOptions }] = await Promise.all([
          import("@punctual/bus/nats/NatsBus"),
          import("@punctual/bus/IntakeOptions"),
        ])
        const intake = defaultIntakeOptions
        return NatsBus.layer({ ...natsSettings(address, terms), routing, intake, onRefused })
      }),
    ),
})

export const natsSettings = (
  { isTls, ...address }: NatsAddress,
  terms: BusTerms,
): Omit<NatsOptions, "routing" | "intake" | "onRefused"> => ({
  ...address,
  ...tlsOf(isTls, terms),
  replicas: terms.replicas,
  isSynced: terms.isSynced,
  stream: terms.stream,
  prefix: terms.prefix,
  syncSetting: "TIMER_BROKER_SYNC=always",
  ...brokerDefaults,
})
