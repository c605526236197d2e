// The bus on Kafka, or on a broker that speaks its protocol. Messages of all tenants share a topic. The key of a record is
// its tenant and its aggregate id, so messages of one key are in one partition, in order. A group of the bus is a consumer
// group. The broker's terms stay in this folder.
import { Context, Effect, Layer, type Scope } from "effect"
import { murmur2 } from "../../../drivers/kafka/kafka.ts"
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
import { committedOffsets } from "./groupOffsets.ts"
import { KafkaCluster, type KafkaConnectionSettings } from "./KafkaCluster.ts"
import { isLastingFailure, kafkaFailureText } from "./KafkaFailure.ts"
import { type KafkaOutgoing, KafkaProducer, ProduceFailure, recordBytes } from "./KafkaProducer.ts"
import { kafkaAbilities, subscribeKafka } from "./KafkaSubscription.ts"
import {
  describeTopic,
  ensureTopic,
  type FoundTopic,
  roomyConfig,
  topicContradiction,
  topicWarnings,
} from "./KafkaTopics.ts"
import { KafkaUndeliverable } from "./KafkaUndeliverable.ts"
import { doneInNote } from "./OffsetTracker.ts"
import { earliest, latest, offsetsAt, type PartitionPlace } from "./partitionReads.ts"
import { isTenant, recordKeyOf, TopicNames } from "./TopicNames.ts"

export interface KafkaOptions extends KafkaConnectionSettings {
  readonly routing: RoutingTable
  /** The name of the shared topic, and the beginning of all other names. */
  readonly topic: string
  /** The topic of the routing table that has this name. */
  readonly mainTopic: string
  /** For topics that the bus creates. */
  readonly partitions: number
  readonly replicas: number
  /** The header with the aggregate id of the message. */
  readonly aggregateHeader: string
  readonly intake: IntakeOptions
  /** The broker gives the partitions of a process that is silent for this long to others. 10 s by default. */
  readonly sessionTimeoutMs?: number
  /** How long a publish waits for the connection and for the broker's answer. */
  readonly publishTimeoutMs: number
  /**
   * Present if the bus waits for a broker that is unreachable at the start. Called if the broker then answers but
   * cannot be used.
   */
  readonly onRefused?: (message: string) => void
}

const sampleWithinMs = 5_000
/** How long an opening that is allowed to wait looks for the broker before it continues without it. */
const lookForMs = 2_000

/** The parts that exist once the broker has answered. */
interface Begun {
  readonly cluster: KafkaCluster
  readonly producer: KafkaProducer
  readonly undeliverable: KafkaUndeliverable
  /** The topics of messages, by their names on the broker. */
  readonly topics: ReadonlyMap<string, FoundTopic>
}

/** What this process knows about a group. */
interface KnownGroup {
  readonly topic: string
  readonly groupId: string
  readonly places: ReadonlyArray<PartitionPlace>
  lag: number
}

