// The agent's API over real HTTP, with service calls in memory: what each route accepts, answers and refuses.
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { AgentServer } from "../../testkit/AgentServer.ts"
import { MemoryServiceCalls } from "../../testkit/MemoryServiceCalls.ts"

const calls = "/api/v1/tenants/billing/service-calls"
const request = { method: "POST", url: "https://api.example.com/invoices?token=1" }

let memory: MemoryServiceCalls
let agent: AgentServer

beforeEach(async () => {
  memory = new MemoryServiceCalls(() => Date.now())
  agent = await AgentServer.start(memory.service)
})

afterEach(() => agent[Symbol.asyncDispose]())

describe("a submission", () => {
  test("is answered 202 with the call and its address", async () => {
    const answer = await agent.send("POST", calls, { request, serviceCallId: "a/b é", tags: ["x"] })
    expect(answer.status).toBe(202)
    expect(answer.headers.get("location")).toBe(`${calls}/a%2Fb%20%C3%A9`)
    expect(answer.body).toMatchObject({
      result: "submitted",
      call: {
        tenantId: "billing",
        serviceCallId: "a/b é",
        status: "Submitted",
        name: "POST https://api.example.com/invoices",
        tags: ["x"],
        starred: false,
        url: "https://api.example.com/invoices",
        host: "api.example.com",
        correlationId: answer.headers.get("x-request-id"),
      },
    })
    const found = await agent.send("GET", answer.headers.get("location") ?? "")
    expect(found.body.call.serviceCallId).toBe("a/b é")
  })

  test("that is repeated changes nothing, and with another request is refused", async () => {
    const body = { request, serviceCallId: "one" }
    await agent.send("POST", calls, body)
    expect((await agent.send("POST", calls, body)).body.result).toBe("unchanged")
    const other = await agent.send("POST", calls, { ...body, request: { ...request, url: "http://b.test/" } })
    expect([other.status, other.body.code]).toEqual([409, "callExists"])
  })

  test("sends a text as it is, and JSON exactly as it was given, with its content type", async () => {
    const json = '{ "big": 12345678901234567890, "same": 1.0, "same": 2.50 }'
    const withBody = (body: string, more = "") =>
      agent.send("POST", calls, `{"request":{"method":"PUT","url":"http://b.test/"${more},"body":${body}}}`)
    expect((await withBody(json)).status).toBe(202)
    expect(memory.submitted?.request).toEqual({
      method: "PUT",
      url: "http://b.test/",
      headers: { "content-type": "application/json" },
      body: json,
    })
    await withBody(json, ',"headers":{"Content-Type":"application/vnd.x+json"}')
    expect(memory.submitted?.request.headers).toEqual({ "Content-Type": "application/vnd.x+json" })
    await withBody('"line\\nbreak"')
    expect(memory.submitted?.request).toEqual({
      method: "PUT",
      url: "http://b.test/",
      body: "line\nbreak",
    })
    await withBody("null")
    expect(memory.submitted?.request.body).toBe("null")
  })

  test("may have a body of almost 1 MiB, in any form", async () => {
    const text = "x".repeat(1_000_000)
    expect((await agent.send("POST", calls, { request: { ...request, body: text } })).status).toBe(202)
    expect(memory.submitted?.request.body).toBe(text)
    const list = Array.from({ length: 100_000 }, (_, index) => index)
    expect((await agent.send("POST", calls, { request: { ...request, body: list } })).status).toBe(202)
    expect(memory.submitted?.request.body).toBe(JSON.stringify(list))
  })

  test("beyond the limits is refused, and nothing is submitted", async () => {
    const deep = `${"[".repeat(100)}${"]".repeat(100)}`
    const headers = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`h${index}`, "v"]))
    const cases: ReadonlyArray<readonly [unknown, number, string]> = [
      [{ request: { ...request, body: "x".repeat(1_048_576) } }, 413, "bodyTooLarge"],
      [`{"request":{"method":"PUT","url":"http://b.test/","body":${deep}}}`, 400, "invalidRequest"],
      [{ request: { ...request, headers } }, 400, "invalidRequest"],
      [{ request, padding: "x".repeat(100_000) }, 400, "invalidRequest"],
      ["{", 400, "invalidJson"],
      ["", 400, "invalidJson"],
      [`{"request":${" ".repeat(20_000)}`, 400, "invalidJson"],
      [{ request, dueAt: "2999-01-01T00:00:00Z" }, 400, "invalidRequest"],
      [[], 400, "invalidRequest"],
    ]
    for (const [body, status, code] of cases) {
      const answer = await agent.send("POST", calls, body)
      expect([status, answer.status, answer.body.code]).toEqual([status, status, code])
    }
    expect(memory.submitted).toBeUndefined()
  })

  test("with a delay is due that long after its receipt", async () => {
    const before = Date.now()
    const { body } = await agent.send("POST", calls, { request, delay: "1h" })
    const dueAt = Date.parse(body.call.dueAt)
    expect(dueAt).toBeGreaterThanOrEqual(before + 3_600_000)
    expect(dueAt).toBeLessThanOrEqual(Date.now() + 3_600_000)
  })
})

