// Three real nodes with constant traffic, and a database that goes away: it is restarted, and it is killed for longer
// than a lease.
import { expect, test } from "bun:test"
import { eventually } from "../../testkit/eventually.ts"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"
import { ClusterRun } from "./ClusterRun.ts"

/** Longer than a lease. When the database is back, no node trusts its leases any more. */
const awayMs = 6_000

describePostgres("installed", "a cluster under load", () => {
  test("waits for a database that is restarted or killed, and loses nothing", async () => {
    await using run = await ClusterRun.start("the database restarted, then killed")
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
    expect(run.refusedOutside([restart, kill], 5_000)).toEqual([])
    expect([restart, kill].flatMap((fault) => run.unanswered(fault))).toEqual([])
  }, 90_000)
})
