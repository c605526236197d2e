// A bus for tests of the dispatcher: the test says what becomes of each publish, and nobody subscribes.
import { Bus } from "@punctual/bus/Bus"
import { Effect, Layer } from "effect"

export const busThatPublishes = (publish: Bus["Service"]["publish"]): Layer.Layer<Bus> =>
  Layer.succeed(Bus, {
    abilities: {
      delays: true,
      dropsRepeats: true,
      retriesInOrder: false,
      countsUnanswered: true,
      listsUndeliverable: true,
    },
    publish,
    subscribe: () => Effect.void,
    sample: () => Effect.succeed({ isConnected: true, lag: 0 }),
    whyWaiting: () => undefined,
  })
