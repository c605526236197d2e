// What a node answers about its cluster, and how it treats calls and other nodes when it is one of several.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import type { EngineStatus } from "../../src/engine/Engine.ts"
import type { ClusterState } from "../../src/engine/ownership/ClusterView.ts"
import type { HttpServiceOptions } from "../../src/http/HttpService.ts"
import { PeerError } from "../../src/ports/Peers.ts"
import type { ShardLag, ShardLags } from "../../src/ports/ShardLags.ts"
import { type RunningService, type ServiceOptions, withService } from "./ServiceFixture.ts"

const member = (node: string, more: Partial<ClusterState["members"][number]> = {}) => ({
  node,
  address: `http://${node}`,
  beatAgeMs: 120,
  isLeaving: false,
  isLive: true,
  ...more,
})

const state: ClusterState = {
  node: "a",
  members: [member("a"), member("b"), member("c", { isLive: false, beatAgeMs: 9_000 })],
  shards: [
    { shard: 0, owner: "a", epoch: 4, isMine: true, lagMs: 2.4 },
    { shard: 1, owner: "b", epoch: 7, isMine: false },
    { shard: 2, epoch: 1, isMine: false },
    { shard: 3, owner: "c", epoch: 2, isMine: false },
  ],
}

const clusterOf = (
  lags: ShardLags["Service"]["of"],
  more: Partial<HttpServiceOptions["cluster"]> = {},
): NonNullable<HttpServiceOptions["cluster"]> => ({
  lags: { of: lags },
  peers: {
    prefix: "/internal/v1/",
    handle: async (request) => ({ status: 200, headers: {}, body: `heard ${request.path}` }),
  },
  ...more,
})

const telling =
  (...lags: ReadonlyArray<ShardLag>) =>
  () =>
    Effect.succeed(lags)

const ask = (service: RunningService) =>
  service.fetch("/api/v1/cluster", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  })

const answered = async (options: ServiceOptions) => {
  let json: unknown
  await withService(options, async (service) => {
    const { status, json: answer } = await ask(service)
    expect(status).toBe(200)
    json = answer
  })
  return json
}

describe("the cluster", () => {
  test("is shown with the lag that each owner reports", async () => {
    const asked: Array<string> = []
    const cluster = clusterOf(({ node, address }) =>
      Effect.sync(() => {
        asked.push(`${node} at ${address}`)
        return [{ shard: 1, epoch: 7, lagMs: 35 }]
      }),
    )
    const json = await answered({ engine: { cluster: () => state }, cluster })
    expect(json).toEqual({
      node: "a",
      nodes: [
        { node: "a", address: "http://a", isLive: true, isLeaving: false, heartbeatAgeMs: 120, shards: 1 },
        { node: "b", address: "http://b", isLive: true, isLeaving: false, heartbeatAgeMs: 120, shards: 1 },
        { node: "c", address: "http://c", isLive: false, isLeaving: false, heartbeatAgeMs: 9_000, shards: 1 },
      ],
      shards: [
        { shard: 0, owner: "a", epoch: 4, lagMs: 2 },
        { shard: 1, owner: "b", epoch: 7, lagMs: 35 },
        { shard: 2, epoch: 1 },
        { shard: 3, owner: "c", epoch: 2 },
      ],
    })
    // It asked neither itself nor a silent node.
    expect(asked).toEqual(["b at http://b"])
  })

  test("omits a lag that the owner does not report, reports for another epoch, or reports too late", async () => {
    const silent = [
      () => Effect.fail(new PeerError({ message: "no", isUndelivered: true })),
      telling({ shard: 1, epoch: 6, lagMs: 35 }),
      () => Effect.never,
    ]
    for (const of of silent) {
      const json = await answered({ engine: { cluster: () => state }, cluster: clusterOf(of) })
      expect(json).toMatchObject({ shards: { 1: { shard: 1, owner: "b", epoch: 7 } } })
      expect(JSON.stringify(json)).not.toContain("35")
    }
  })

  test("shows the difference between this clock and the database's, once it is known", async () => {
    const known = clusterOf(telling(), { clockOffsetMs: () => -12 })
    expect(await answered({ cluster: known })).toMatchObject({ clockOffsetMs: -12 })
    const unknown = clusterOf(telling(), { clockOffsetMs: () => undefined })
    expect(await answered({ cluster: unknown })).not.toHaveProperty("clockOffsetMs")
  })

  test("with one node shows that node", async () => {
    expect(await answered({})).toMatchObject({ nodes: [{ isLive: true, shards: 4 }], shards: { length: 4 } })
  })
})

describe("one of several nodes", () => {
  const well: EngineStatus = {
    shards: 4,
    ownedShards: 0,
    shardsElsewhere: 4,
    isWaiting: true,
    isDraining: false,
    isPaused: false,
    stalledLoops: [],
  }
  const cluster = clusterOf(telling())
  const get = { namespace: "n", timerId: "none" }

  test("answers calls before it owns a shard, also while a shard has no owner", async () => {
    for (const status of [well, { ...well, shardsElsewhere: 3 }]) {
      await withService({ engine: { status: () => status }, cluster }, async ({ call }) => {
        expect((await call("get", get)).status).toBe(404)
      })
    }
  })

  test("answers 503 until it has read the shards", async () => {
    const status = { ...well, shards: 0, shardsElsewhere: 0 }
    await withService({ engine: { status: () => status }, cluster }, async ({ call }) => {
      const { status: code, headers, json } = await call("get", get)
      expect([code, headers.get("retry-after")]).toEqual([503, "1"])
      expect(json.detail).toContain("has not read the shards")
    })
  })

  test("answers other nodes, and is visible to operators, also while it stops", () =>
    withService({ cluster }, async (running) => {
      running.service.close()
      expect((await running.call("get", get)).status).toBe(503)
      const heard = await running.fetch("/internal/v1/nudge", { method: "POST" })
      expect([heard.status, heard.text]).toEqual([200, "heard /internal/v1/nudge"])
      expect((await ask(running)).status).toBe(200)
    }))

  test("a single node has no routes for other nodes", () =>
    withService({}, async ({ fetch: get_ }) => {
      expect((await get_("/internal/v1/nudge", { method: "POST" })).status).toBe(404)
    }))
})
