// A member of the first group in a process of its own. A message whose payload says so ends the process with SIGKILL,
// from within its handler. The member prints a line when it has joined the group. It prints the id and the delivery of every
// other message that it handles.
import { writeSync } from "node:fs"
import { Effect, type Layer, Logger } from "effect"
import { Bus, type BusError } from "../src/Bus.ts"
import { KafkaBus, type KafkaOptions } from "../src/kafka/KafkaBus.ts"
import { NatsBus, type NatsOptions } from "../src/nats/NatsBus.ts"
import { RabbitBus, type RabbitOptions } from "../src/rabbitmq/RabbitBus.ts"
import type { UndeliverableMessages } from "../src/UndeliverableMessages.ts"
import { Listener, sampleRouting } from "./BusFixture.ts"

export type MemberOptions =
  | { readonly broker: "kafka"; readonly options: KafkaOptions }
  | { readonly broker: "nats"; readonly options: NatsOptions }
  | { readonly broker: "rabbitmq"; readonly options: RabbitOptions }

export const joinedLine = "joined"

/** The routing table cannot be passed as text. Tests use the same one everywhere. */
export const memberLayer = (member: MemberOptions): Layer.Layer<Bus | UndeliverableMessages, BusError> => {
  const routing = { routing: sampleRouting }
  if (member.broker === "kafka") return KafkaBus.layer({ ...member.options, ...routing })
  return member.broker === "nats"
    ? NatsBus.layer({ ...member.options, ...routing })
    : RabbitBus.layer({ ...member.options, ...routing })
}

const listener = new Listener(({ envelope: { id, payload }, delivery }) =>
  Effect.sync(() => {
    if (typeof payload === "object" && payload !== null && "kills" in payload) {
      process.kill(process.pid, "SIGKILL")
    }
    // Nothing that is printed may be lost at the end of the process.
    writeSync(1, `${id} ${delivery}\n`)
  }),
)

if (import.meta.main) {
  const member: MemberOptions = JSON.parse(process.argv[2] ?? "")
  await Effect.runPromise(
    Effect.flatMap(Bus, (bus) => bus.subscribe(listener.subscription)).pipe(
      Effect.andThen(Effect.sync(() => writeSync(1, `${joinedLine}\n`))),
      Effect.andThen(Effect.never),
      Effect.scoped,
      Effect.provide(memberLayer(member)),
      Effect.provide(Logger.layer([])),
    ),
  )
}
