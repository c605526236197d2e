// The part of a bus that is the same for every broker in another process. It opens the broker, or waits for it. Until the
// broker has answered, publishes and subscriptions wait. While the broker is unreachable, a sample contains the last known
// lag. An adapter adds the terms of its broker.
import { Context, Effect, Layer, type Scope } from "effect"
import { BrokerStart } from "./BrokerStart.ts"
import {
  Bus,
  type BusAbilities,
  BusError,
  PublishError,
  type Published,
  type Subscription,
  whyNotGroup,
} from "./Bus.ts"
import type { OutgoingEnvelope } from "./Envelope.ts"
import type { IntakeOptions } from "./IntakeOptions.ts"
import { subscribeLater, whenBegun } from "./LaterStart.ts"
import type { RoutingTable } from "./RoutingTable.ts"
import { UndeliverableMessages } from "./UndeliverableMessages.ts"

export interface BrokerBusOptions {
  readonly routing: RoutingTable
  /** The header with the aggregate id of the message. */
  readonly aggregateHeader: string
  readonly intake: IntakeOptions
  /** The time limit for connecting at the start. */
  readonly connectTimeoutMs: number
  /** How long a publish waits for the connection and for the broker's answer. */
  readonly publishTimeoutMs: number
  /**
   * Present if the bus waits for a broker that is unreachable at the start. Called if the broker then answers but
   * cannot be used.
   */
  readonly onRefused?: (message: string) => void
}

/** `Begun` has the parts that exist once the broker has answered. `Outgoing` is a message in the broker's terms. */
export interface BrokerAdapter<Options, Begun, Outgoing> {
  readonly abilities: BusAbilities
  begin(options: Options): Effect.Effect<Begun, BusError, Scope.Scope>
  /** Or why the message cannot be sent. */
  outgoingOf(begun: Begun, envelope: OutgoingEnvelope): Outgoing | PublishError
  publish(
    begun: Begun,
    outgoing: ReadonlyArray<Outgoing>,
  ): Effect.Effect<ReadonlyArray<Published>, PublishError>
  subscribe(begun: Begun, subscription: Subscription): Effect.Effect<void, BusError, Scope.Scope>
  isConnected(begun: Begun): boolean
  /** `undefined` if the lag cannot be known now. */
  lagOf(begun: Begun, group: string): Effect.Effect<number | undefined, BusError>
  undeliverableOf(begun: Begun): UndeliverableMessages["Service"]
}

const lagWithinMs = 5_000
/** How long an opening that is allowed to wait looks for the broker before it continues without it. */
const lookForMs = 2_000

export const brokerBusLayer = <Options extends BrokerBusOptions, Begun, Outgoing>(
  options: Options,
  makeAdapter: () => BrokerAdapter<Options, Begun, Outgoing>,
): Layer.Layer<Bus | UndeliverableMessages, BusError> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const adapter = makeAdapter()
      const { onRefused, connectTimeoutMs } = options
      const shortly = { ...options, connectTimeoutMs: Math.min(connectTimeoutMs, lookForMs) }
      const start = yield* BrokerStart.make({
        begin: (isFirst) => adapter.begin(isFirst && onRefused !== undefined ? shortly : options),
        onRefused,
      })
      return Context.make(Bus, busOf(options, adapter, start)).pipe(
        Context.add(UndeliverableMessages, undeliverableOf(adapter, start)),
      )
    }),
  )

const busOf = <Options extends BrokerBusOptions, Begun, Outgoing>(
  { onRefused, publishTimeoutMs }: Options,
  adapter: BrokerAdapter<Options, Begun, Outgoing>,
  start: BrokerStart<Begun>,
): Bus["Service"] => {
  /** The groups that have not subscribed yet, each with the reason. */
  const waiting = new Map<string, string>()
  const lags = new Map<string, number>()
  const publishTo = (begun: Begun, envelopes: ReadonlyArray<OutgoingEnvelope>) => {
    const outgoing: Array<Outgoing> = []
    for (const envelope of envelopes) {
      const message = adapter.outgoingOf(begun, envelope)
      if (message instanceof PublishError) return Effect.fail(message)
      outgoing.push(message)
    }
    return outgoing.length === 0 ? Effect.succeed([]) : adapter.publish(begun, outgoing)
  }
  const noteLag = (begun: Begun, group: string) =>
    adapter.lagOf(begun, group).pipe(
      Effect.timeoutOrElse({ duration: lagWithinMs, orElse: () => Effect.undefined }),
      Effect.map((lag) => lags.set(group, lag ?? lags.get(group) ?? 0)),
    )
  return {
    abilities: adapter.abilities,
    publish: (envelopes) =>
      Effect.suspend(() =>
        start.begun === undefined
          ? Effect.flatMap(whenBegun(start, publishTimeoutMs), (begun) => publishTo(begun, envelopes))
          : publishTo(start.begun, envelopes),
      ),
    subscribe: (subscription) =>
      Effect.suspend(() => {
        const unfit = whyNotGroup(subscription.group)
        if (unfit !== undefined) return Effect.fail(new BusError({ message: unfit }))
        if (start.begun !== undefined) return adapter.subscribe(start.begun, subscription)
        const subscribeTo = (begun: Begun) => adapter.subscribe(begun, subscription)
        return subscribeLater({ start, subscription, subscribeTo, waiting, onRefused })
      }),
    sample: (group) =>
      Effect.suspend(() => {
        const { begun } = start
        if (begun === undefined) return Effect.succeed({ isConnected: false, lag: 0 })
        return Effect.map(adapter.isConnected(begun) ? noteLag(begun, group) : Effect.void, () => ({
          isConnected: adapter.isConnected(begun),
          lag: lags.get(group) ?? 0,
        }))
      }),
    whyWaiting: () => {
      const [why] = waiting.values()
      return start.whyWaiting() ?? why
    },
  }
}

const undeliverableOf = <Options, Begun, Outgoing>(
  adapter: BrokerAdapter<Options, Begun, Outgoing>,
  start: BrokerStart<Begun>,
): UndeliverableMessages["Service"] => {
  const ask = <A>(question: (messages: UndeliverableMessages["Service"]) => Effect.Effect<A, BusError>) =>
    Effect.flatMap(start.orWhyNot, (begun) => question(adapter.undeliverableOf(begun)))
  return {
    list: (tenant, page) => ask((messages) => messages.list(tenant, page)),
    find: (tenant, id) => ask((messages) => messages.find(tenant, id)),
    replay: (tenant, id) => ask((messages) => messages.replay(tenant, id)),
    discard: (tenant, id) => ask((messages) => messages.discard(tenant, id)),
    oldestAt: ask((messages) => messages.oldestAt),
  }
}
