// Creates topics that are missing, and checks those that exist: settings of a topic can break the promises of the bus.
import { createPartitionsV2, createTopicsV7, describeConfigsV4 } from "../../../drivers/kafka/kafka.ts"
import type { KafkaCluster, TopicFacts } from "./KafkaCluster.ts"
import { KafkaRefusal, kafkaCodes, refuseCode } from "./KafkaFailure.ts"
import { pause } from "./within.ts"

export interface WantedTopic {
  readonly name: string
  readonly partitions: number
  readonly replicas: number
  readonly config?: Readonly<Record<string, string>>
  /** Partitions may be added to a topic that exists. Keys would move, so a topic of messages stays as it is. */
  readonly mayGrow?: true
}

export interface FoundTopic extends TopicFacts {
  /** The largest batch that the topic takes. */
  readonly maxMessageBytes: number
  readonly isCompacted: boolean
  readonly minInsyncReplicas: number
}

const createWithinMs = 10_000
const askEveryMs = 20
const topicResource = 2
const defaultMaxMessageBytes = 1_048_588

/** Records of retries and of undeliverable messages are larger than the message that they contain. */
export const roomyConfig = { "max.message.bytes": String(2 * 1_024 * 1_024) }

/** Creates the topic if it is missing, and returns when every partition has a leader. */
export const ensureTopic = async (cluster: KafkaCluster, wanted: WantedTopic): Promise<TopicFacts> => {
  const [known] = await cluster.metadata([wanted.name])
  if (known === undefined) await createTopic(cluster, wanted)
  else if (known.partitionCount >= wanted.partitions || wanted.mayGrow !== true) return known
  else await addPartitions(cluster, wanted)
  return untilLed(cluster, wanted)
}

/** The topic with the settings that matter here. */
export const describeTopic = async (cluster: KafkaCluster, topic: TopicFacts): Promise<FoundTopic> => {
  const { results } = await cluster.general(
    describeConfigsV4,
    [
      {
        resourceType: topicResource,
        resourceName: topic.name,
        configurationKeys: ["cleanup.policy", "max.message.bytes", "min.insync.replicas"],
      },
    ],
    false,
    false,
  )
  // A user who may not read the settings of the topic may still use it.
  const configs = new Map(results[0]?.configs.map(({ name, value }) => [name, value ?? ""]))
  return {
    ...topic,
    maxMessageBytes: Number(configs.get("max.message.bytes") ?? defaultMaxMessageBytes),
    isCompacted: configs.get("cleanup.policy")?.includes("compact") === true,
    minInsyncReplicas: Number(configs.get("min.insync.replicas") ?? 1),
  }
}

/** Why the topic cannot be used for messages, or `undefined`. */
export const topicContradiction = ({ name, isCompacted }: FoundTopic): string | undefined =>
  isCompacted
    ? `The topic ${name} is compacted (cleanup.policy): it must not be, or newer messages of a key remove older ones before they are handled. Set its cleanup.policy to delete.`
    : undefined

/** What an operator should know, one sentence each. */
export const topicWarnings = (topic: FoundTopic, wantedPartitions: number): ReadonlyArray<string> =>
  [
    topic.replicaCount === 1 &&
      `the topic ${topic.name} has one replica: if the broker's disk fails, its messages are lost`,
    topic.replicaCount > 1 &&
      topic.minInsyncReplicas === 1 &&
      `the topic ${topic.name} has min.insync.replicas=1: a broker may confirm messages that only it has. Set it to 2`,
    topic.partitionCount !== wantedPartitions &&
      `the topic ${topic.name} has ${topic.partitionCount} partitions, not ${wantedPartitions} as configured: the service uses what is there`,
  ].filter((warning) => warning !== false)

const createTopic = async (
  cluster: KafkaCluster,
  { name, partitions, replicas, config = {} }: WantedTopic,
): Promise<void> => {
  const configs = Object.entries({
    ...config,
    ...(replicas > 2 ? { "min.insync.replicas": "2" } : {}),
  }).map(([key, value]) => ({ name: key, value }))
  const topic = { name, numPartitions: partitions, replicationFactor: replicas, assignments: [], configs }
  const { topics } = await cluster.general(createTopicsV7, [topic], createWithinMs, false)
  for (const { errorCode, errorMessage } of topics) {
    // Another node may create the topic at the same time.
    if (errorCode !== kafkaCodes.topicExists) refuseCode(errorCode, errorMessage)
  }
}

const addPartitions = async (
  cluster: KafkaCluster,
  { name, partitions: count }: WantedTopic,
): Promise<void> => {
  const { results } = await cluster.general(
    createPartitionsV2,
    [{ name, count, assignments: [] }],
    createWithinMs,
    false,
  )
  for (const { errorCode, errorMessage } of results) {
    if (errorCode !== kafkaCodes.invalidPartitions) refuseCode(errorCode, errorMessage)
  }
}

const untilLed = async (cluster: KafkaCluster, { name, partitions }: WantedTopic): Promise<TopicFacts> => {
  const deadlineMs = performance.now() + createWithinMs
  for (;;) {
    const [known] = await cluster.metadata([name])
    if (known !== undefined && known.partitionCount >= partitions && (await isLed(cluster, known)))
      return known
    if (performance.now() > deadlineMs) throw new KafkaRefusal(kafkaCodes.leaderNotAvailable, name)
    await pause(askEveryMs)
  }
}

const isLed = async (cluster: KafkaCluster, { name, partitionCount }: TopicFacts): Promise<boolean> => {
  try {
    for (let partition = 0; partition < partitionCount; partition++) await cluster.leaderOf(name, partition)
    return true
  } catch {
    return false
  }
}
