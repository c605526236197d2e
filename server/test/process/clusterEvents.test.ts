// Three real nodes, and readers of events on one of them: they get the events of all nodes, learn about a node that was
// killed, and continue on another node. The activity of all nodes is counted together.
import { expect, test } from "bun:test"
import { ClusterHarness, type ClusterNode } from "../../testkit/ClusterHarness.ts"
import { EventLines } from "../../testkit/EventLines.ts"
import { eventually } from "../../testkit/eventually.ts"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"

const open = ({ url }: ClusterNode, lastId?: string) =>
  EventLines.open(`${url}/api/v1/events/stream`, lastId === undefined ? {} : { "last-event-id": lastId })

const createAt = async ({ url }: ClusterNode, timerIds: ReadonlyArray<string>) => {
  const timers = timerIds.map((timerId) => ({
    namespace: "shop",
    timerId,
    delay: "1h",
    callbackUrl: "http://127.0.0.1:9/",
  }))
  const response = await fetch(`${url}/api/v1/timers/createMany`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ timers }),
  })
  expect(response.status).toBe(200)
}

const activityOf = async ({ url }: ClusterNode) => {
  const nowMs = Date.now()
  const response = await fetch(`${url}/api/v1/timers/activity`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      from: new Date(nowMs - 600_000).toISOString(),
      until: new Date(nowMs + 60_000).toISOString(),
      step: "1m",
    }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: the schema of the answer is tested elsewhere.
  const { points, missing } = (await response.json()) as any
  return {
    missing,
    created: points.reduce((sum: number, point: { created: number }) => sum + point.created, 0),
  }
}

const created = (events: EventLines) =>
  events.all.flatMap(({ event, data }) => (event === "created" ? [String(data.timerId)] : [])).sort()

const names = (prefix: string) => Array.from({ length: 40 }, (_, place) => `${prefix}${place}`).sort()

describePostgres("installed", "readers of events", () => {
  test("get the events of all nodes from any node, and learn about a node that was killed", async () => {
    await using cluster = await ClusterHarness.start()
    const [one, two, three] = [cluster.node(1), cluster.node(2), cluster.node(3)]
    const first = await open(one)
    expect(first.all.map(({ event, data }) => [event, data])).toEqual([["nodes", { missing: [] }]])

    // The timers belong to shards of all nodes.
    await createAt(two, names("a"))
    await eventually("all events", () => created(first).length === 40 || undefined)
    expect(created(first)).toEqual(names("a"))
    expect(first.all.map(({ event }) => event)).not.toContain("gap")

    // The reader goes to another node and misses nothing.
    first.close()
    await createAt(one, names("b"))
    using second = await open(two, first.lastId)
    await eventually("the missed events", () => created(second).length === 40 || undefined)
    expect(created(second)).toEqual(names("b"))
    expect(second.all.map(({ event }) => event)).not.toContain("gap")

    await three.kill()
    const missing = () => second.all.findLast(({ event }) => event === "nodes")?.data.missing
    await eventually("the killed node is missing", () => missing()?.includes("node-3") || undefined)
    await cluster.spread([one, two])
    await eventually("it is forgotten", () => missing()?.length === 0 || undefined)
    expect(second.all.map(({ event }) => event)).toContain("gap")
    await createAt(one, names("c"))
    await eventually("all events of the rest", () => created(second).length === 80 || undefined)

    // The minutes that the nodes have in memory count too. What the killed node had not stored is lost.
    const counted = await activityOf(one)
    expect(counted.missing).toEqual([])
    expect(counted.created).toBeGreaterThanOrEqual(40)

    // A node that is asked to stop ends its streams, so that its readers go elsewhere, and exits in good order.
    expect(await two.terminate()).toBe(0)
    await eventually("the stream has ended", () => second.isEnded || undefined)
    expect((await activityOf(one)).created).toBeGreaterThanOrEqual(counted.created)
    expect(await one.terminate()).toBe(0)
  }, 120_000)
})
