// Health, metrics and the reference, in every state of the service.
import { describe, expect, test } from "bun:test"
import { PunctualApi } from "@punctual/api/PunctualApi"
import { jsonAnswer } from "@punctual/http/HttpAnswer"
import { httpRequestOf } from "@punctual/http/testkit/httpRequestOf"
import { Effect } from "effect"
import { OpenApi } from "effect/http-api"
import { ActivityCounter } from "../../src/engine/activity/ActivityCounter.ts"
import { Engine, type EngineStatus } from "../../src/engine/Engine.ts"
import { EventFeed } from "../../src/engine/events/EventFeed.ts"
import { lastingAfterMs, makeSiteRoutes } from "../../src/http/SiteRoutes.ts"
import { refused, succeeded } from "./answers.ts"
import { withService } from "./ServiceFixture.ts"

const well: EngineStatus = {
  shards: 4,
  ownedShards: 4,
  shardsElsewhere: 0,
  isWaiting: false,
  isDraining: false,
  isPaused: false,
  stalledLoops: [],
}
const timer = { namespace: "n", timerId: "t", delay: "1h", callbackUrl: "http://h/" }

describe("health", () => {
  test("a service that owns its shards is live and ready", () =>
    withService({}, async ({ fetch }) => {
      expect((await fetch("/health/live")).json).toEqual({ status: "live" })
      const ready = await fetch("/health/ready")
      expect([ready.status, ready.json]).toEqual([200, { status: "ready" }])
    }))

  const unready: Record<string, [Partial<EngineStatus>, string]> = {
    draining: [{ isDraining: true }, "draining"],
    "waiting for another process": [
      { isWaiting: true, waitsFor: "otherProcess", ownedShards: 0 },
      "Another process",
    ],
    "about to claim its shards": [
      { isWaiting: true, waitsFor: "firstClaim", ownedShards: 0 },
      "The service is starting",
    ],
    "without the shards that it had": [
      { isWaiting: true, waitsFor: "nextClaim", ownedShards: 0 },
      "has lost its shards",
    ],
    "alone and owner of only a part": [{ ownedShards: 3 }, "3 of 4"],
    stalled: [{ stalledLoops: ["firing"] }, "firing"],
  }
  for (const [name, [status, reason]] of Object.entries(unready)) {
    test(`a service that is ${name} is live, not ready, and says why`, () =>
      withService({ engine: { status: () => ({ ...well, ...status }) } }, async ({ fetch }) => {
        expect((await fetch("/health/live")).status).toBe(200)
        const ready = await fetch("/health/ready")
        expect(ready.status).toBe(503)
        expect(ready.json.reasons).toEqual([expect.stringContaining(reason)])
      }))
  }

  const cluster = { peers: { prefix: "/internal/", handle: async () => jsonAnswer("{}") } }
  for (const [ownedShards, shardsElsewhere] of [
    [0, 4],
    [1, 3],
    // One of the four shards has no owner for now. The nodes still answer for the rest.
    [1, 2],
  ] as const) {
    test(`a node that owns ${ownedShards} of 4 shards, others ${shardsElsewhere}, is ready`, () =>
      withService(
        { cluster, engine: { status: () => ({ ...well, ownedShards, shardsElsewhere }) } },
        async ({ fetch }) => expect((await fetch("/health/ready")).json).toEqual({ status: "ready" }),
      ))
  }

  test("a node that owns none of its intended shards is not ready", () =>
    withService(
      { cluster, engine: { status: () => ({ ...well, ownedShards: 0, isWaiting: true }) } },
      async ({ fetch }) => expect((await fetch("/health/ready")).status).toBe(503),
    ))

  test("a service stops being live only if every look found a loop stalled for long, and never in a drain", async () => {
    let status: EngineStatus = well
    let nowMs = 0
    const routes = await Effect.runPromise(
      makeSiteRoutes({
        isStopping: () => false,
        monotonicMs: () => nowMs,
      }).pipe(
        Effect.provideService(Engine, {
          status: () => status,
          sample: Effect.void,
          cluster: () => ({ node: "a", members: [], shards: [] }),
          breakers: () => [],
          closeBreakers: () => 0,
          owns: () => false,
          lookNow: () => {},
          events: new EventFeed(() => nowMs),
          activity: new ActivityCounter({ now: () => nowMs }),
          drain: () => Effect.void,
        }),
      ),
    )
    const look = async (page: string, change: Partial<EngineStatus>, afterMs: number) => {
      status = { ...well, ...change }
      nowMs += afterMs
      return (await routes.get(page)?.handle(httpRequestOf({ target: page })))?.status
    }
    const live = "/health/live"
    const firing = { stalledLoops: ["firing"] }
    expect(await look("/health/ready", firing, 0)).toBe(503)
    expect(await look(live, firing, lastingAfterMs - 1)).toBe(200)
    expect(await look(live, firing, 1)).toBe(503)
    expect(await look(live, well, 1)).toBe(200)
    expect(await look(live, firing, 1)).toBe(200)
    // A stall of another loop is a new stall, and one look without it ends it.
    expect(await look(live, { stalledLoops: ["reading"] }, lastingAfterMs)).toBe(200)
    expect(await look(live, { stalledLoops: ["reading", "firing"] }, lastingAfterMs)).toBe(503)
    expect(await look(live, { ...firing, isDraining: true }, lastingAfterMs)).toBe(200)
    expect(await look(live, { isWaiting: true, ownedShards: 0 }, lastingAfterMs)).toBe(200)
  })

  test("while another process owns the store the API answers 503, and writes nothing", () =>
    withService(
      { engine: { status: () => ({ ...well, isWaiting: true, waitsFor: "otherProcess" }) } },
      async ({ call, pendingIn }) => {
        const problem = refused(await call("create", timer), "ownerUnavailable")
        expect(problem.detail).toContain("Another process")
        expect(problem.written).toBe("no")
        refused(await call("get", { namespace: "n", timerId: "t" }), "ownerUnavailable")
        expect(await pendingIn("n")).toBe(0)
      },
    ))

  test("after it is closed the API answers 503, and other routes work", () =>
    withService({}, async ({ call, fetch, service }) => {
      succeeded("create", await call("create", timer))
      service.close()
      expect(refused(await call("create", timer), "ownerUnavailable").written).toBe("no")
      expect((await fetch("/health/live")).status).toBe(200)
      expect((await fetch("/health/ready")).status).toBe(503)
      expect((await fetch("/metrics")).status).toBe(200)
    }))
})

