// How soon the timers of a killed node fire on other nodes. Three nodes run on PostgreSQL, timers are due evenly over all
// shards, and one node is killed without warning in the middle.
import { ClusterHarness, type ClusterNode } from "@punctual/server/testkit/ClusterHarness"
import { atMost, type Benchmark, count, figure, latenessText, percentile } from "../Benchmark.ts"

const perSecond = 200
const createManyMax = 1_000
const takenOverWithinSeconds = 10

export const P10: Benchmark = {
  id: "P10",
  title: "kill -9 of one of three nodes on PostgreSQL",
  needs: ["postgres"],
  uses: ["postgres"],
  hasPeers: false,
  run: async ({ rounds, isQuick }, progress) => {
    const results: Array<Round> = []
    for (let round = 1; round <= rounds; round++) {
      const result = await failOver(isQuick ? 3 : 20, isQuick ? 1_000 : 4_000)
      progress(`step ${round}/${rounds}: ${result.shards} shards fire again after ${result.silentMs} ms`)
      results.push(result)
    }
    const lost = results.reduce((sum, result) => sum + result.lost, 0)
    const timers = results.reduce((sum, result) => sum + result.timers, 0)
    return {
      rows: results.map((result, index) => ({
        name: `round ${index + 1}, ${count(result.timers)} timers, ${result.repeats} repeated`,
        values: `late by ${latenessText(result.latenessMs)}`,
        figures: [
          figure("killed node's shards fire again", "ms after the kill", [result.silentMs]),
          figure("p99", "ms late", [percentile(result.latenessMs, 0.99)]),
          figure("lost", "timers", [result.lost]),
        ],
      })),
      verdicts: [
        atMost(
          "the killed node's shards fire again after",
          Math.max(...results.map(({ silentMs }) => silentMs)) / 1_000,
          takenOverWithinSeconds,
          "s",
        ),
        { label: `lost of ${count(timers)}`, value: String(lost), target: "0", isReached: lost === 0 },
      ],
    }
  },
}

interface Round {
  readonly timers: number
  readonly lost: number
  readonly repeats: number
  /** The number of shards of the killed node. */
  readonly shards: number
  /** From the kill until the last of them fired again. */
  readonly silentMs: number
  readonly latenessMs: ReadonlyArray<number>
}

const failOver = async (seconds: number, killAfterMs: number): Promise<Round> => {
  await using cluster = await ClusterHarness.start()
  const { receiver } = cluster
  const victim = cluster.node(1)
  const timers = seconds * perSecond
  const firstDueMs = Date.now() + 3_000
  await createAll(cluster, timers, firstDueMs)
  while (Date.now() < firstDueMs + killAfterMs) await Bun.sleep(firstDueMs + killAfterMs - Date.now())
  const orphaned = await shardsOf(cluster, victim)
  const killedAtMs = Date.now()
  await victim.kill()
  const fired = () => new Set(receiver.deliveries.map(({ fireId }) => fireId)).size
  const lastDueMs = firstDueMs + seconds * 1_000
  while (fired() < timers && Date.now() < lastDueMs + takenOverWithinSeconds * 2_000) await Bun.sleep(50)

  const silentMs = orphaned.map((shard) => {
    const again = receiver.deliveries.filter(
      ({ key, firedAtMs }) => firedAtMs > killedAtMs && cluster.shardOf(key) === shard,
    )
    return Math.min(...again.map(({ firedAtMs }) => firedAtMs)) - killedAtMs
  })
  const first = new Map(receiver.deliveries.toReversed().map((delivery) => [delivery.fireId, delivery]))
  return {
    timers,
    lost: timers - first.size,
    repeats: receiver.deliveries.length - first.size,
    shards: orphaned.length,
    silentMs: Math.max(...silentMs),
    latenessMs: [...first.values()].map(({ executeAtMs, firedAtMs }) => firedAtMs - executeAtMs),
  }
}

/** Creates timers that are due evenly, one after another. */
const createAll = async (cluster: ClusterHarness, timers: number, firstDueMs: number): Promise<void> => {
  const requests = Array.from({ length: timers }, (_, index) => ({
    key: { namespace: "bench", timerId: `t-${index}` },
    executeAtMs: firstDueMs + Math.floor((index * 1_000) / perSecond),
    callbackUrl: cluster.receiver.url,
  }))
  for (let first = 0; first < timers; first += createManyMax) {
    const answers = await cluster.client.createMany(requests.slice(first, first + createManyMax))
    if (answers.some((answer) => answer?.result !== "created"))
      throw new Error("a timer could not be created")
  }
}

const shardsOf = async (cluster: ClusterHarness, { name }: ClusterNode): Promise<ReadonlyArray<number>> =>
  (await cluster.leases()).flatMap(({ shard, node }) => (node === name ? [shard] : []))
