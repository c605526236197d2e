// The bus on NATS JetStream. One stream holds the messages of all tenants. All members of a group share one durable
// consumer. Undeliverable messages are messages of the same stream. The broker's terms stay in this folder.
import { Effect, type Layer, type Scope } from "effect"
import { type ConsumerInfo, MsgHdrsImpl } from "../../../drivers/nats/nats.ts"
import { type Bus, type BusError, PublishError, type Subscription } from "../Bus.ts"
import { type BrokerBusOptions, brokerBusLayer } from "../brokerBus.ts"
import { encodeEnvelope, type OutgoingEnvelope } from "../Envelope.ts"
import { unrouted } from "../RoutingTable.ts"
import type { UndeliverableMessages } from "../UndeliverableMessages.ts"
import { AckFloor } from "./AckFloor.ts"
import { apiCodeOf, apiCodes } from "./BrokerFailure.ts"
import { Connection, type ConnectionSettings } from "./Connection.ts"
import { NatsPublisher, type Outgoing } from "./NatsPublisher.ts"
import { natsAbilities, subscribeNats } from "./NatsSubscription.ts"
import { NatsUndeliverable } from "./NatsUndeliverable.ts"
import { ensureConsumer, ensureStream, type StreamOptions, streamWarnings } from "./StreamSetup.ts"
import { Subjects } from "./Subjects.ts"

export interface NatsOptions extends ConnectionSettings, BrokerBusOptions, Omit<StreamOptions, "subjects"> {
  /** The first part of every subject. */
  readonly prefix: string
}

/** The parts that exist once the broker has answered. */
interface Begun {
  readonly connection: Connection
  readonly publisher: NatsPublisher
  readonly undeliverable: NatsUndeliverable
}

export const NatsBus = {
  layer: (options: NatsOptions): Layer.Layer<Bus | UndeliverableMessages, BusError> =>
    brokerBusLayer(options, () => {
      const subjects = new Subjects(options.prefix, options.routing)
      const floors = new Map<string, AckFloor>()
      return {
        abilities: natsAbilities,
        begin: (chosen) => begin(chosen, subjects),
        outgoingOf: (_, envelope) => outgoingOf(envelope, options, subjects),
        publish: ({ publisher }, outgoing) => publisher.publish(outgoing),
        subscribe: (begun, subscription) => subscribeGroup(begun, subscription, options, subjects, floors),
        isConnected: ({ connection }) => connection.isConnected,
        lagOf: ({ connection }, group) => lagOf(connection, options.stream, group, floors.get(group)),
        undeliverableOf: ({ undeliverable }) => undeliverable,
      }
    }),
} as const

const begin = Effect.fnUntraced(function* (
  options: NatsOptions,
  subjects: Subjects,
): Effect.fn.Return<Begun, BusError, Scope.Scope> {
  const { stream } = options
  const connection = yield* Connection.open(options)
  const { config } = yield* ensureStream(connection, { ...options, subjects: subjects.all })
  for (const warning of streamWarnings(config, options)) yield* Effect.logWarning(warning)
  const publisher = yield* NatsPublisher.make(connection, options.publishTimeoutMs)
  const place = { stream, subjects, streamMostBytes: config.max_msg_size }
  return { connection, publisher, undeliverable: new NatsUndeliverable(connection, publisher, place) }
})

const subscribeGroup = (
  { connection, undeliverable }: Begun,
  subscription: Subscription,
  options: NatsOptions,
  subjects: Subjects,
  floors: Map<string, AckFloor>,
): Effect.Effect<void, BusError, Scope.Scope> => {
  const { stream, intake } = options
  const { group, topic } = subscription
  const floor = floors.get(group) ?? new AckFloor()
  floors.set(group, floor)
  const consumer = { group, subjects: subjects.ofTopic(topic), intake }
  return subscribeNats(connection, subscription, {
    stream,
    subjects,
    intake,
    setAside: (message) => undeliverable.setAside(message),
    setUp: Effect.flatMap(ensureStream(connection, { ...options, subjects: subjects.all }), (found) =>
      ensureConsumer(connection, stream, consumer, found, floor),
    ),
  }).pipe(Effect.andThen(Effect.forkScoped(keepNoting(connection, stream, group, floor))), Effect.asVoid)
}

const outgoingOf = (
  envelope: OutgoingEnvelope,
  { aggregateHeader, routing }: NatsOptions,
  subjects: Subjects,
): Outgoing | PublishError => {
  const { id, type, tenantId, aggregateId, correlationId } = envelope
  const subject = subjects.ofMessage(type, tenantId)
  if (subject === undefined) {
    const message =
      routing.topicOf(type) === undefined
        ? unrouted(type)
        : `${JSON.stringify(tenantId)} is not a valid tenant, so there is no subject for its messages.`
    return new PublishError({ message, isPermanent: true })
  }
  if (lineBreak.test(`${id}${aggregateId}${correlationId}`)) {
    return new PublishError({
      message: "An id of the message contains a line break, which a header cannot hold.",
      isPermanent: true,
    })
  }
  // Built from a record: setting headers one by one makes the client search and copy each time, an eighth of a
  // publish's cost.
  const head = MsgHdrsImpl.fromRecord({
    "Nats-Msg-Id": [id],
    tenantId: [tenantId],
    [aggregateHeader]: [aggregateId],
    ...(correlationId === undefined ? {} : { correlationId: [correlationId] }),
  })
  return { subject, headers: head, bytes: encodeEnvelope(envelope) }
}

const lineBreak = /[\r\n]/

const noteEveryMs = 30_000

/** Never ends. If a request fails, the next round asks again. */
const keepNoting = (
  connection: Connection,
  stream: string,
  group: string,
  floor: AckFloor,
): Effect.Effect<never> =>
  Effect.sleep(noteEveryMs).pipe(
    Effect.andThen(connection.attempt((manager) => manager.consumers.info(stream, group))),
    Effect.map((info) => floor.note(info)),
    Effect.ignore,
    Effect.forever,
  )

/** Messages not delivered yet, plus messages delivered and not answered. */
const lagOf = (
  connection: Connection,
  stream: string,
  group: string,
  floor: AckFloor | undefined,
): Effect.Effect<number, BusError> =>
  Effect.map(consumerInfo(connection, stream, group), (info) => {
    if (info === undefined) return 0
    floor?.note(info)
    return info.num_pending + info.num_ack_pending
  })

/** `undefined` if there is no consumer. */
const consumerInfo = (
  connection: Connection,
  stream: string,
  group: string,
): Effect.Effect<ConsumerInfo | undefined, BusError> =>
  connection
    .attempt((manager) => manager.consumers.info(stream, group))
    .pipe(
      Effect.catch((error) =>
        apiCodeOf(error) === apiCodes.consumerNotFound
          ? Effect.undefined
          : Effect.fail(connection.refused("asking for the lag", error)),
      ),
    )
