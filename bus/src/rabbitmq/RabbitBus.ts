// The bus on RabbitMQ. RabbitNames.ts shows the exchanges and queues. The broker's terms stay in this folder.
//
// Publishing and reading use a connection each. A broker that runs out of memory or disk stops reading from connections
// that publish, and acknowledgements must not wait for that.
import { Context, Effect, Layer, type Scope } from "effect"
import type { ConsumeMessage } from "../../../drivers/rabbitmq/rabbitmq.ts"
import { BrokerStart } from "../BrokerStart.ts"
import {
  Bus,
  BusError,
  type BusSample,
  PublishError,
  type Published,
  type Subscription,
  whyNotGroup,
} from "../Bus.ts"
import { encodeEnvelope, type OutgoingEnvelope } from "../Envelope.ts"
import type { IntakeOptions } from "../IntakeOptions.ts"
import { subscribeLater, whenBegun } from "../LaterStart.ts"
import { type RoutedGroup, type RoutingTable, unrouted } from "../RoutingTable.ts"
import { UndeliverableMessages } from "../UndeliverableMessages.ts"
import type { GroupQueues } from "./GroupQueues.ts"
import { numberedQueues } from "./numberedQueues.ts"
import { RabbitConnection, type RabbitSettings } from "./RabbitConnection.ts"
import { deliveriesHeader } from "./RabbitIncoming.ts"
import { RabbitNames, routingKeyOf } from "./RabbitNames.ts"
import { type RabbitOutgoing, RabbitPublisher } from "./RabbitPublisher.ts"
import { rabbitAbilities, subscribeRabbit } from "./RabbitSubscription.ts"
import { plainHeaders, plainProperties, RabbitUndeliverable } from "./RabbitUndeliverable.ts"
import { TenantQueues } from "./TenantQueues.ts"
import { ensureGroup, ensureShared, type GroupLayout, type QueueLayout, retryName } from "./Topology.ts"

export interface RabbitOptions extends RabbitSettings {
  readonly routing: RoutingTable
  /** The first part of every name on the broker. */
  readonly prefix: string
  readonly queues: QueueLayout
  /** The header with the aggregate id of the message. */
  readonly aggregateHeader: string
  readonly intake: IntakeOptions
  /** How long a publish waits for the connection and for the broker's answer. */
  readonly publishTimeoutMs: number
  /**
   * Present if the bus waits for a broker that is unreachable at the start. Called if the broker then answers but
   * cannot be used.
   */
  readonly onRefused?: (message: string) => void
}

const sampleWithinMs = 2_000
/** How long an opening that is allowed to wait looks for the broker before it continues without it. */
const lookForMs = 2_000

/** The parts that exist once the broker has answered. */
interface Begun {
  readonly reading: RabbitConnection
  readonly publisher: RabbitPublisher
  readonly undeliverable: RabbitUndeliverable
}

/** A group that subscribed through this bus. */
interface OwnGroup {
  readonly queues: GroupQueues
  readonly unanswered: () => number
}

export const RabbitBus = {
  layer: (options: RabbitOptions): Layer.Layer<Bus | UndeliverableMessages, BusError> =>
    Layer.effectContext(
      Effect.gen(function* () {
        const names = new RabbitNames(options.prefix)
        const { onRefused, connectTimeoutMs } = options
        const shortly = { ...options, connectTimeoutMs: Math.min(connectTimeoutMs, lookForMs) }
        const start = yield* BrokerStart.make({
          begin: (isFirst) => begin(isFirst && onRefused !== undefined ? shortly : options, names),
          onRefused,
        })
        return Context.make(Bus, busOf(options, names, start)).pipe(
          Context.add(UndeliverableMessages, undeliverableOf(start)),
        )
      }),
    ),
} as const

const begin = Effect.fnUntraced(function* (
  options: RabbitOptions,
  names: RabbitNames,
): Effect.fn.Return<Begun, BusError, Scope.Scope> {
  const { routing, publishTimeoutMs } = options
  const reading = yield* RabbitConnection.open(options)
  const publishing = yield* RabbitConnection.open(options)
  const prepare = ensureShared(publishing, names, routing.topics)
  yield* prepare
  // A group of another process may start later, and must get what is published from now on.
  for (const routed of routing.groups) yield* ensureGroup(reading, names, layoutOf(routed, options))
  const publisher = yield* RabbitPublisher.make(publishing, publishTimeoutMs, prepare)
  const undeliverable = new RabbitUndeliverable({ connection: reading, publisher, names, routing })
  yield* Effect.addFinalizer(() => undeliverable.close)
  return { reading, publisher, undeliverable }
})

