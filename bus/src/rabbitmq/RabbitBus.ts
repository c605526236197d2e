// The bus on RabbitMQ. RabbitNames.ts shows the exchanges and queues. The broker's terms stay in this folder.
//
// Publishing and reading use a connection each. A broker that runs out of memory or disk stops reading from connections
// that publish, and acknowledgements must not wait for that.
import { Effect, type Layer, type Scope } from "effect"
import type { ConsumeMessage } from "../../../drivers/rabbitmq/rabbitmq.ts"
import { type Bus, type BusError, PublishError, type Published, type Subscription } from "../Bus.ts"
import { type BrokerBusOptions, brokerBusLayer } from "../brokerBus.ts"
import { encodeEnvelope, type OutgoingEnvelope } from "../Envelope.ts"
import type { IntakeOptions } from "../IntakeOptions.ts"
import { type RoutedGroup, unrouted } from "../RoutingTable.ts"
import type { UndeliverableMessages } from "../UndeliverableMessages.ts"
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

export interface RabbitOptions extends RabbitSettings, BrokerBusOptions {
  /** The first part of every name on the broker. */
  readonly prefix: string
  readonly queues: QueueLayout
}

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
    brokerBusLayer(options, () => {
      const names = new RabbitNames(options.prefix)
      /** The members of a group in this process. Usually one. */
      const groups = new Map<string, Set<OwnGroup>>()
      return {
        abilities: rabbitAbilities,
        begin: (chosen) => begin(chosen, names),
        outgoingOf: (_, envelope) => outgoingOf(envelope, options, names),
        publish: ({ publisher }, outgoing) =>
          Effect.as(
            publisher.publish(outgoing),
            outgoing.map(() => stored),
          ),
        subscribe: (begun, subscription) => subscribeGroup(begun, subscription, options, names, groups),
        isConnected: ({ reading }) => reading.isConnected,
        lagOf: ({ reading }, group) => lagOf(reading, names, options, group, groups.get(group)),
        undeliverableOf: ({ undeliverable }) => undeliverable,
      }
    }),
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
 * Messages that wait in the queues of the group, also those that wait for a retry, and messages that this process has not
 * answered yet.
 */
const lagOf = (
  connection: RabbitConnection,
  names: RabbitNames,
  { intake }: RabbitOptions,
  group: string,
  members: ReadonlySet<OwnGroup> = new Set(),
): Effect.Effect<number | undefined> => {
  const queues = new Set<string>()
  for (const { queues: some } of members) for (const queue of some.known()) queues.add(queue)
  if (queues.size > 0) for (const delayMs of delaysOf(intake)) queues.add(retryName(names, group, delayMs))
  return connection
    .attempt(async (channel) => {
      let lag = 0
      for (const queue of queues) lag += (await channel.checkQueue(queue)).messageCount
      for (const { queues: some, unanswered } of members) lag += unanswered() - some.ownMessages()
      return Math.max(0, lag)
    })
    .pipe(Effect.orElseSucceed(() => undefined))
}
