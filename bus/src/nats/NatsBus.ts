// The bus on NATS JetStream. One stream holds the messages of all tenants. All members of a group share one durable
// consumer. Undeliverable messages are messages of the same stream. The broker's terms stay in this folder.
import { Context, Effect, Layer, type Scope } from "effect"
import { type ConsumerInfo, MsgHdrsImpl } from "../../../drivers/nats/nats.ts"
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
import { type RoutingTable, unrouted } from "../RoutingTable.ts"
import { UndeliverableMessages } from "../UndeliverableMessages.ts"
import { AckFloor } from "./AckFloor.ts"
import { apiCodeOf, apiCodes } from "./BrokerFailure.ts"
import { Connection, type ConnectionSettings } from "./Connection.ts"
import { NatsPublisher, type Outgoing } from "./NatsPublisher.ts"
import { natsAbilities, subscribeNats } from "./NatsSubscription.ts"
import { NatsUndeliverable } from "./NatsUndeliverable.ts"
import { ensureConsumer, ensureStream, type StreamOptions, streamWarnings } from "./StreamSetup.ts"
import { Subjects } from "./Subjects.ts"

export interface NatsOptions extends ConnectionSettings, Omit<StreamOptions, "subjects"> {
  readonly routing: RoutingTable
  /** The first part of every subject. */
  readonly prefix: string
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
  readonly connection: Connection
  readonly publisher: NatsPublisher
  readonly undeliverable: NatsUndeliverable
}

export const NatsBus = {
  layer: (options: NatsOptions): Layer.Layer<Bus | UndeliverableMessages, BusError> =>
    Layer.effectContext(
      Effect.gen(function* () {
        const subjects = new Subjects(options.prefix, options.routing)
        const { onRefused, connectTimeoutMs } = options
        const shortly = { ...options, connectTimeoutMs: Math.min(connectTimeoutMs, lookForMs) }
        const start = yield* BrokerStart.make({
          begin: (isFirst) => begin(isFirst && onRefused !== undefined ? shortly : options, subjects),
          onRefused,
        })
        return Context.make(Bus, busOf(options, subjects, start)).pipe(
          Context.add(UndeliverableMessages, undeliverableOf(start)),
        )
      }),
    ),
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

const busOf = (options: NatsOptions, subjects: Subjects, start: BrokerStart<Begun>): Bus["Service"] => {
  const floors = new Map<string, AckFloor>()
  const lags = new Map<string, number>()
  const waiting = new Map<string, string>()
  const subscribeTo = (begun: Begun, subscription: Subscription) =>
    subscribeGroup(begun, subscription, options, subjects, floors)
  return {
    abilities: natsAbilities,
    publish: (envelopes) =>
      Effect.suspend(() => {
        const { begun } = start
        if (begun !== undefined) return publishEnvelopes(begun.publisher, envelopes, options, subjects)
        return whenBegun(start, options.publishTimeoutMs).pipe(
          Effect.flatMap(({ publisher }) => publishEnvelopes(publisher, envelopes, options, subjects)),
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
    sample: (group) => sampled(start.begun?.connection, options.stream, group, floors.get(group), lags),
    whyWaiting: () => {
      const [why] = waiting.values()
      return start.whyWaiting() ?? why
    },
  }
}

const undeliverableOf = (start: BrokerStart<Begun>): UndeliverableMessages["Service"] => {
  const ask = <A>(question: (messages: NatsUndeliverable) => Effect.Effect<A, BusError>) =>
    Effect.flatMap(start.orWhyNot, ({ undeliverable }) => question(undeliverable))
  return {
    list: (tenant, page) => ask((messages) => messages.list(tenant, page)),
    find: (tenant, id) => ask((messages) => messages.find(tenant, id)),
    replay: (tenant, id) => ask((messages) => messages.replay(tenant, id)),
    discard: (tenant, id) => ask((messages) => messages.discard(tenant, id)),
    oldestAt: ask((messages) => messages.oldestAt),
  }
}

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

const publishEnvelopes = (
  publisher: NatsPublisher,
  envelopes: ReadonlyArray<OutgoingEnvelope>,
  options: NatsOptions,
  subjects: Subjects,
): Effect.Effect<ReadonlyArray<Published>, PublishError> => {
  const outgoing: Array<Outgoing> = []
  for (const envelope of envelopes) {
    const message = outgoingOf(envelope, options, subjects)
    if (message instanceof PublishError) return Effect.fail(message)
    outgoing.push(message)
  }
  return publisher.publish(outgoing)
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

/** While the broker is unreachable, the sample contains the last known values. */
const sampled = (
  connection: Connection | undefined,
  stream: string,
  group: string,
  floor: AckFloor | undefined,
  lags: Map<string, number>,
): Effect.Effect<BusSample, BusError> => {
  if (connection === undefined) return Effect.succeed({ isConnected: false, lag: 0 })
  const ask = Effect.map(consumerInfo(connection, stream, group), (info) => {
    if (info !== undefined) floor?.note(info)
    // Messages not delivered yet, plus messages delivered and not answered.
    lags.set(group, info === undefined ? 0 : info.num_pending + info.num_ack_pending)
  })
  return Effect.suspend(() =>
    connection.isConnected ? Effect.timeoutOption(ask, sampleWithinMs) : Effect.void,
  ).pipe(Effect.map(() => ({ isConnected: connection.isConnected, lag: lags.get(group) ?? 0 })))
}

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
