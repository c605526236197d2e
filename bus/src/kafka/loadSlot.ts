// Prepares a partition that this member has just got: where the group stands in it, and which messages wait in the topic
// of retries. All of them must be known before the first message is handled, because later messages of their keys must
// follow them.
import { committedOffsets } from "./groupOffsets.ts"
import type { KafkaCluster } from "./KafkaCluster.ts"
import type { CommitState } from "./OffsetTracker.ts"
import { PartitionSlot, type SlotOptions } from "./PartitionSlot.ts"
import { earliest, latest, offsetAt, type PartitionPlace, readPartition } from "./partitionReads.ts"

export interface LoadSlotOptions {
  readonly group: string
  /** The line on which the broker is asked. */
  readonly line: string
  readonly topic: string
  readonly partition: number
  /** No message waits longer than until this time. */
  readonly latestDueAtMs: number
  readonly slot: SlotOptions
}

export const loadSlot = async (
  cluster: KafkaCluster,
  { group, line, topic, partition, latestDueAtMs, slot: options }: LoadSlotOptions,
): Promise<PartitionSlot> => {
  const main = { topic, partition }
  const retries = { topic: options.retryTopic, partition }
  const committed = await committedOffsets(cluster, group, [main, retries])
  const stateOf = ({ topic: name }: PartitionPlace) =>
    validState(cluster, { topic: name, partition }, committed.get(`${name}:${partition}`))
  const [mainState, retryState] = await Promise.all([stateOf(main), stateOf(retries)])
  const slot = new PartitionSlot({ main: mainState, retries: retryState }, options)
  const end = await offsetAt(cluster, retries, latest)
  for (let from = retryState.offset; from < end; ) {
    const part = await readPartition(cluster, { ...retries, from }, { line, waitMs: 0 })
    for (const record of part.records) slot.load(record, latestDueAtMs)
    if (part.next === from) throw new Error(`the broker has no record at offset ${from} of ${retries.topic}`)
    from = part.next
  }
  slot.retries.passTo(end)
  return slot
}

/** The first offset of the partition if the group has no commit, or if the commit is for records that do not exist. */
const validState = async (
  cluster: KafkaCluster,
  place: PartitionPlace,
  committed: CommitState | undefined,
): Promise<CommitState> => {
  const first = await offsetAt(cluster, place, earliest)
  if (committed === undefined || committed.offset < first) return { offset: first, note: "" }
  const end = await offsetAt(cluster, place, latest)
  return committed.offset > end ? { offset: first, note: "" } : committed
}
