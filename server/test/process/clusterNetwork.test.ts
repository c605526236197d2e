// Three real nodes on a real PostgreSQL under load. One node has a bad connection to the database that is not broken:
// answers come late, or never, on connections that stay open.
import { expect, test } from "bun:test"
import { ClusterRun } from "../../testkit/ClusterRun.ts"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"

/** In each direction. A call and its answer take twice as long. A renewal with its announcement takes twice that. */
const slownessMs = 250

describePostgres("installed", "a bad connection to the database", () => {
  test("that is slow costs its node no shard, and creates only take longer", async () => {
    await using run = await ClusterRun.start("a node slow at the database")
    const { cluster } = run
    const slow = cluster.node(1)
    await run.until(2_000)
    const before = await cluster.leases()
    const fault = await run.during(async () => {
      slow.slow(slownessMs)
      await run.until(6_000)
      slow.heal()
    })
    expect(await cluster.leases()).toEqual(before)
    await run.finish()
    await run.expectInvariants([fault])
    // The node was really slow, and clients still used it.
    const answered = run.exchangesWith(slow, fault).filter(({ call }) => call === "create")
    expect(Math.max(...answered.map(({ tookMs }) => tookMs))).toBeGreaterThan(2 * slownessMs)
    // If an answer takes too long for another node, it asks again, so a create still gets its answer.
    expect(run.refused(fault).filter(({ call }) => call === "create")).toEqual([])
    expect(run.refusedOutside([fault], 1_000)).toEqual([])
    expect(run.repeats).toBe(0)
  }, 60_000)

  test("that loses answers costs its node its shards, and loses no timer", async () => {
    await using run = await ClusterRun.start("a node that does not hear the database")
    const { cluster } = run
    const deaf = cluster.node(1)
    await run.until(2_000)
    const fault = await run.during(async () => {
      deaf.deafen()
      await cluster.spread(cluster.nodes.slice(1))
      // Longer than any caller would wait. The node still believes that it owns its shards.
      await run.until(12_000)
      deaf.reconnect()
    })
    await cluster.spread()
    await run.finish()
    await run.expectInvariants([fault])
    // Callers of this node get some answer within its time limit, and soon after that the others answer as usual.
    expect(run.unanswered(fault)).toEqual([])
    expect(run.refusedOutside([fault], 5_000)).toEqual([])
  }, 60_000)
})
