import { expect, test } from "bun:test"
import { eventually } from "@punctual/server/testkit/eventually"
import type { KafkaCluster } from "../../src/kafka/KafkaCluster.ts"
import { PartitionSlot, retryHeaders } from "../../src/kafka/PartitionSlot.ts"
import type { KafkaRecordIn } from "../../src/kafka/partitionReads.ts"
import { RetryFeed } from "../../src/kafka/RetryFeed.ts"
import type { RetryEntry } from "../../src/kafka/RetryQueue.ts"

const header = (name: string, value: string) => [Buffer.from(name), Buffer.from(value)] as const

const copy = (
  offset: number,
  state: Partial<Record<keyof typeof retryHeaders, string>> = {},
): KafkaRecordIn => ({
  offset,
  timestampMs: 0,
  key: Buffer.from(`key-${offset}`),
  value: Buffer.from(`value-${offset}`),
  headers: [
    header(retryHeaders.origin, `${offset}-0`),
    header(retryHeaders.deliveries, state.deliveries ?? "1"),
    header(retryHeaders.dueAt, state.dueAt ?? "0"),
    header(retryHeaders.begun, state.begun ?? "false"),
  ],
})

/** A topic of retries with these copies. Reads fail while the broker is away. */
const feedOver = (copies: ReadonlyArray<KafkaRecordIn>) => {
  const broker = { isAway: false, reads: 0, stored: copies.length }
  const taken: Array<RetryEntry> = []
  const batch = (record: KafkaRecordIn) => ({
    firstOffset: BigInt(record.offset),
    lastOffsetDelta: 0,
    attributes: 0,
    firstTimestamp: 0n,
    maxTimestamp: 0n,
    records: [{ ...record, offsetDelta: 0, timestampDelta: 0n }],
  })
  const partitions = [
    { partitionIndex: 0, errorCode: 0, records: copies.map(batch), abortedTransactions: [] },
  ]
  const cluster = {
    isConnected: true,
    forgetLeader: () => {},
    leaderOf: async () => {
      broker.reads++
      if (broker.isAway) throw new Error("the broker is away")
      return 1
    },
    ask: async () => ({ errorCode: 0, responses: [{ topicId: "retries", partitions }] }),
  }
  const producer = {
    send: async (records: ReadonlyArray<unknown>) => records.map(() => BigInt(broker.stored++)),
  }
  const slot = new PartitionSlot(
    { main: { offset: 0, note: "" }, retries: { offset: 0, note: "" } },
    {
      partition: 0,
      retryTopic: "retries",
      producer,
      onChange: () => {},
      log: () => {},
    },
  )
  for (const one of copies) slot.load(one, Number.MAX_SAFE_INTEGER)
  // The feed only reads partitions.
  const feed = new RetryFeed(cluster as unknown as KafkaCluster, new Map([[0, slot]]), {
    topic: "retries",
    line: "test",
    nowMs: () => 0,
    room: () => 10,
    take: (_, __, entry) => taken.push(entry),
    log: () => {},
  })
  const untilTaken = (count: number) =>
    eventually(`${count} are taken`, () => {
      feed.feed()
      return taken.length >= count ? true : undefined
    })
  return { broker, slot, feed, taken, untilTaken }
}

test("a copy that could not be read is delivered when the broker is back, however often the feed looks", async () => {
  const { broker, feed, taken, untilTaken } = feedOver([copy(0)])
  broker.isAway = true
  feed.feed()
  await eventually("a read has failed", () => {
    feed.feed()
    return broker.reads > 1 ? true : undefined
  })
  broker.isAway = false
  await untilTaken(1)
  expect(taken).toHaveLength(1)
})

test("a delivery is counted in the topic before it begins", async () => {
  const { broker, taken, untilTaken, slot } = feedOver([copy(0)])
  await untilTaken(1)
  expect(taken[0]).toMatchObject({ deliveries: 2, isBegun: true, offset: 1 })
  expect(broker.stored).toBe(2)
  // The older copy is done, the newer one is not.
  expect(slot.commit(true).retries.offset).toBe(1)
})

test("suspects are delivered one at a time, the next one when the broker knows the end of the last", async () => {
  const suspect = { deliveries: "2", begun: "true" }
  const { slot, feed, taken, untilTaken } = feedOver([copy(0, suspect), copy(1, suspect), copy(2)])
  await untilTaken(2)
  feed.feed()
  const suspects = () => taken.filter(({ deliveries }) => deliveries === 3)
  expect(suspects()).toHaveLength(1)
  const [first] = suspects()
  if (first === undefined) throw new Error("no suspect is taken")
  slot.done(copy(first.originOffset), first)
  expect(feed.nextDueAtMs).toBeUndefined()
  slot.commit(true).stored()
  await untilTaken(3)
  expect(suspects()).toHaveLength(2)
})
