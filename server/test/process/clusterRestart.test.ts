// Three real nodes with constant traffic. All are restarted one after another, as in an update. One is killed and comes
// back at once, as with a supervisor.
import { expect, test } from "bun:test"
import { ClusterRun } from "../../testkit/ClusterRun.ts"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"

describePostgres("installed", "a cluster under load", () => {
  test("can be restarted node by node, and its clients notice nothing", async () => {
    await using run = await ClusterRun.start("a rolling restart")
    const { cluster } = run
    cluster.balanceByReadiness()
    await run.until(2_000)
    const drains = await run.roll()
    await run.until(14_000)
    await run.finish()

    await run.expectInvariants([])
    run.tell(`drains took ${drains.map(({ tookMs }) => tookMs).join(", ")} ms`)
    expect(run.refusedBeside(drains)).toEqual([])
    expect(run.repeats).toBe(0)
    // Every shard was handed over, so no timer waited for a lease to expire.
    expect(run.takeovers).toEqual([])
    run.tell(`the longest wait of a timer was ${run.longestWaitMs([])} ms`)
  }, 90_000)

  test("accepts a killed node again as soon as it is restarted, without waiting for its lease", async () => {
    await using run = await ClusterRun.start("a node killed and started again at once")
    const { cluster } = run
    const victim = cluster.node(1)
    await run.until(2_000)
    const fault = await run.during(async () => {
      await victim.kill()
      await victim.start()
      await cluster.spread()
    })
    await run.until(8_000)
    await run.finish()

    await run.expectInvariants([fault])
    const said = `${victim.name} ran on this machine and has ended: its shards are free`
    expect(victim.process.logs.filter((line) => line.includes(said))).toHaveLength(1)
  }, 90_000)
})
