// Three real nodes with constant traffic are replaced one after another: from an earlier version to today's. In the matrix
// they are also replaced back if both versions have the same schema. The earlier version is an earlier commit of this
// repository, because nothing is released yet.
import { expect, test } from "bun:test"
import { ClusterRun, type Drain } from "../../testkit/ClusterRun.ts"
import { describeEarlier, EarlierVersion } from "../../testkit/EarlierVersion.ts"
import { isEveryVersionTried } from "../../testkit/effort.ts"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"
import { fromSource } from "../../testkit/ServiceProcess.ts"

const versions = [
  {
    title: "the version before MySQL, Kafka and packages",
    commit: "bbff49ad80746238bb32168d53a2ef0f43bc2935",
    hasSameSchema: true,
  },
  {
    title: "the version before keys and signed calls between nodes",
    commit: "e350e59edb6adf46edfecbaca005e4dae53a5634",
    hasSameSchema: false,
  },
]

describePostgres("installed", "a cluster with traffic", () => {
  for (const { title, commit, hasSameSchema } of isEveryVersionTried ? versions : versions.slice(0, 1)) {
    describeEarlier(commit, `of ${title}`, () => {
      const goesBack = hasSameSchema && isEveryVersionTried
      const ways = goesBack ? "replaced by today's and back" : "replaced by today's"
      test(`is ${ways}, node by node: nothing is lost, and clients see only answers that say repeat`, async () => {
        using earlier = new EarlierVersion(commit)
        await using run = await ClusterRun.start(`an upgrade from ${title}`, { program: earlier.program })
        run.cluster.balanceByReadiness()
        await run.until(1_000)
        const drains: Array<Drain> = []
        drains.push(...(await run.roll((node) => node.start(fromSource))))
        const today = await run.cluster.contents()
        if (goesBack) drains.push(...(await run.roll((node) => node.start(earlier.program))))
        await run.finish()

        await run.expectInvariants([])
        expect(run.refusedBeside(drains)).toEqual([])
        expect(run.repeats).toBe(0)
        // Every shard was handed over, so no timer waited for a lease to expire.
        expect(run.takeovers).toEqual([])
        // Traffic went on before and after the nodes were replaced.
        expect(today.finished.length).toBeGreaterThan(0)
        expect(run.load.created).toBeGreaterThan(today.finished.length)
      }, 180_000)
    })
  }
})
