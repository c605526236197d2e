// Three real nodes with constant traffic are updated one after another, from the release that sent the cluster's secret
// with each call to the one that signs its calls. Old and new nodes work side by side meanwhile. Only the matrix runs it:
// test/peers/http/upgrade.test.ts checks the same calls between nodes in one process.
import { expect, test } from "bun:test"
import { clusterSecret } from "../../testkit/ClusterHarness.ts"
import { ClusterRun } from "../../testkit/ClusterRun.ts"
import { describeUnless } from "../../testkit/describeUnless.ts"
import { isEveryVersionTried } from "../../testkit/effort.ts"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"
import { fromSource, type Program } from "../../testkit/ServiceProcess.ts"

const unsignedFile = new URL("../../testkit/unsigned/unsignedNode.ts", import.meta.url).pathname

const unsigned: Program = { ...fromSource, args: ["--preload", unsignedFile, ...fromSource.args] }

/** A call as an old node makes it. Returns the status of the answer. */
const bareCall = async (url: string, node: string): Promise<number> => {
  const headers = {
    authorization: `Bearer ${clusterSecret}`,
    "punctual-wire": "1",
    "punctual-to": node,
    "punctual-call": `test-${crypto.randomUUID()} 1 1`,
  }
  const response = await fetch(`${url}/internal/v1/nudge`, { method: "POST", headers, body: "{}" })
  await response.arrayBuffer()
  return response.status
}

const reason = isEveryVersionTried ? undefined : "only npm run test:matrix upgrades from this version"

describeUnless(reason, "an update to signed calls", () => {
  describePostgres("installed", "a cluster whose nodes do not sign their calls", () => {
    test("is updated node by node: no node refuses a call of another, and the last node takes no bare secret", async () => {
      await using run = await ClusterRun.start("an update to signed calls", { program: unsigned })
      const { cluster } = run
      cluster.balanceByReadiness()
      await run.until(1_000)
      const bareCalls = () => Promise.all(cluster.nodes.map(({ url, name }) => bareCall(url, name)))
      expect(await bareCalls()).toEqual([200, 200, 200])
      await run.roll(async (node) => {
        await node.start(fromSource)
        // While there is an old node, new ones understand it.
        if (node !== cluster.nodes.at(-1)) expect(await bareCalls()).toEqual([200, 200, 200])
      })
      const [, , last] = await bareCalls()
      expect(last).toBe(401)
      await run.until(14_000)
      await run.finish()

      await run.expectInvariants([])
      const logs = cluster.nodes.flatMap(({ process }) => process.logs)
      expect(run.repeats).toBe(0)
      expect(logs.filter((line) => /it answered 4/.test(line))).toEqual([])
      expect(logs.filter((line) => line.includes(clusterSecret))).toEqual([])
    }, 120_000)
  })
})