export const KafkaBus = {
  layer: (options: KafkaOptions): Layer.Layer<Bus | UndeliverableMessages, BusError> =>
    Layer.effectContext(
      Effect.gen(function* () {
        const names = new TopicNames(options.topic, options.routing, options.mainTopic)
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
  options: KafkaOptions,
  names: TopicNames,
): Effect.fn.Return<Begun, BusError, Scope.Scope> {
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const where = `Kafka at ${options.servers.join(", ")}`
  const log = (message: string, isWarning: boolean) =>
    void run(isWarning ? Effect.logWarning(message) : Effect.logInfo(message))
  const cluster = yield* Effect.acquireRelease(
    attempt(`Cannot connect to ${where}`, () => KafkaCluster.open(options, log)),
    (opened) => Effect.promise(() => opened.close()),
  )
  const topics = new Map<string, FoundTopic>()
  for (const topic of options.routing.topics) {
    const name = names.ofTopic(topic)
    const found = yield* attempt(`${where}, preparing the topic ${name}`, async () => {
      const { partitions, replicas } = options
      return describeTopic(cluster, await ensureTopic(cluster, { name, partitions, replicas }))
    })
    const contradiction = topicContradiction(found)
    if (contradiction !== undefined) return yield* new BusError({ message: contradiction, isPermanent: true })
    for (const warning of topicWarnings(found, options.partitions)) yield* Effect.logWarning(warning)
    topics.set(name, found)
  }
  const producer = yield* Effect.acquireRelease(
    Effect.sync(() => new KafkaProducer(cluster, options.publishTimeoutMs)),
    (made) => Effect.sync(() => made.close()),
  )
  yield* attempt(`${where}, preparing to publish`, () => producer.warmUp())
  const routeOf = (type: string, key: Buffer) => {
    const topic = topics.get(names.ofType(type) ?? "")
    return topic === undefined ? undefined : { topic: topic.name, partition: partitionOf(key, topic) }
  }
  const undeliverable = new KafkaUndeliverable(cluster, producer, {
    names,
    replicas: options.replicas,
    routeOf,
  })
  return { cluster, producer, undeliverable, topics }
})

const attempt = <A>(what: string, work: () => Promise<A>): Effect.Effect<A, BusError> =>
  Effect.tryPromise({
    try: work,
    catch: (error) =>
      new BusError({
        message: `${what}: ${kafkaFailureText(error)}.`,
        isPermanent: isLastingFailure(error),
      }),
  })

const busOf = (options: KafkaOptions, names: TopicNames, start: BrokerStart<Begun>): Bus["Service"] => {
  const groups = new Map<string, KnownGroup>()
  const waiting = new Map<string, string>()
  const subscribeTo = (begun: Begun, subscription: Subscription) =>
    subscribeGroup(begun, subscription, options, names, groups)
  return {
    abilities: kafkaAbilities,
    publish: (envelopes) =>
      Effect.suspend(() => {
        const { begun } = start
        if (begun !== undefined) return publishEnvelopes(begun, envelopes, options, names)
        return whenBegun(start, options.publishTimeoutMs).pipe(
          Effect.flatMap((late) => publishEnvelopes(late, envelopes, options, names)),
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
    sample: (group) => sampled(start.begun?.cluster, groups.get(group)),
    whyWaiting: () => {
      const [why] = waiting.values()
      return start.whyWaiting() ?? why
    },
  }
}

const undeliverableOf = (start: BrokerStart<Begun>): UndeliverableMessages["Service"] => {
  const ask = <A>(question: (messages: KafkaUndeliverable) => Effect.Effect<A, BusError>) =>
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
  { cluster, producer, undeliverable, topics }: Begun,
  subscription: Subscription,
  options: KafkaOptions,
  names: TopicNames,
  groups: Map<string, KnownGroup>,
): Effect.fn.Return<void, BusError, Scope.Scope> {
  const { group } = subscription
  const topic = names.ofTopic(subscription.topic)
  const facts = topics.get(topic)
  if (facts === undefined) {
    return yield* new BusError({
      message: `The topic ${topic} is not in the routing table.`,
      isPermanent: true,
    })
  }
  // Other programs may use the same group names on the same cluster, for other topics.
  const groupId = `${names.base}.${group}`
  const retryTopic = names.ofRetries(subscription.topic, group)
  const { partitionCount } = facts
  const read = yield* attempt(`Kafka, preparing the group ${group}`, async () => {
    await ensureTopic(cluster, {
      name: retryTopic,
      partitions: partitionCount,
      replicas: options.replicas,
      config: roomyConfig,
      mayGrow: true,
    })
    return [...(await committedOffsets(cluster, groupId, undefined)).values()]
  })
  const others = [groups.get(group)?.topic, ...read.map((commit) => commit.topic)]
  const other = others.find((name) => name !== undefined && name !== topic && topics.has(name))
  if (other !== undefined) {
    return yield* new BusError({
      message: `The group ${group} already reads the topic ${other}, so it cannot read ${topic}: a group belongs to one topic.`,
      isPermanent: true,
    })
  }
  const places = [topic, retryTopic].flatMap((name) =>
    Array.from({ length: partitionCount }, (_, partition) => ({ topic: name, partition })),
  )
  groups.set(group, { topic, groupId, places, lag: 0 })
  yield* subscribeKafka(cluster, producer, subscription, {
    topic,
    retryTopic,
    partitionCount,
    groupId,
    intake: options.intake,
    sessionTimeoutMs: options.sessionTimeoutMs,
    setAside: (aside) => undeliverable.setAside({ ...aside, topic }),
  })
})

const publishEnvelopes = (
  { producer, topics }: Begun,
  envelopes: ReadonlyArray<OutgoingEnvelope>,
  options: KafkaOptions,
  names: TopicNames,
): Effect.Effect<ReadonlyArray<Published>, PublishError> => {
  const outgoing: Array<KafkaOutgoing> = []
  for (const envelope of envelopes) {
    const record = outgoingOf(envelope, options, topics.get(names.ofType(envelope.type) ?? ""))
    if (record instanceof PublishError) return Effect.fail(record)
    outgoing.push(record)
  }
  if (outgoing.length === 0) return Effect.succeed([])
  return Effect.tryPromise({
    try: () => producer.send(outgoing),
    catch: (error) =>
      new PublishError({
        message: `Kafka did not accept a message: ${error instanceof Error ? error.message : error}.`,
        isPermanent: error instanceof ProduceFailure && error.isPermanent,
      }),
  }).pipe(Effect.map((offsets) => offsets.map(() => ({ isDuplicate: false }))))
}

const outgoingOf = (
  envelope: OutgoingEnvelope,
  { aggregateHeader, routing }: KafkaOptions,
  topic: FoundTopic | undefined,
): KafkaOutgoing | PublishError => {
  const { id, type, tenantId, aggregateId, correlationId } = envelope
  const refused = (message: string) => new PublishError({ message, isPermanent: true })
  if (topic === undefined || routing.topicOf(type) === undefined) return refused(unrouted(type))
  if (!isTenant(tenantId)) return refused(`${JSON.stringify(tenantId)} is not a valid tenant.`)
  const key = Buffer.from(recordKeyOf(tenantId, aggregateId))
  const record = {
    topic: topic.name,
    partition: partitionOf(key, topic),
    key,
    value: Buffer.from(encodeEnvelope(envelope)),
    headers: {
      messageId: id,
      tenantId,
      [aggregateHeader]: aggregateId,
      ...(correlationId === undefined ? {} : { correlationId }),
    },
  }
  const bytes = recordBytes(record)
  return bytes <= topic.maxMessageBytes
    ? record
    : refused(
        `A message to ${topic.name} is ${bytes} bytes, more than the broker accepts (max.message.bytes ${topic.maxMessageBytes}).`,
      )
}

/** The same partition that Kafka's own clients choose for the key. */
const partitionOf = (key: Buffer, { partitionCount }: FoundTopic): number =>
  (murmur2(key) & 0x7fff_ffff) % partitionCount

/** While the broker is unreachable, the sample contains the last known values. */
const sampled = (
  cluster: KafkaCluster | undefined,
  group: KnownGroup | undefined,
): Effect.Effect<BusSample, BusError> => {
  if (cluster === undefined) return Effect.succeed({ isConnected: false, lag: 0 })
  if (group === undefined) return Effect.succeed({ isConnected: cluster.isConnected, lag: 0 })
  const ask = Effect.map(
    attempt("Kafka, asking for the lag", () => lagOf(cluster, group)),
    (lag) => {
      group.lag = lag
    },
  )
  return Effect.suspend(() =>
    cluster.isConnected ? Effect.ignore(Effect.timeoutOption(ask, sampleWithinMs)) : Effect.void,
  ).pipe(Effect.map(() => ({ isConnected: cluster.isConnected, lag: group.lag })))
}

/** The messages behind the committed offsets, without those that are done, in the topic and in the topic of retries. */
const lagOf = async (cluster: KafkaCluster, { groupId, places }: KnownGroup): Promise<number> => {
  const committed = await committedOffsets(cluster, groupId, places)
  const uncommitted = places.filter(({ topic, partition }) => !committed.has(`${topic}:${partition}`))
  const firsts = await offsetsAt(cluster, uncommitted, earliest)
  const ends = await offsetsAt(cluster, places, latest)
  let lag = 0
  for (const { topic, partition } of places) {
    const name = `${topic}:${partition}`
    const commit = committed.get(name) ?? { offset: firsts.get(name) ?? 0, note: "" }
    lag += Math.max(0, (ends.get(name) ?? 0) - commit.offset - doneInNote(commit.note))
  }
  return lag
}
