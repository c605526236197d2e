// Reads of single partitions: records from an offset on, and the first and last offset. Offsets are numbers here, because
// no partition reaches 2^53 records.
import { fetchV12, listOffsetsV6, type RecordsBatch } from "../../../drivers/kafka/kafka.ts"
import type { KafkaCluster } from "./KafkaCluster.ts"
import { kafkaCodes, refuseCode } from "./KafkaFailure.ts"

export interface KafkaRecordIn {
  readonly offset: number
  readonly timestampMs: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: ReadonlyArray<readonly [Buffer | null, Buffer | null]>
}

export interface PartitionPlace {
  readonly topic: string
  readonly partition: number
}

export interface PartitionPosition extends PartitionPlace {
  /** The first offset to read. */
  readonly from: number
}

export interface PartitionPart extends PartitionPlace {
  readonly errorCode: number
  readonly records: ReadonlyArray<KafkaRecordIn>
  /** Where to read on. */
  readonly next: number
}

export interface ReadTerms {
  /** The line on which the broker is asked. */
  readonly line: string
  /** How long the broker waits for the first record. */
  readonly waitMs: number
}

const readCommitted = 1
const partitionBytesMost = 1_024 * 1_024
const fetchBytesMost = 8 * 1_024 * 1_024
const answerSlackMs = 5_000

export const latest = -1n
export const earliest = -2n

/** Reads from partitions that one broker leads. The answer has an error code for each partition. */
export const readPartitions = async (
  cluster: KafkaCluster,
  nodeId: number,
  positions: ReadonlyArray<PartitionPosition>,
  { line, waitMs }: ReadTerms,
): Promise<ReadonlyArray<PartitionPart>> => {
  const topics = Map.groupBy(positions, ({ topic }) => topic)
  const answer = await cluster.ask(
    { nodeId, line, answerWithinMs: waitMs + answerSlackMs },
    fetchV12,
    waitMs,
    1,
    fetchBytesMost,
    readCommitted,
    0,
    -1,
    [...topics].map(([topicId, wanted]) => ({
      topicId,
      partitions: wanted.map(({ partition, from }) => ({
        partition,
        currentLeaderEpoch: -1,
        fetchOffset: BigInt(from),
        lastFetchedEpoch: -1,
        partitionMaxBytes: partitionBytesMost,
      })),
    })),
    [],
    "",
  )
  refuseCode(answer.errorCode)
  return answer.responses.flatMap(({ topicId: topic, partitions }) =>
    partitions.map(({ partitionIndex: partition, errorCode, records = [], abortedTransactions }) => {
      const position = positions.find((one) => one.topic === topic && one.partition === partition)
      const from = position?.from ?? 0
      return { topic, partition, errorCode, ...decodeBatches(records, from, abortedTransactions) }
    }),
  )
}

/** Reads from one partition. Fails if the broker refuses. */
export const readPartition = async (
  cluster: KafkaCluster,
  position: PartitionPosition,
  terms: ReadTerms,
): Promise<PartitionPart> => {
  const { topic, partition } = position
  try {
    const nodeId = await cluster.leaderOf(topic, partition)
    const [part] = await readPartitions(cluster, nodeId, [position], terms)
    if (part === undefined) throw new Error(`the broker did not answer about ${topic}`)
    refuseCode(part.errorCode)
    return part
  } catch (error) {
    cluster.forgetLeader(topic, partition)
    throw error
  }
}

/** The first offset of a partition (`earliest`), or the one after the last (`latest`). */
export const offsetAt = async (
  cluster: KafkaCluster,
  place: PartitionPlace,
  timestamp: bigint,
): Promise<number> => {
  const found = await offsetsAt(cluster, [place], timestamp)
  return found.get(`${place.topic}:${place.partition}`) ?? 0
}

/** By `topic:partition`. A partition that does not exist is missing. */
export const offsetsAt = async (
  cluster: KafkaCluster,
  places: ReadonlyArray<PartitionPlace>,
  timestamp: bigint,
): Promise<ReadonlyMap<string, number>> => {
  const byLeader = new Map<number, Array<PartitionPlace>>()
  for (const place of places) {
    const leader = await cluster.leaderOf(place.topic, place.partition)
    byLeader.set(leader, [...(byLeader.get(leader) ?? []), place])
  }
  const found = new Map<string, number>()
  for (const [nodeId, wanted] of byLeader) {
    const { topics } = await cluster.ask(
      { nodeId, line: "offsets" },
      listOffsetsV6,
      -1,
      readCommitted,
      [...Map.groupBy(wanted, ({ topic }) => topic)].map(([name, partitions]) => ({
        name,
        partitions: partitions.map(({ partition }) => ({
          partitionIndex: partition,
          currentLeaderEpoch: -1,
          timestamp,
        })),
      })),
    )
    for (const { name, partitions } of topics) {
      for (const { partitionIndex, errorCode, offset } of partitions) {
        if (errorCode !== 0) cluster.forgetLeader(name, partitionIndex)
        if (errorCode === kafkaCodes.unknownTopic) continue
        refuseCode(errorCode)
        found.set(`${name}:${partitionIndex}`, Number(offset))
      }
    }
  }
  return found
}

interface AbortedTransaction {
  readonly producerId: bigint
  readonly firstOffset: bigint
}

const isControl = 1 << 5
const isTransactional = 1 << 4
const isAppendTime = 1 << 3

/** Leaves out records before `from`, marks of the broker, and records of transactions that were aborted. */
const decodeBatches = (
  batches: ReadonlyArray<RecordsBatch>,
  from: number,
  aborted: ReadonlyArray<AbortedTransaction>,
): { readonly records: ReadonlyArray<KafkaRecordIn>; readonly next: number } => {
  const records: Array<KafkaRecordIn> = []
  const open = new Set<bigint>()
  const waiting = [...aborted]
  let next = from
  for (const batch of batches) {
    const first = Number(batch.firstOffset)
    next = Math.max(next, first + batch.lastOffsetDelta + 1)
    for (const one of waiting) if (one.firstOffset <= batch.firstOffset) open.add(one.producerId)
    if ((batch.attributes & isControl) !== 0) {
      open.delete(batch.producerId)
      for (let at = waiting.length - 1; at >= 0; at--) {
        const one = waiting[at]
        if (one?.producerId === batch.producerId && one.firstOffset <= batch.firstOffset)
          waiting.splice(at, 1)
      }
      continue
    }
    if ((batch.attributes & isTransactional) !== 0 && open.has(batch.producerId)) continue
    for (const { offsetDelta, timestampDelta, key, value, headers } of batch.records) {
      const offset = first + offsetDelta
      if (offset < from) continue
      const timestamp =
        (batch.attributes & isAppendTime) !== 0 ? batch.maxTimestamp : batch.firstTimestamp + timestampDelta
      records.push({ offset, timestampMs: Number(timestamp), key, value, headers })
    }
  }
  return { records, next }
}

/** The first value of the header as text. */
export const headerOf = ({ headers }: KafkaRecordIn, name: string): string | undefined => {
  for (const [key, value] of headers) if (key?.toString() === name) return value?.toString() ?? ""
  return undefined
}
