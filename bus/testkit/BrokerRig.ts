// What the rigs of all brokers have in common, and how a test file uses its rig.
import { afterAll, beforeAll, beforeEach, expect } from "bun:test"
import type { TcpProxy } from "@punctual/server/testkit/TcpProxy"
import { Effect, Exit, type Layer, Logger, type Scope } from "effect"
import { Bus, type BusError } from "../src/Bus.ts"
import type { BrokerBusOptions } from "../src/brokerBus.ts"
import { UndeliverableMessages } from "../src/UndeliverableMessages.ts"
import { Listener, sampleMessage } from "./BusFixture.ts"

export type BrokerLayer = Layer.Layer<Bus | UndeliverableMessages, BusError>

type Overrides = Partial<BrokerBusOptions>

/** A broker for the tests of a file. */
export interface BrokerRig extends AsyncDisposable {
  /** Switches to a new, empty place on the broker, so that nothing has to be removed between tests. */
  renew(): void | Promise<void>
  /** A bus on the current place. */
  bus(overrides?: Overrides): BrokerLayer
  /** A network in front of the broker. */
  proxied(): Promise<ProxiedBroker>
  /** Ends the broker without notice. What the first group has on it survives. */
  kill9(): Promise<void>
  /** Returns when the broker is ready. */
  restart(): Promise<void>
}

export class ProxiedBroker implements AsyncDisposable {
  readonly network: TcpProxy
  /** A bus on the current place of the rig, over the network. */
  readonly bus: (overrides?: Overrides) => BrokerLayer

  constructor(network: TcpProxy, bus: (overrides?: Overrides) => BrokerLayer) {
    this.network = network
    this.bus = bus
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.network[Symbol.asyncDispose]()
  }
}

/** Starts a broker for the tests of a file. Each test gets a new place on it. */
export const rigOfFile = <Rig extends BrokerRig>(start: () => Promise<Rig>): (() => Rig) => {
  let rig: Rig | undefined
  beforeAll(async () => {
    rig = await start()
  })
  beforeEach(() => rig?.renew())
  afterAll(() => rig?.[Symbol.asyncDispose]())
  return () => {
    if (rig === undefined) throw new Error("the broker runs only while tests run")
    return rig
  }
}

/** Runs with a bus of this layer, and without logs by default. */
export const withBusOf = <A>(
  layer: BrokerLayer,
  body: (
    bus: Bus["Service"],
    kept: UndeliverableMessages["Service"],
  ) => Effect.Effect<A, unknown, Scope.Scope>,
  logs: Layer.Layer<never> = Logger.layer([]),
): Promise<A> =>
  Effect.runPromise(
    Effect.flatMap(Effect.all([Bus, UndeliverableMessages]), ([bus, kept]) => body(bus, kept)).pipe(
      Effect.scoped,
      Effect.provide(layer),
      Effect.provide(logs),
    ),
  )

/** No error may show it. */
export const brokerSecret = "a-secret-that-no-message-shows"

/** Subscribes and publishes. Returns "published", or why it failed. */
export const publishingOn = async (layer: BrokerLayer): Promise<string> => {
  const publish = Effect.gen(function* () {
    const bus = yield* Bus
    yield* bus.subscribe(new Listener().subscription)
    yield* bus.publish([sampleMessage()])
  })
  const exit = await Effect.runPromise(
    publish.pipe(Effect.scoped, Effect.provide(layer), Effect.provide(Logger.layer([])), Effect.exit),
  )
  if (Exit.isSuccess(exit)) return "published"
  const why = String(exit.cause)
  expect(why).not.toContain(brokerSecret)
  return why
}
