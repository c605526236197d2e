// NATS JetStream as the bus. Its client is not part of the runtime; drivers/nats contains it.

import type { NatsOptions } from "@punctual/bus/nats/NatsBus"
import { type NatsAddress, natsSchemes, natsUrlShown, parseNatsUrl } from "@punctual/bus/nats/natsUrl"
import { Effect, Layer } from "effect"
import type { BusAdapter, BusChoice, BusTerms } from "../../ports/BusAdapter.ts"

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
    ...(address.isTls ? (["caFile", "certFile", "keyFile"] as const) : []),
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

const fixed = {
  clientName: "punctual",
  // The contract of the bus requires this header name.
  aggregateHeader: "serviceCallId",
  syncSetting: "TIMER_BROKER_SYNC=always",
  connectTimeoutMs: 10_000,
  publishTimeoutMs: 10_000,
}

export const natsSettings = (
  { isTls, ...address }: NatsAddress,
  { caFile, certFile, keyFile, replicas, isSynced, stream, prefix }: BusTerms,
): Omit<NatsOptions, "routing" | "intake" | "onRefused"> => ({
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
  isSynced,
  stream,
  prefix,
  ...fixed,
})
