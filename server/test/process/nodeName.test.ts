// Two processes on one PostgreSQL store with one TIMER_NODE_NAME: the second refuses to start and the first notices
// nothing. A process that was killed leaves its name to the next one.
import { expect, test } from "bun:test"
import { clusterSecret } from "../../testkit/ClusterHarness.ts"
import { eventually } from "../../testkit/eventually.ts"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"
import { serverForTests } from "../../testkit/postgres.ts"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

describePostgres("installed", "the name of a node", () => {
  const server = serverForTests("installed")

  const node = (folder: TemporaryFolder, url: string) =>
    new ServiceProcess({
      folder: folder.path,
      settings: {
        TIMER_STORE_URL: url,
        TIMER_CLUSTER_SECRET: clusterSecret,
        TIMER_NODE_NAME: "west-1",
        TIMER_SHARDS: "4",
      },
    })

  const memberOf = async (schema: string) => {
    const sql = new Bun.SQL({ url: server().url, max: 1 })
    const rows = await sql.unsafe(`SELECT node, address, beat::float8 AS beat FROM ${schema}.members`)
    await sql.close()
    return [...rows] as ReadonlyArray<{ node: string; address: string; beat: number }>
  }

  /** The last process seems to have run on another machine, so nobody here can prove that it has ended. */
  const moveElsewhere = async (schema: string) => {
    const sql = new Bun.SQL({ url: server().url, max: 1 })
    await sql.unsafe(`UPDATE ${schema}.members SET process = 'elsewhere|1|2'`)
    await sql.close()
  }

  test("belongs to the first process that lives: a second one refuses to start, and changes nothing", async () => {
    using folder = new TemporaryFolder()
    const { url, schema } = server().database()
    await using first = node(folder, url)
    await first.start()
    await using second = node(folder, url)
    await expect(second.launch()).rejects.toThrow()
    expect(await second.exit).toBe(1)
    const said = second.logs.join("\n")
    expect(said).toContain(`Another process at ${first.url} runs as the node west-1 on this store`)
    expect(said).toContain("TIMER_NODE_NAME")
    expect(await memberOf(schema)).toMatchObject([{ node: "west-1", address: first.url }])
    expect(await first.statusOf("/health/ready")).toBe(200)
    expect(first.hasLogged("taken over")).toBe(false)
    expect(await first.terminate()).toBe(0)
    // Its name is free as soon as it has stopped.
    await second.start()
    expect(await second.terminate()).toBe(0)
  }, 60_000)

  test("is taken over at once after a crash on the same machine", async () => {
    using folder = new TemporaryFolder()
    const { url } = server().database()
    await using service = node(folder, url)
    await service.start()
    await service.kill9()
    await service.start()
    expect(service.hasLogged("waiting: another process")).toBe(false)
    expect(await service.terminate()).toBe(0)
  }, 60_000)

  // These three wait for the time of a lease, each on a store of its own.
  test.concurrent("is taken over after the lease time when the machine of the last process cannot be asked", async () => {
    using folder = new TemporaryFolder()
    const { url, schema } = server().database()
    await using service = node(folder, url)
    await service.start()
    await service.kill9()
    await moveElsewhere(schema)
    await service.start()
    await service.untilLogged("waiting: another process had the node name west-1")
    expect(await service.terminate()).toBe(0)
  }, 60_000)

  test.concurrent("goes to one of two processes that start after such a crash, and the other refuses to start", async () => {
    using folder = new TemporaryFolder()
    const { url, schema } = server().database()
    await using crashed = node(folder, url)
    await crashed.start()
    await crashed.kill9()
    await moveElsewhere(schema)
    await using one = node(folder, url)
    await using two = node(folder, url)
    const starts = await Promise.allSettled([one, two].map((service) => service.launch()))
    expect(starts.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"])
    const [winner, loser] = starts[0]?.status === "fulfilled" ? [one, two] : [two, one]
    expect(await loser.exit).toBe(1)
    await loser.untilLogged("runs as the node west-1 on this store")
    const [member] = await memberOf(schema)
    await eventually("the winner sends another beat", async () => {
      const [now] = await memberOf(schema)
      return now !== undefined && now.beat > (member?.beat ?? 0) ? true : undefined
    })
    expect(await memberOf(schema)).toMatchObject([{ node: "west-1", address: winner.url }])
    expect(await winner.terminate()).toBe(0)
  }, 60_000)

  test.concurrent("is lost by a process that was frozen while another took it: the frozen one ends", async () => {
    using folder = new TemporaryFolder()
    const { url } = server().database()
    await using frozen = node(folder, url)
    await frozen.start()
    frozen.signal("SIGSTOP")
    await using next = node(folder, url)
    await next.start()
    frozen.signal("SIGCONT")
    expect(await frozen.fallen()).toBe(1)
    await frozen.untilLogged("took the node name west-1")
    await eventually("the other one is ready", async () =>
      (await next.statusOf("/health/ready")) === 200 ? true : undefined,
    )
    expect(await next.terminate()).toBe(0)
  }, 60_000)
})
