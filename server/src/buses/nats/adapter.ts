// NATS JetStream as the bus. Its client is no part of the runtime: drivers/nats has it.
import { Effect, Layer } from "effect"
import type { BusAdapter, BusChoice, BusTerms } from "../../ports/BusAdapter.ts"
import type { ConnectionSettings } from "./Connection.ts"
import { type NatsAddress, natsSchemes, natsUrlShown, parseNatsUrl } from "./natsUrl.ts"

const tlsForm = "tls://host:4222"

export const nats: BusAdapter = {
  name: "nats",
  schemes: natsSchemes,
  forms: {
    "nats://host:4222": "NATS JetStream; also nats://user:password@host, nats://token@host, nats://host,host",
    [tlsForm]: "the same, and TLS is demanded",
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
  obeys: new Set<keyof BusTerms>(["replicas", "isSynced", ...(address.isTls ? ["caFile" as const] : [])]),
  open: (terms) =>
    Layer.unwrap(
      Effect.promise(async () => {
        const [{ NatsBus }, { defaultIntakeOptions }] = await Promise.all([
          import("./NatsBus.ts"),
          import("../Intake.ts"),
        ])
        return NatsBus.layer({ ...natsSettings(address, terms), intake: defaultIntakeOptions })
      }),
    ),
  deadLetters: {
    can: (terms) =>
      Effect.flatMap(
        Effect.promise(() => import("./NatsDeadLetters.ts")),
        ({ NatsDeadLetters }) => NatsDeadLetters.open(natsSettings(address, terms)),
      ),
  },
})

const bounds = { connectTimeoutMs: 10_000, publishTimeoutMs: 10_000 }

export interface NatsSettings extends ConnectionSettings, Pick<BusTerms, "replicas" | "isSynced"> {
  readonly publishTimeoutMs: number
}

export const natsSettings = (
  { isTls, ...address }: NatsAddress,
  { caFile, ...terms }: BusTerms,
): NatsSettings => ({
  ...address,
  ...(isTls ? { tls: caFile === undefined ? {} : { caFile } } : {}),
  ...terms,
  ...bounds,
})
