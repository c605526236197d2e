// What a cluster must survive on every database that nodes can share: a node that is killed, frozen, or cut off from the
// database, and a database that is restarted and killed. Three real nodes with constant traffic, judged by the checker.
// How long something took is judged only in the matrix, which has the machine to itself (`judgesTimes`).
import { expect, test } from "bun:test"
import type { ClusterHarness, ClusterNode } from "./ClusterHarness.ts"
import { ClusterRun } from "./ClusterRun.ts"
import type { ClusterStoreKind } from "./ClusterStore.ts"
import { describeNeeding } from "./describeUnless.ts"
import { judgesTimes } from "./effort.ts"
import { eventually } from "./eventually.ts"

/** P10 of the proof: within this time, other nodes fire the timers of a killed node. */
const takenOverWithinMs = 10_000

/** Within this time, callers notice that a node is gone. */
const noticedWithinMs = 2_000

/** Longer than a lease. When the database is back, no node trusts its leases any more. */
const awayMs = 6_000

/** Only ends a test that hangs. */
const timeLimitMs = 420_000

/** `killedNode` runs only the first test. */
export const clusterFaultsSuite = (kind: ClusterStoreKind, faults: "all" | "killedNode"): void => {
  const { title } = kind
  describeNeeding(kind.missing, `a cluster under load on ${title}`, () => {
    killedNodeTest(kind)
    if (faults === "killedNode") return
    frozenNodeTest(kind)
    cutNodeTest(kind)
    lostDatabaseTest(kind)
  })
}

const killedNodeTest = (kind: ClusterStoreKind): void => {
  test(
    "fires a killed node's timers on other nodes, and stores new ones meanwhile if the database can",
    async () => {
      await using run = await ClusterRun.start(`${kind.title}: a node killed`, { store: kind.start })
      const { cluster } = run
      const [victim, others] = partsOf(cluster)
      await run.until(judgesTimes ? 3_000 : 1_500)
      const orphaned = await heldBy(cluster, victim)
      const fault = await run.during(async () => {
        await victim.kill()
        await cluster.spread(others)
      })
      await run.untilAfter(fault, 1_000)
      const insertedWithoutOwner = await run.insertedWithoutOwner(others)
      if (judgesTimes) {
        await run.until(10_000)
        await victim.start()
        await cluster.spread()
        await run.until(14_000)
      }
      await run.finish()

      await run.expectInvariants([fault])
      expect(run.impolite).toEqual([])
      expect(run.dueOn(orphaned, fault).length).toBeGreaterThan(0)
      if (kind.takesCreatesWithoutOwner) expect(insertedWithoutOwner).toBeGreaterThan(0)
      if (!judgesTimes) return
      // Creates are stored, except those that were on their way to the killed node.
      const later = run.refused(fault).filter(({ sentAtMs }) => sentAtMs > fault.beganAtMs + noticedWithinMs)
      if (kind.takesCreatesWithoutOwner) expect(later.filter(({ call }) => call === "create")).toEqual([])
      expect(run.refusedOutside([fault], 1_000)).toEqual([])
      const silentMs = [...orphaned].map(
        (shard) => run.firstAttemptAfter(shard, fault.beganAtMs) - fault.beganAtMs,
      )
      run.tell(`the killed node's ${orphaned.size} shards fire again within ${Math.max(...silentMs)} ms`)
      expect(Math.max(...silentMs)).toBeLessThanOrEqual(takenOverWithinMs)
    },
    timeLimitMs,
  )
}

const frozenNodeTest = (kind: ClusterStoreKind): void => {
  test(
    "starts nothing on a frozen node when it wakes up",
    async () => {
      await using run = await ClusterRun.start(`${kind.title}: a node frozen past its lease`, {
        store: kind.start,
      })
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
      expect(run.dueOn(held, fault).length).toBeGreaterThan(0)
      await run.expectInvariants([fault])
      expect(run.impolite).toEqual([])
      if (!judgesTimes) return
      expect(run.refusedOutside([fault], 5_000)).toEqual([])
      // Running nodes answer, or refuse, within their time limit.
      expect(run.unanswered(fault).filter(({ url }) => url !== frozen.url)).toEqual([])
    },
    timeLimitMs,
  )
}

const cutNodeTest = (kind: ClusterStoreKind): void => {
  test(
    "answers through a node that is cut off from the database, and works without it",
    async () => {
      await using run = await ClusterRun.start(`${kind.title}: a node cut from the database`, {
        store: kind.start,
      })
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
      expect(run.impolite).toEqual([])
      // The node that is cut off still forwards requests to nodes that can serve them.
      const answered = run.exchangesWith(cut, fault).filter(({ status }) => status === 200)
      expect(answered.length).toBeGreaterThan(0)
      if (!judgesTimes) return
      expect(run.refusedOutside([fault], 5_000)).toEqual([])
      expect(run.unanswered(fault)).toEqual([])
    },
    timeLimitMs,
  )
}

const lostDatabaseTest = (kind: ClusterStoreKind): void => {
  test(
    "waits for a database that is restarted or killed, and loses nothing",
    async () => {
      await using run = await ClusterRun.start(`${kind.title}: the database restarted, then killed`, {
        store: kind.start,
      })
      const { cluster } = run
      await run.until(3_000)
      const restart = await run.during(() => cluster.database.restart())
      await run.until(6_000)
      const kill = await run.during(async () => {
        await cluster.database.kill9()
        const backAtMs = Date.now() + awayMs
        await eventually("the database has been away", () => Date.now() >= backAtMs || undefined)
        await cluster.database.start()
      })
      await run.until(18_000)
      await cluster.spread()
      await run.finish()
      await run.expectInvariants([restart, kill])
      // No node takes a shard from another because the database was silent, so nothing is delivered twice.
      expect(run.repeats).toBe(0)
      expect(run.impolite).toEqual([])
      if (!judgesTimes) return
      expect(run.refusedOutside([restart, kill], 5_000)).toEqual([])
      expect([restart, kill].flatMap((fault) => run.unanswered(fault))).toEqual([])
    },
    timeLimitMs,
  )
}

const heldBy = async (cluster: ClusterHarness, { name }: ClusterNode): Promise<ReadonlySet<number>> => {
  const leases = await cluster.leases()
  return new Set(leases.flatMap(({ shard, node }) => (node === name ? [shard] : [])))
}

/** The first node, and the others. */
const partsOf = (cluster: ClusterHarness): readonly [ClusterNode, ReadonlyArray<ClusterNode>] => [
  cluster.node(1),
  cluster.nodes.slice(1),
]
