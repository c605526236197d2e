// 1,000 creates through the client while one of three nodes is killed: no timer is lost, and none is there twice.
import { expect, test } from "bun:test"
import { ClusterHarness } from "@punctual/server/testkit/ClusterHarness"
import { describePostgres } from "@punctual/server/testkit/PostgresBinaries"
import type { Transport } from "../../src/core/options.ts"
import { Punctual } from "../../src/Punctual.ts"

const creates = 1_000
const inParallel = 20
const killAfter = 300

/** A load balancer without probes: each try goes to the next node, dead or alive. */
const overNodes = (cluster: ClusterHarness): Transport => {
  let turn = 0
  const urls = cluster.nodes.map(({ url }) => url)
  return (url, init) => fetch(url.replace("http://nodes.test", urls[turn++ % urls.length] ?? ""), init)
}

describePostgres("installed", "a node of three is killed", () => {
  test("every create ends well, and makes one timer", async () => {
    await using cluster = await ClusterHarness.start({ nodes: 3 })
    const punctual = new Punctual({
      url: "http://nodes.test",
      namespace: "billing",
      timeoutMs: 8_000,
      // The shards of the dead node move when its lease ends. These tries last longer than that.
      maxRetries: 20,
      transport: overNodes(cluster),
    })
    let begun = 0
    let done = 0
    let killed: Promise<void> | undefined
    const lane = async (): Promise<void> => {
      while (begun < creates) {
        const number = begun++
        await punctual.timers.create({ delay: "1h", callbackUrl: "http://127.0.0.1:9/", payload: { number } })
        if (++done === killAfter) killed = cluster.node(2).kill()
      }
    }
    await Promise.all(Array.from({ length: inParallel }, lane))
    await killed

    const numbers: Array<unknown> = []
    for await (const { payload } of punctual.timers.list<{ number: number }>({
      include: ["payload"],
      limit: 500,
    })) {
      numbers.push(payload?.number)
    }
    expect(numbers.length).toBe(creates)
    expect(new Set(numbers).size).toBe(creates)
  }, 180_000)
})