describe("a failure", () => {
  test("is a problem document with the id of its request", async () => {
    const answer = await agent.send("GET", `${calls}/none`, undefined, { "x-request-id": "mine" })
    expect(answer.status).toBe(404)
    expect(answer.headers.get("content-type")).toBe("application/problem+json")
    expect(answer.body).toMatchObject({ code: "callNotFound", correlationId: "mine" })
  })

  test("names unknown paths, methods and media types", async () => {
    expect((await agent.send("GET", "/api/v1/nothing")).body.code).toBe("notFound")
    expect((await agent.send("GET", `${calls}/%ff`)).body.code).toBe("notFound")
    const deleted = await agent.send("DELETE", `${calls}/x`)
    expect([deleted.status, deleted.headers.get("allow")]).toEqual([405, "GET, HEAD, PATCH, OPTIONS"])
    const text = await agent.send("POST", calls, "{}", { "content-type": "text/plain" })
    expect(text.body.code).toBe("unsupportedMediaType")
    expect((await agent.send("GET", "/api/v1/tenants/_x/service-calls")).body.code).toBe("invalidRequest")
  })

  test("refuses a query parameter that is wrong, unknown or given twice", async () => {
    for (const query of ["limit=0", "stats=Failed", "tag=a&tag=b", "status=Done"]) {
      const answer = await agent.send("GET", `${calls}?${query}`)
      expect([query, answer.status, answer.body.code]).toEqual([query, 400, "invalidRequest"])
    }
  })

  test("of a foreign host or origin comes before everything else", async () => {
    const foreign = await agent.send("GET", calls, undefined, { host: "evil.test" })
    expect([foreign.status, foreign.body.code]).toEqual([403, "forbidden"])
    expect(foreign.body.detail).toContain("AGENT_HTTP_HOSTS")
    const crossSite = await agent.send("POST", calls, { request }, { origin: "https://evil.test" })
    expect(crossSite.status).toBe(403)
  })
})

describe("a list", () => {
  test("has pages, and the counts with the first one", async () => {
    for (let index = 0; index < 5; index++)
      await agent.send("POST", calls, { request, serviceCallId: `c${index}`, tags: ["t"] })
    memory.change("billing", "c0", { state: "Failed" })
    const first = await agent.send("GET", `${calls}?limit=2&status=Submitted&tag=t`)
    expect(first.body.calls.map(({ serviceCallId }: { serviceCallId: string }) => serviceCallId)).toEqual([
      "c4",
      "c3",
    ])
    expect(first.body.counts).toEqual({
      Submitted: 4,
      Scheduled: 0,
      Running: 0,
      Succeeded: 0,
      Failed: 1,
      Cancelled: 0,
      capped: false,
    })
    const next = await agent.send(
      "GET",
      `${calls}?limit=2&status=Submitted&tag=t&cursor=${first.body.nextCursor}`,
    )
    expect(next.body.calls.map(({ serviceCallId }: { serviceCallId: string }) => serviceCallId)).toEqual([
      "c2",
      "c1",
    ])
    expect(next.body.counts).toBeUndefined()
    expect(next.body.nextCursor).toBeUndefined()
  })

  test("shows no contents of requests and answers", async () => {
    await agent.send("POST", calls, { request: { ...request, body: "secret-body" }, serviceCallId: "s" })
    const response = {
      status: 503,
      headers: { a: "secret-header" },
      bodySnippet: "secret-snippet",
      latencyMs: 3,
    }
    memory.change("billing", "s", {
      state: "Failed",
      error: { kind: "status", message: "answered 503", latencyMs: 3, response },
    })
    const { body } = await agent.send("GET", calls)
    expect(body.calls[0].response).toEqual({ status: 503, latencyMs: 3 })
    expect(body.calls[0].error).toEqual({ kind: "status", message: "answered 503", latencyMs: 3 })
    expect(JSON.stringify(body)).not.toMatch(/secret|token=1/)
    const detail = await agent.send("GET", `${calls}/s`)
    expect(detail.body.call.response).toEqual(response)
    expect(detail.body.request).toEqual({ ...request, body: "secret-body" })
    expect(detail.body.timeline[0]).toMatchObject({ what: "SubmitServiceCall", status: "Submitted" })
  })
})

