// Three real nodes on a real PostgreSQL, timers arriving all the time at all of them, and one node that is killed,
// frozen, or cut from the database.
import { expect, test } from "bun:test"
import type { ClusterHarness, ClusterNode } from "../../testkit/ClusterHarness.ts"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"
import { ClusterRun } from "./ClusterRun.ts"

/** P10 of the proof: what a killed node should have fired, others fire by then. */
const takenOverWithinMs = 10_000

/** Within which those who speak to a node notice that it is gone. */
const noticedWithinMs = 250

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
  test("fires a killed node's timers within ten seconds, and takes it back when it is started again", async () => {
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
    // Creates need no owner: they are stored all the same, but for those that were on their way to it.
    const later = run.refused(fault).filter(({ sentAtMs }) => sentAtMs > fault.beganAtMs + noticedWithinMs)
    expect(later.filter(({ call }) => call === "create")).toEqual([])
    expect(run.refusedOutside([fault], 1_000)).toEqual([])
    const silentMs = [...orphaned].map(
      (shard) => run.firstAttemptAfter(shard, fault.beganAtMs) - fault.beganAtMs,
    )
    run.tell(`the killed node's ${orphaned.size} shards fire again within ${Math.max(...silentMs)} ms`)
    expect(Math.max(...silentMs)).toBeLessThanOrEqual(takenOverWithinMs)
  }, 90_000)

  test("has a frozen node start nothing when it wakes", async () => {
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
    // That it started nothing under its old epochs is the checker's to say; it had something to start.
    const dueMeanwhile = cluster.receiver.deliveries.filter(
      ({ key, executeAtMs }) =>
        held.has(cluster.shardOf(key)) && executeAtMs > fault.beganAtMs && executeAtMs < fault.endedAtMs,
    )
    expect(dueMeanwhile.length).toBeGreaterThan(0)
    await run.expectInvariants([fault])
    expect(run.refusedOutside([fault], 5_000)).toEqual([])
    // Those that run answer, or refuse, within their bound.
    expect(run.unanswered(fault).filter(({ url }) => url !== frozen.url)).toEqual([])
  }, 90_000)

  test("answers through a node that is cut from the database, and does without it", async () => {
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
    // The node that is cut off still carries what it cannot do to those who can.
    const answered = run.exchangesWith(cut, fault).filter(({ status }) => status === 200)
    expect(answered.length).toBeGreaterThan(0)
    expect(run.unanswered(fault)).toEqual([])
  }, 90_000)
})
