// An owner gives up a write, because the connection was cut. The write reaches the database later, after the owner has
// repeated it and the timer was changed. The test has a real node, a real PostgreSQL, and a network between them that
// holds bytes.
import { expect, test } from "bun:test"
import { clusterSecret } from "../../testkit/ClusterHarness.ts"
import { eventually } from "../../testkit/eventually.ts"
import { HistoryRecorder } from "../../testkit/History.ts"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"
import { PostgresServer } from "../../testkit/PostgresServer.ts"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { TcpProxy } from "../../testkit/TcpProxy.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

describePostgres("installed", "a write that arrives late", () => {
  test("changes nothing once the owner has repeated it", async () => {
    await using stack = new AsyncDisposableStack()
    const server = stack.use(await PostgresServer.start("installed"))
    const network = stack.use(await TcpProxy.before(server))
    const folder = stack.use(new TemporaryFolder()).path
    const node = stack.use(
      new ServiceProcess({
        folder,
        name: "node-1",
        settings: {
          TIMER_STORE_URL: `postgres://postgres@${network.address}/postgres`,
          TIMER_CLUSTER_SECRET: clusterSecret,
        },
        recorder: new HistoryRecorder(() => Date.now()),
      }),
    )
    await node.start()
    const ask = async (call: string, body: object): Promise<unknown> => {
      const response = await fetch(`${node.url}/api/v1/timers/${call}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      })
      return response.json()
    }
    const key = { namespace: "shop", timerId: "written-late" }
    const timer = { executeAt: inAnHour(), callbackUrl: "http://127.0.0.1:1/never" }
    // From its second use on, a connection sends a write at once and complete.
    for (let use = 0; use < 3; use++) await ask("create", { ...timer, namespace: "shop", timerId: `${use}` })

    network.hold()
    const creating = ask("create", { ...key, ...timer, payload: "first" })
    await eventually("the write is held", () => (network.isHolding(key.timerId) ? true : undefined))
    network.cutHeld()
    expect(await creating).toMatchObject({ result: "created" })
    expect(await ask("create", { ...key, ...timer, payload: "second" })).toMatchObject({ result: "replaced" })
    expect(await ask("delete", key)).toEqual({ result: "cancelled" })
    const before = await ask("get", key)
    expect(before).toMatchObject({ timer: { state: "cancelled" } })

    expect(await network.release()).toContain("overtaken")
    expect(await ask("get", key)).toEqual(before)
    const { timers } = (await ask("list", { namespace: "shop" })) as {
      readonly timers: ReadonlyArray<object>
    }
    expect(timers).toHaveLength(3)
    // The owner continues.
    expect(await ask("create", { ...key, ...timer, payload: "third" })).toMatchObject({ result: "created" })
    expect(await node.terminate()).toBe(0)
  }, 60_000)
})
