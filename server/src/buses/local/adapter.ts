// The bus inside the process, for a service without a broker. All listeners are part of the same process.
import { Effect, Layer } from "effect"
import type { BusAdapter, BusChoice } from "../../ports/BusAdapter.ts"

const url = "local:"

export const local: BusAdapter = {
  name: "local",
  schemes: [url],
  forms: { [url]: "inside the process: only its own parts can listen" },
  isShared: false,
  parse: (given) =>
    given === url ? { value: choice } : { problem: "must be exactly local:, with nothing after it" },
  shown: (given) => (given === url ? given : `${url}…`),
}

const choice: BusChoice = {
  adapter: local,
  shown: url,
  obeys: new Set(),
  open: (_, { routing }) =>
    Layer.unwrap(
      Effect.map(
        Effect.promise(() => import("@punctual/bus/local/LocalBus")),
        ({ LocalBus }) => LocalBus.layer(routing),
      ),
    ),
}