describe("metrics", () => {
  test("requests are counted by route and class of status, in Prometheus' format", () =>
    withService({}, async ({ call, fetch }) => {
      const counted = async (labels: string): Promise<number> => {
        const { text } = await fetch("/metrics")
        const line = text.split("\n").find((one) => one.startsWith(`timer_http_requests_total{${labels}} `))
        return Number(line?.split(" ")[1] ?? 0)
      }
      const created = 'route="/api/v1/timers/create",status="2xx"'
      const failed = 'route="/api/v1/timers/create",status="4xx"'
      const unknown = 'route="other",status="4xx"'
      const before = [await counted(created), await counted(failed), await counted(unknown)]
      await call("create", timer)
      await call("create", "nonsense")
      await fetch("/secret-path-1")
      const after = [await counted(created), await counted(failed), await counted(unknown)]
      expect(after).toEqual(before.map((count) => count + 1))
    }))

  test("no label contains a namespace, an id or a path of the caller", () =>
    withService({}, async ({ call, fetch }) => {
      await call("create", { ...timer, namespace: "tenant-x", timerId: "id-x", correlationId: "corr-x" })
      await fetch("/path-x")
      const answered = await fetch("/metrics")
      expect(answered.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8")
      expect(answered.text).not.toMatch(/tenant-x|id-x|corr-x|path-x/)
      expect(answered.text).toContain("timer_pending ")
    }))
})

describe("the reference", () => {
  test("the OpenAPI document is the contract's", () =>
    withService({}, async ({ fetch }) => {
      const { status, json } = await fetch("/openapi.json")
      expect(status).toBe(200)
      expect(json).toEqual(JSON.parse(JSON.stringify(OpenApi.fromApi(PunctualApi))))
    }))
})
