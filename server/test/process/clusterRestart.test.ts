// Three real nodes with constant traffic. All are restarted one after another, as in an update. One is killed and comes
// back at once, as with a supervisor.
import { expect, test } from "bun:test"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"
import { ClusterRun } from "./ClusterRun.ts"

/** The longest time that a handover may delay a due timer. */
const handoverMs = 2_500

describePostgres("installed", "a cluster under load", () => {
  test("can be restarted node by node, and its clients notice nothing", async () => {
    await using run = await ClusterRun.start("a rolling restart")
    const { cluster } = run
    cluster.balanceByReadiness()
    await run.until(2_000)
    const drains: Array<{ readonly url: string; readonly fromMs: number; readonly tookMs: number }> = []
    for (const node of cluster.nodes) {
      const { url } = node
      const fromMs = Date.now()
      expect(await node.terminate()).toBe(0)
      drains.push({ url, fromMs, tookMs: Date.now() - fromMs })
      await node.start()
      await cluster.spread()
    }
    await run.until(14_000)
    await run.finish()

    await run.expectInvariants([])
    run.tell(`drains took ${drains.map(({ tookMs }) => tookMs).join(", ")} ms`)
    // A node that drains says so until clients use other nodes. Only then does it refuse connections.
    const unexpected = run.refusedOutside([], 0).filter((exchange) => {
      const { url, sentAtMs, tookMs, status, retryAfter } = exchange
      const isDraining = drains.some((drain) => drain.url === url && sentAtMs + tookMs >= drain.fromMs)
      return !isDraining || status !== 503 || retryAfter === undefined
    })
    expect(unexpected).toEqual([])
    expect(run.repeats).toBe(0)
    expect(run.longestWaitMs([])).toBeLessThanOrEqual(handoverMs)
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
    // No node took its shards because of a long silence.
    const taken = cluster.nodes.flatMap((node) => node.process.logs).filter((line) => line.includes("silent"))
    expect(taken).toEqual([])
  }, 90_000)
})