describe("a change", () => {
  test("cancels, moves, annotates and runs again", async () => {
    await agent.send("POST", calls, { request, serviceCallId: "c", delay: "1h", name: "N", tags: ["t"] })
    const moved = await agent.send("POST", `${calls}/c/reschedule`, { dueAt: "2030-01-01T00:00:00Z" })
    expect(moved.body.call.dueAt).toBe("2030-01-01T00:00:00.000Z")
    const starred = await agent.send("PATCH", `${calls}/c`, { starred: true, tags: [], name: "Other" })
    expect(starred.body.call).toMatchObject({ starred: true, tags: [], name: "Other" })
    expect((await agent.send("POST", `${calls}/c/cancel`, {})).body.call.status).toBe("Cancelled")
    const again = await agent.send("POST", `${calls}/c/run-again`, { serviceCallId: "d" })
    expect([again.status, again.headers.get("location")]).toEqual([202, `${calls}/d`])
    memory.change("billing", "d", { state: "Running" })
    for (const [what, body] of [
      ["cancel", {}],
      ["reschedule", { delay: "1s" }],
    ] as const) {
      const refused = await agent.send("POST", `${calls}/d/${what}`, body)
      expect([what, refused.status, refused.body.code]).toEqual([what, 409, "callState"])
    }
  })

  test("of many calls counts first, and skips what it cannot change", async () => {
    for (let index = 0; index < 3; index++)
      await agent.send("POST", calls, { request, serviceCallId: `c${index}`, tags: ["t"] })
    memory.change("billing", "c1", { state: "Running" })
    const bulk = (body: Record<string, unknown>) =>
      agent.send("POST", `${calls}/bulk`, { filter: { tag: "t" }, expectedCount: 3, ...body })
    const tooFew = await bulk({ do: "cancel", expectedCount: 1 })
    expect([tooFew.status, tooFew.body.code, tooFew.body.currentCount]).toEqual([409, "countChanged", 3])
    expect((await bulk({ do: "cancel" })).body).toEqual({ matched: 3, changed: 2, skipped: 1 })
    expect((await bulk({ do: "addTag", tag: "new" })).body).toEqual({ matched: 3, changed: 3, skipped: 0 })
    expect((await agent.send("GET", `${calls}/c0`)).body.call.tags).toEqual(["t", "new"])
    expect((await bulk({ do: "removeTag", tag: "new" })).body.changed).toBe(3)
    expect((await bulk({ do: "star" })).body.changed).toBe(3)
    expect((await bulk({ do: "star" })).body.skipped).toBe(3)
    expect((await bulk({ do: "unstar" })).body.changed).toBe(3)
  })
})

test("every route with an id of another tenant answers 404", async () => {
  await agent.send("POST", "/api/v1/tenants/other/service-calls", {
    request,
    serviceCallId: "theirs",
    delay: "1h",
  })
  const routes: ReadonlyArray<readonly [string, string, unknown]> = [
    ["GET", "/theirs", undefined],
    ["PATCH", "/theirs", { starred: true }],
    ["POST", "/theirs/cancel", {}],
    ["POST", "/theirs/reschedule", { delay: "1s" }],
    ["POST", "/theirs/run-again", {}],
  ]
  for (const [method, path, body] of routes) {
    const answer = await agent.send(method, `${calls}${path}`, body)
    expect([method, path, answer.status, answer.body.code]).toEqual([method, path, 404, "callNotFound"])
  }
  expect((await agent.send("GET", calls)).body).toMatchObject({ calls: [], counts: { Scheduled: 0 } })
  const all = { do: "cancel", filter: {}, expectedCount: 10 }
  expect((await agent.send("POST", `${calls}/bulk`, all)).body.matched).toBe(0)
  const theirs = await agent.send("GET", "/api/v1/tenants/other/service-calls/theirs")
  expect(theirs.body.call).toMatchObject({ status: "Scheduled", starred: false })
})

describe("beside the API", () => {
  test("there are health, metrics, the OpenAPI document and the reference page", async () => {
    expect((await agent.send("GET", "/health/live")).body).toEqual({ status: "live" })
    expect((await agent.send("GET", "/health/ready")).body).toEqual({ status: "ready" })
    await agent.send("GET", calls)
    const metrics = await agent.send("GET", "/metrics")
    expect(metrics.body).toContain("agent_http_requests_total")
    expect(metrics.body).toContain('route="GET /api/v1/tenants/:tenantId/service-calls"')
    const { paths } = (await agent.send("GET", "/openapi.json")).body
    expect(Object.keys(paths["/api/v1/tenants/{tenantId}/service-calls"]).sort()).toEqual(["get", "post"])
    const page = await agent.send("GET", "/docs/api")
    for (const text of [
      "Submit a call",
      "Only calls with one of these statuses",
      "/api/v1/tenants/billing/service-calls/invoice-4711/cancel",
    ])
      expect([text, page.body.includes(text)]).toEqual([text, true])
    const root = await agent.send("GET", "/")
    expect([root.status, root.headers.get("location")]).toEqual([302, "docs/api"])
  })

  test("a draining agent refuses calls, is not ready, and still shows its health", async () => {
    agent.http.close()
    expect((await agent.send("GET", calls)).status).toBe(503)
    expect((await agent.send("GET", "/health/ready")).body.reasons).toEqual([
      "The agent is draining: it is about to stop.",
    ])
    expect((await agent.send("GET", "/health/live")).status).toBe(200)
  })
})
