// The bus on Kafka, or on a broker that speaks its protocol. Messages of all tenants share a topic. The key of a record is
// its tenant and its aggregate id, so messages of one key are in one partition, in order. A group of the bus is a consumer
// group. The broker's terms stay in this folder.
import { Effect, type Layer, type Scope } from "effect"
import { murmur2 } from "../../../drivers/kafka/kafka.ts"
import { type Bus, BusError, PublishError, type Published, type Subscription } from "../Bus.ts"
import { type BrokerBusOptions, brokerBusLayer } from "../brokerBus.ts"
import { encodeEnvelope, type OutgoingEnvelope } from "../Envelope.ts"
import { unrouted } from "../RoutingTable.ts"
import type { UndeliverableMessages } from "../UndeliverableMessages.ts"
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

export interface KafkaOptions extends KafkaConnectionSettings, BrokerBusOptions {
  /** The name of the shared topic, and the beginning of all other names. */
  readonly topic: string
  /** The topic of the routing table that has this name. */
  readonly mainTopic: string
  /** For topics that the bus creates. */
  readonly partitions: number
  readonly replicas: number
  /** The broker gives the partitions of a process that is silent for this long to others. 10 s by default. */
  readonly sessionTimeoutMs?: number
}

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
}

export const KafkaBus = {
  layer: (options: KafkaOptions): Layer.Layer<Bus | UndeliverableMessages, BusError> =>
    brokerBusLayer(options, () => {
      const names = new TopicNames(options.topic, options.routing, options.mainTopic)
      const groups = new Map<string, KnownGroup>()
      return {
        abilities: kafkaAbilities,
        begin: (chosen) => begin(chosen, names),
        outgoingOf: ({ topics }, envelope) =>
          outgoingOf(envelope, options, topics.get(names.ofType(envelope.type) ?? "")),
        publish,
        subscribe: (begun, subscription) => subscribeGroup(begun, subscription, options, names, groups),
        isConnected: ({ cluster }) => cluster.isConnected,
        lagOf: ({ cluster }, group) => askForLag(cluster, groups.get(group)),
        undeliverableOf: ({ undeliverable }) => undeliverable,
      }
    }),
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
  groups.set(group, { topic, groupId, places })
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

const publish = (
  { producer }: Begun,
  outgoing: ReadonlyArray<KafkaOutgoing>,
): Effect.Effect<ReadonlyArray<Published>, PublishError> =>
  Effect.tryPromise({
    try: () => producer.send(outgoing),
    catch: (error) =>
      new PublishError({
        message: `Kafka did not accept a message: ${error instanceof Error ? error.message : error}.`,
        isPermanent: error instanceof ProduceFailure && error.isPermanent,
      }),
  }).pipe(Effect.map((offsets) => offsets.map(() => ({ isDuplicate: false }))))

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

/** While the group has no coordinator, the lag cannot be known. */
const askForLag = (
  cluster: KafkaCluster,
  group: KnownGroup | undefined,
): Effect.Effect<number | undefined> =>
  group === undefined
    ? Effect.undefined
    : attempt("Kafka, asking for the lag", () => lagOf(cluster, group)).pipe(
        Effect.orElseSucceed(() => undefined),
      )

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
