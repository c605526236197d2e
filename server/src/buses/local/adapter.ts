// The bus inside the process, for a service without a broker: nobody else can listen to it.
import { Effect, Layer } from "effect"
import type { BusAdapter, BusChoice } from "../../ports/BusAdapter.ts"

const url = "local:"

export const local: BusAdapter = {
  name: "local",
  schemes: [url],
  forms: { [url]: "inside the process: nobody else can listen" },
  isShared: false,
  parse: (given) =>
    given === url ? { value: choice } : { problem: "must be local: alone, with nothing after it" },
  shown: (given) => (given === url ? given : `${url}…`),
}

const choice: BusChoice = {
  adapter: local,
  shown: url,
  obeys: new Set(),
  open: () =>
    Layer.unwrap(
      Effect.map(
        Effect.promise(() => import("./LocalBus.ts")),
        ({ LocalBus }) => LocalBus.layer(),
      ),
    ),
  deadLetters: {
    instead:
      "the local bus keeps its dead letters in the service's memory, where no other process can read them: set TIMER_BROKER_URL to the broker that keeps them.",
  },
}
