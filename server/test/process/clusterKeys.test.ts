// Three real nodes with constant traffic get keys while they run: no timer is lost or late, and clients notice nothing.
// Then a key is revoked, and every node refuses it. Every node also judges every call with every kind of key alike.
import { expect, test } from "bun:test"
import { CallTable, expectedVerdict, keyKinds, verdictOf } from "../../testkit/CallTable.ts"
import { ClusterHarness, type ClusterNode } from "../../testkit/ClusterHarness.ts"
import { ClusterRun } from "../../testkit/ClusterRun.ts"
import { eventually } from "../../testkit/eventually.ts"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"

const post = async ({ url }: ClusterNode, path: string, body: unknown, key?: string) => {
  const response = await fetch(`${url}/api/v1/${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify(body),
  })
  // biome-ignore lint/suspicious/noExplicitAny: an answer can be any JSON, and each test says what it expects.
  return { status: response.status, json: (await response.json()) as any }
}

const statusOf = async (node: ClusterNode, key?: string): Promise<number> =>
  (await post(node, "keys/self", {}, key)).status

describePostgres("installed", "a cluster without keys", () => {
  test("gets keys node by node, and a revoked key is refused by every node, under load", async () => {
    await using run = await ClusterRun.start("from no keys to keys", { settings: { TIMER_AUTH: "off" } })
    const { cluster } = run
    cluster.balanceByReadiness()
    await run.until(2_000)

    // While no key is needed, the operator makes keys and gives them to the clients.
    const first = cluster.node(1)
    const admin = (await post(first, "keys/create", { label: "admin", role: "admin" })).json.apiKey
    const app = (await post(first, "keys/create", { label: "app", role: "app" })).json.apiKey
    cluster.apiKey = app
    await run.until(4_000)
    for (const node of cluster.nodes) {
      expect(await statusOf(node)).toBe(200)
      node.process.change({ TIMER_AUTH: "auto" })
      expect(await node.terminate()).toBe(0)
      await node.start()
      await cluster.spread()
      expect([await statusOf(node), await statusOf(node, app)]).toEqual([401, 200])
    }
    await run.until(14_000)

    const other = (await post(first, "keys/create", { label: "other", role: "app" }, admin)).json
    for (const node of cluster.nodes) {
      await eventually(
        "the new key works",
        async () => ((await statusOf(node, other.apiKey)) === 200 ? true : undefined),
        10_000,
      )
    }
    const revokedAtMs = performance.now()
    expect((await post(first, "keys/revoke", { id: other.key.id }, admin)).status).toBe(200)
    expect(await statusOf(first, other.apiKey)).toBe(401)
    const tookMs = await Promise.all(
      cluster.nodes.map(async (node) => {
        await eventually(
          "the revoked key is refused",
          async () => ((await statusOf(node, other.apiKey)) === 401 ? true : undefined),
          10_000,
        )
        return Math.round(performance.now() - revokedAtMs)
      }),
    )
    run.tell(`the revoked key was refused after ${tookMs.join(", ")} ms`)

    await run.finish()
    await run.expectInvariants([])
    const refused = cluster.exchanges.filter(({ status }) => status === 401 || status === 403)
    expect(refused).toEqual([])
    // Every shard was handed over, so no timer waited for a lease to expire.
    expect(run.takeovers).toEqual([])
    run.tell(`the longest wait of a timer was ${run.longestWaitMs([])} ms`)
  }, 120_000)
})

describePostgres("installed", "a cluster with keys", () => {
  test("lets in only the right key for each call, on every node, by header and by session", async () => {
    await using cluster = await ClusterHarness.start()
    const table = await CallTable.over({ url: cluster.node(1).url, hasManualClock: false })
    const before = await table.state()
    for (const node of cluster.nodes) {
      await eventually(`${node.name} knows all keys`, async () =>
        (await statusOf(node, table.newestKey)) === 200 ? true : undefined,
      )
    }
    // The refused kinds come first, because a call with the right key changes something.
    for (const kind of keyKinds) {
      if (kind === "right") expect(await table.state()).toEqual(before)
      // The answers to many wrong keys wait, so they wait together.
      const asked = cluster.nodes.flatMap(({ name, url }) =>
        table.calls.flatMap((call) =>
          (["header", "session"] as const).map(async (way) => ({
            seen: {
              name,
              kind,
              way,
              path: call.path,
              verdict: verdictOf(await table.send(kind, call, way, url)),
            },
            expected: { name, kind, way, path: call.path, verdict: expectedVerdict(kind, call) },
          })),
        ),
      )
      for (const { seen, expected } of await Promise.all(asked)) expect(seen).toEqual(expected)
    }
    expect(await table.state()).not.toEqual(before)
  }, 120_000)

  test("keeps a session behind a proxy that spreads requests over nodes with different ports", async () => {
    await using cluster = await ClusterHarness.start({ nodes: 2 })
    const [one, two] = [cluster.node(1), cluster.node(2)]
    const apiKey = (await post(one, "keys/create", { label: "anna", role: "admin" })).json.apiKey
    await eventually("the other node knows the key", async () =>
      (await post(two, "keys/self", {}, apiKey)).json.name === "anna" ? true : undefined,
    )
    let turn = 0
    const asked: Array<string> = []
    using proxy = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        const node = cluster.node((turn++ % 2) + 1)
        asked.push(node.name)
        const { pathname } = new URL(request.url)
        return fetch(`${node.url}${pathname}`, {
          method: request.method,
          // The headers have the host that the browser used.
          headers: request.headers,
          body: await request.arrayBuffer(),
          decompress: false,
        })
      },
    })
    const send = (path: string, body: unknown, headers: Record<string, string> = {}) =>
      fetch(`http://127.0.0.1:${proxy.port}/api/v1/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", "sec-fetch-site": "same-origin", ...headers },
        body: JSON.stringify(body),
      })
    const begun = await send("sessions/create", { apiKey })
    const cookie = begun.headers.get("set-cookie")?.split(";")[0] ?? ""
    expect(cookie).toStartWith(`punctual_session_${proxy.port}=`)
    for (let call = 0; call < 4; call++) {
      const answered = await send("keys/self", {}, { cookie })
      expect([answered.status, await answered.json()]).toMatchObject([200, { name: "anna" }])
    }
    expect(new Set(asked)).toEqual(new Set([one.name, two.name]))
  }, 120_000)
})
