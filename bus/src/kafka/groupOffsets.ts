// What the broker stores about the progress of a group: for each partition an offset, and a note about the messages
// behind it.
import { offsetCommitV8, offsetFetchV8 } from "../../../drivers/kafka/kafka.ts"
import type { Membership } from "./GroupMember.ts"
import type { KafkaCluster } from "./KafkaCluster.ts"
import { refuseCode } from "./KafkaFailure.ts"
import type { CommitState } from "./OffsetTracker.ts"
import type { PartitionPlace } from "./partitionReads.ts"
import { movingCodes, whileMoving } from "./whileMoving.ts"

export interface GroupCommit extends PartitionPlace, CommitState {}

/** By `topic:partition`. A partition without a commit is missing. Without topics, those of all topics. */
export const committedOffsets = (
  cluster: KafkaCluster,
  group: string,
  places: ReadonlyArray<PartitionPlace> | undefined,
): Promise<ReadonlyMap<string, GroupCommit>> => whileMoving(() => askCommitted(cluster, group, places))

const askCommitted = async (
  cluster: KafkaCluster,
  group: string,
  places: ReadonlyArray<PartitionPlace> | undefined,
): Promise<ReadonlyMap<string, GroupCommit>> => {
  const nodeId = await cluster.coordinatorOf(group)
  const topics =
    places === undefined
      ? null
      : [...Map.groupBy(places, ({ topic }) => topic)].map(([name, wanted]) => ({
          name,
          partitionIndexes: wanted.map(({ partition }) => partition),
        }))
  const { groups } = await cluster.ask(
    { nodeId, line: "offsets" },
    offsetFetchV8,
    [{ groupId: group, memberEpoch: -1, topics }],
    false,
  )
  const found = new Map<string, GroupCommit>()
  for (const { errorCode, topics: answered } of groups) {
    if (errorCode !== 0) cluster.forgetCoordinator(group)
    refuseCode(errorCode)
    for (const { name: topic, partitions } of answered) {
      for (const { partitionIndex: partition, committedOffset, metadata, errorCode: code } of partitions) {
        if (code !== 0) cluster.forgetCoordinator(group)
        refuseCode(code)
        if (committedOffset < 0n) continue
        const commit = { topic, partition, offset: Number(committedOffset), note: metadata ?? "" }
        found.set(`${topic}:${partition}`, commit)
      }
    }
  }
  return found
}

/** Returns the first error code, or 0. All commits of one call are stored together, or none of them. */
export const commitOffsets = async (
  cluster: KafkaCluster,
  group: string,
  line: string,
  { memberId, generationId }: Membership,
  commits: ReadonlyArray<GroupCommit>,
): Promise<number> => {
  const nodeId = await cluster.coordinatorOf(group)
  const { topics } = await cluster.ask(
    { nodeId, line },
    offsetCommitV8,
    group,
    generationId,
    memberId,
    null,
    [...Map.groupBy(commits, ({ topic }) => topic)].map(([name, partitions]) => ({
      name,
      partitions: partitions.map(({ partition, offset, note }) => ({
        partitionIndex: partition,
        committedOffset: BigInt(offset),
        committedLeaderEpoch: -1,
        committedMetadata: note,
      })),
    })),
  )
  const codes = topics.flatMap(({ partitions }) => partitions.map(({ errorCode }) => errorCode))
  const code = codes.find((one) => one !== 0) ?? 0
  if (movingCodes.has(code)) cluster.forgetCoordinator(group)
  return code
}