const busOf = (options: RabbitOptions, names: RabbitNames, start: BrokerStart<Begun>): Bus["Service"] => {
  /** The members of a group in this process. Usually one. */
  const groups = new Map<string, Set<OwnGroup>>()
  const lags = new Map<string, number>()
  const waiting = new Map<string, string>()
  const subscribeTo = (begun: Begun, subscription: Subscription) =>
    subscribeGroup(begun, subscription, options, names, groups)
  return {
    abilities: rabbitAbilities,
    publish: (envelopes) =>
      Effect.suspend(() => {
        const { begun } = start
        if (begun !== undefined) return publishEnvelopes(begun.publisher, envelopes, options, names)
        return Effect.flatMap(whenBegun(start, options.publishTimeoutMs), ({ publisher }) =>
          publishEnvelopes(publisher, envelopes, options, names),
        )
      }),
    subscribe: (subscription) =>
      Effect.suspend(() => {
        const unfit = whyNotGroup(subscription.group)
        if (unfit !== undefined) return Effect.fail(new BusError({ message: unfit }))
        return start.begun === undefined
          ? subscribeLater({ start, subscription, subscribeTo, waiting, onRefused: options.onRefused })
          : subscribeTo(start.begun, subscription)
      }),
    sample: (group) => sampled(start.begun?.reading, names, options, group, groups.get(group), lags),
    whyWaiting: () => {
      const [why] = waiting.values()
      return start.whyWaiting() ?? why
    },
  }
}

const undeliverableOf = (start: BrokerStart<Begun>): UndeliverableMessages["Service"] => {
  const ask = <A>(question: (messages: RabbitUndeliverable) => Effect.Effect<A, BusError>) =>
    Effect.flatMap(start.orWhyNot, ({ undeliverable }) => question(undeliverable))
  return {
    list: (tenant, page) => ask((messages) => messages.list(tenant, page)),
    find: (tenant, id) => ask((messages) => messages.find(tenant, id)),
    replay: (tenant, id) => ask((messages) => messages.replay(tenant, id)),
    discard: (tenant, id) => ask((messages) => messages.discard(tenant, id)),
    oldestAt: ask((messages) => messages.oldestAt),
  }
}

const subscribeGroup = Effect.fnUntraced(function* (
  { reading, publisher, undeliverable }: Begun,
  subscription: Subscription,
  options: RabbitOptions,
  names: RabbitNames,
  groups: Map<string, Set<OwnGroup>>,
): Effect.fn.Return<void, BusError, Scope.Scope> {
  const { intake } = options
  const { group, topic } = subscription
  const layout = layoutOf({ group, topic }, options)
  const queues =
    options.queues === "tenant"
      ? new TenantQueues(reading, publisher, names, layout)
      : numberedQueues(names, group, options.queues, intake)
  const unanswered = yield* subscribeRabbit(reading, subscription, {
    intake,
    meetingPlace: names.partOf(group, "members"),
    setUp: ensureGroup(reading, names, layout),
    queues,
    onSuspicion: (listener) => publisher.onSuspicion(listener),
    retry: (message, deliveries, delayMs) =>
      Effect.runPromise(publisher.publish([retryOf(names, layout, message, deliveries, delayMs)])),
    setAside: (message, tenant, facts) => undeliverable.setAside(message, tenant, facts),
  })
  const own: OwnGroup = { queues, unanswered }
  const members = groups.get(group) ?? new Set()
  groups.set(group, members.add(own))
  yield* Effect.addFinalizer(() => Effect.sync(() => members.delete(own)))
})

const layoutOf = ({ group, topic }: RoutedGroup, { queues, intake }: RabbitOptions): GroupLayout => ({
  group,
  topic,
  queues,
  retryDelaysMs: delaysOf(intake),
})

