// Three real nodes on a real PostgreSQL under load, and one of them whose way to the database is bad without being
// broken: its answers come late, or do not come, on connections that stay.
import { expect, test } from "bun:test"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"
import { ClusterRun } from "./ClusterRun.ts"

/** In each direction: a call and its answer take twice as long, a renewal with its announcement twice that. */
const slownessMs = 250

describePostgres("installed", "a way to the database that is bad", () => {
  test("a slow one costs its node no shard, and creates nothing but time", async () => {
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
    // It was slow indeed, and asked all the same.
    const answered = run.exchangesWith(slow, fault).filter(({ call }) => call === "create")
    expect(Math.max(...answered.map(({ tookMs }) => tookMs))).toBeGreaterThan(2 * slownessMs)
    // An answer that another node has waited too long for is asked for again: to a create it still comes.
    expect(run.refused(fault).filter(({ call }) => call === "create")).toEqual([])
    expect(run.refusedOutside([fault], 1_000)).toEqual([])
    expect(run.repeats).toBe(0)
  }, 60_000)

  test("one on which answers vanish costs its node its shards, and nobody a timer", async () => {
    await using run = await ClusterRun.start("a node that does not hear the database")
    const { cluster } = run
    const deaf = cluster.node(1)
    await run.until(2_000)
    const fault = await run.during(async () => {
      deaf.deafen()
      await cluster.spread(cluster.nodes.slice(1))
      // For longer than anyone who asks would wait: it takes its shards for its own still.
      await run.until(12_000)
      deaf.reconnect()
    })
    await cluster.spread()
    await run.finish()
    await run.expectInvariants([fault])
    // Whoever asks it is told something within its bound, and the others answer as ever soon after.
    expect(run.unanswered(fault)).toEqual([])
    expect(run.refusedOutside([fault], 5_000)).toEqual([])
  }, 60_000)
})
