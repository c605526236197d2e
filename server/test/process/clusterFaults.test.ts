// Three real nodes on a real PostgreSQL with constant traffic, and one node that is killed, frozen, or cut off from the
// database.
import { expect, test } from "bun:test"
import type { ClusterHarness, ClusterNode } from "../../testkit/ClusterHarness.ts"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"
import { ClusterRun } from "./ClusterRun.ts"

/** P10 of the proof: within this time, other nodes fire the timers of a killed node. */
const takenOverWithinMs = 10_000

/** Within this time, callers notice that a node is gone. */
const noticedWithinMs = 2_000

const heldBy = async (cluster: ClusterHarness, { name }: ClusterNode): Promise<ReadonlySet<number>> => {
  const leases = await cluster.leases()
  return new Set(leases.flatMap(({ shard, node }) => (node === name ? [shard] : [])))
}

/** The first node, and the others. */
const partsOf = (cluster: ClusterHarness): readonly [ClusterNode, ReadonlyArray<ClusterNode>] => [
  cluster.node(1),
  cluster.nodes.slice(1),
]

describePostgres("installed", "a cluster under load", () => {
  test("fires a killed node's timers within ten seconds, and accepts the node again after its restart", async () => {
    await using run = await ClusterRun.start("a node killed")
    const { cluster } = run
    const [victim, others] = partsOf(cluster)
    await run.until(3_000)
    const orphaned = await heldBy(cluster, victim)
    const fault = await run.during(async () => {
      await victim.kill()
      await cluster.spread(others)
    })
    await run.until(10_000)
    await victim.start()
    await cluster.spread()
    await run.until(14_000)
    await run.finish()

    await run.expectInvariants([fault])
    // Creates need no owner. They are stored, except those that were on their way to the killed node.
    const later = run.refused(fault).filter(({ sentAtMs }) => sentAtMs > fault.beganAtMs + noticedWithinMs)
    expect(later.filter(({ call }) => call === "create")).toEqual([])
    expect(run.refusedOutside([fault], 1_000)).toEqual([])
    const silentMs = [...orphaned].map(
      (shard) => run.firstAttemptAfter(shard, fault.beganAtMs) - fault.beganAtMs,
    )
    run.tell(`the killed node's ${orphaned.size} shards fire again within ${Math.max(...silentMs)} ms`)
    expect(Math.max(...silentMs)).toBeLessThanOrEqual(takenOverWithinMs)
  }, 90_000)

  test("starts nothing on a frozen node when it wakes up", async () => {
    await using run = await ClusterRun.start("a node frozen past its lease")
    const { cluster } = run
    const [frozen, others] = partsOf(cluster)
    await run.until(3_000)
    const held = await heldBy(cluster, frozen)
    const fault = await run.during(async () => {
      frozen.freeze()
      await cluster.spread(others)
      await run.until(10_000)
      frozen.thaw()
    })
    await cluster.spread()
    await run.until(14_000)
    await run.finish()
    // The checker proves that the node started nothing under its old epochs. Here the test shows that it had something
    // to start.
    const dueMeanwhile = cluster.receiver.deliveries.filter(
      ({ key, executeAtMs }) =>
        held.has(cluster.shardOf(key)) && executeAtMs > fault.beganAtMs && executeAtMs < fault.endedAtMs,
    )
    expect(dueMeanwhile.length).toBeGreaterThan(0)
    await run.expectInvariants([fault])
    expect(run.refusedOutside([fault], 5_000)).toEqual([])
    // Running nodes answer, or refuse, within their time limit.
    expect(run.unanswered(fault).filter(({ url }) => url !== frozen.url)).toEqual([])
  }, 90_000)

  test("answers through a node that is cut off from the database, and works without it", async () => {
    await using run = await ClusterRun.start("a node cut from the database")
    const { cluster } = run
    const [cut, others] = partsOf(cluster)
    await run.until(3_000)
    const fault = await run.during(async () => {
      cut.cut()
      await cluster.spread(others)
      await run.until(11_000)
      cut.heal()
    })
    await cluster.spread()
    await run.until(15_000)
    await run.finish()
    await run.expectInvariants([fault])
    expect(run.refusedOutside([fault], 5_000)).toEqual([])
    // The node that is cut off still forwards requests to nodes that can serve them.
    const answered = run.exchangesWith(cut, fault).filter(({ status }) => status === 200)
    expect(answered.length).toBeGreaterThan(0)
    expect(run.unanswered(fault)).toEqual([])
  }, 90_000)
})