/** The intake asks for no other delays than these, except for a short pause of its own. */
const delaysOf = ({ retryDelaysMs }: IntakeOptions): ReadonlyArray<number> =>
  retryDelaysMs.length === 0 ? [100] : retryDelaysMs

/** A copy of the message that comes back to its group after the delay, or after the next longer one. */
const retryOf = (
  names: RabbitNames,
  { group, retryDelaysMs }: GroupLayout,
  message: ConsumeMessage,
  deliveries: number,
  delayMs: number,
): RabbitOutgoing => {
  const longEnough = retryDelaysMs.filter((one) => one >= delayMs)
  const chosen = longEnough.length === 0 ? Math.max(...retryDelaysMs) : Math.min(...longEnough)
  const { messageId } = message.properties
  return {
    exchange: retryName(names, group, chosen),
    routingKey: message.fields.routingKey,
    bytes: message.content,
    properties: {
      ...plainProperties(message),
      ...(typeof messageId === "string" ? { messageId } : {}),
      headers: { ...plainHeaders(message), [deliveriesHeader]: deliveries },
    },
    isMandatory: false,
  }
}

const publishEnvelopes = (
  publisher: RabbitPublisher,
  envelopes: ReadonlyArray<OutgoingEnvelope>,
  options: RabbitOptions,
  names: RabbitNames,
): Effect.Effect<ReadonlyArray<Published>, PublishError> => {
  const outgoing: Array<RabbitOutgoing> = []
  for (const envelope of envelopes) {
    const message = outgoingOf(envelope, options, names)
    if (message instanceof PublishError) return Effect.fail(message)
    outgoing.push(message)
  }
  return Effect.as(
    publisher.publish(outgoing),
    envelopes.map(() => stored),
  )
}

/** The broker does not notice repeats. */
const stored: Published = { isDuplicate: false }

const outgoingOf = (
  envelope: OutgoingEnvelope,
  { aggregateHeader, routing }: RabbitOptions,
  names: RabbitNames,
): RabbitOutgoing | PublishError => {
  const { id, type, tenantId, aggregateId, correlationId } = envelope
  const topic = routing.topicOf(type)
  const routingKey = routingKeyOf(tenantId, aggregateId)
  if (topic === undefined || routingKey === undefined) {
    const message =
      topic === undefined
        ? unrouted(type)
        : `${JSON.stringify(tenantId)} is not a valid tenant, so there is no routing key for its messages.`
    return new PublishError({ message, isPermanent: true })
  }
  const ofCorrelation = correlationId === undefined ? {} : { correlationId }
  return {
    exchange: names.topicExchange(topic),
    routingKey,
    bytes: encodeEnvelope(envelope),
    properties: {
      persistent: true,
      contentType: "application/json",
      messageId: id,
      type,
      ...ofCorrelation,
      headers: { tenantId, [aggregateHeader]: aggregateId, ...ofCorrelation },
    },
    isMandatory: routing.needsSubscriber(type),
  }
}

/**
 * Messages that wait in the queues of the group, for a retry too, and those that this process has not answered yet. While
 * the broker is unreachable, the sample contains the last known value.
 */
const sampled = (
  connection: RabbitConnection | undefined,
  names: RabbitNames,
  { intake }: RabbitOptions,
  group: string,
  members: ReadonlySet<OwnGroup> | undefined,
  lags: Map<string, number>,
): Effect.Effect<BusSample, BusError> => {
  if (connection === undefined) return Effect.succeed({ isConnected: false, lag: 0 })
  const queues = new Set<string>()
  for (const { queues: some } of members ?? []) for (const queue of some.known()) queues.add(queue)
  if (queues.size > 0) for (const delayMs of delaysOf(intake)) queues.add(retryName(names, group, delayMs))
  const ask = connection.attempt(async (channel) => {
    let lag = 0
    for (const queue of queues) lag += (await channel.checkQueue(queue)).messageCount
    for (const { queues: some, unanswered } of members ?? []) lag += unanswered() - some.ownMessages()
    lags.set(group, Math.max(0, lag))
  })
  return Effect.suspend(() =>
    connection.isConnected ? Effect.ignore(Effect.timeoutOption(ask, sampleWithinMs)) : Effect.void,
  ).pipe(Effect.map(() => ({ isConnected: connection.isConnected, lag: lags.get(group) ?? 0 })))
}
