// The agent's API over real HTTP, on the whole agent: what each route accepts, answers and refuses.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { agentEndpoints } from "@punctual/api/agent/agentEndpoints"
import { eventually } from "@punctual/server/testkit/eventually"
import { AgentServer } from "../../testkit/AgentServer.ts"
import { CallEventReader } from "../../testkit/CallEventReader.ts"
import { LiveAgent } from "../../testkit/LiveAgent.ts"

let agent: LiveAgent
let tenants = 0

beforeAll(async () => {
  agent = await LiveAgent.start()
})

afterAll(() => agent[Symbol.asyncDispose]())

/** Each test has a tenant of its own. */
const newTenant = (): string => `tenant-${++tenants}`
const callsOf = (tenant: string): string => `/api/v1/tenants/${tenant}/service-calls`
const request = (path = "/ok") => ({ method: "POST", url: `${agent.target.url}${path}` })

const idsOf = (calls: ReadonlyArray<{ serviceCallId: string }>) =>
  calls.map(({ serviceCallId }) => serviceCallId)

/** The last request that the called service got. */
const received = (path: string) =>
  eventually(`a request to ${path}`, () => agent.target.received(path), 60_000)

describe("a submission", () => {
  test("is answered 202 with the call and its address", async () => {
    const tenant = newTenant()
    const calls = callsOf(tenant)
    const sent = { request: request("/ok?token=1"), serviceCallId: "a/b é", tags: ["x"] }
    const answer = await agent.send("POST", calls, sent)
    expect(answer.status).toBe(202)
    expect(answer.headers.get("location")).toBe(`${calls}/a%2Fb%20%C3%A9`)
    expect(answer.body).toMatchObject({
      result: "submitted",
      call: {
        tenantId: tenant,
        serviceCallId: "a/b é",
        status: "Submitted",
        name: `POST ${agent.target.url}/ok`,
        tags: ["x"],
        starred: false,
        url: `${agent.target.url}/ok`,
        host: new URL(agent.target.url).host,
        correlationId: answer.headers.get("x-request-id"),
      },
    })
    const found = await agent.send("GET", answer.headers.get("location") ?? "")
    expect(found.body.call.serviceCallId).toBe("a/b é")
  })

  test("that is repeated changes nothing, and with another request is refused", async () => {
    const calls = callsOf(newTenant())
    const body = { request: request("/once"), serviceCallId: "one" }
    await agent.send("POST", calls, body)
    expect((await agent.send("POST", calls, body)).body.result).toBe("unchanged")
    const other = await agent.send("POST", calls, { ...body, request: request("/other") })
    expect([other.status, other.body.code]).toEqual([409, "callExists"])
  })

  test("can give its idempotency key in a header, and not two different ones", async () => {
    const calls = callsOf(newTenant())
    const key = { "idempotency-key": "order-4711" }
    const first = await agent.send("POST", calls, { request: request("/once") }, key)
    expect([first.status, first.body.result]).toEqual([202, "submitted"])
    const inBody = { request: request("/once"), idempotencyKey: "order-4711" }
    for (const [body, headers] of [
      [{ request: request("/once") }, key],
      [inBody, key],
      [inBody, {}],
    ] as const) {
      const { body: repeat } = await agent.send("POST", calls, body, headers)
      expect([repeat.result, repeat.call.serviceCallId]).toEqual(["unchanged", first.body.call.serviceCallId])
    }
    const differing = await agent.send("POST", calls, inBody, { "idempotency-key": "other" })
    expect([differing.status, differing.body.errors[0].pointer]).toEqual([400, "/idempotencyKey"])
    const tooLong = await agent.send("POST", calls, inBody, { "idempotency-key": "x".repeat(256) })
    expect([tooLong.status, tooLong.body.errors[0].pointer]).toEqual([400, "/idempotency-key"])
    expect((await agent.send("GET", calls)).body.calls).toHaveLength(1)
    const again = `${calls}/${first.body.call.serviceCallId}/run-again`
    const results = [await agent.send("POST", again, {}, { "idempotency-key": "again" })]
    results.push(await agent.send("POST", again, {}, { "idempotency-key": "again" }))
    expect(results.map(({ body }) => body.result)).toEqual(["submitted", "unchanged"])
    expect(results[0]?.body.call.serviceCallId).toBe(results[1]?.body.call.serviceCallId)
  })

  test("sends a text as it is, and JSON exactly as it was given, with its content type", async () => {
    const calls = callsOf(newTenant())
    const json = '{ "big": 12345678901234567890, "same": 1.0, "same": 2.50 }'
    const withBody = async (path: string, body: string, more = "") => {
      const url = `${agent.target.url}${path}`
      const text = `{"request":{"method":"PUT","url":"${url}"${more},"body":${body}}}`
      expect((await agent.send("POST", calls, text)).status).toBe(202)
      return received(path)
    }
    expect(await withBody("/json", json)).toMatchObject({
      method: "PUT",
      headers: { "content-type": "application/json", "user-agent": "punctual-agent" },
      body: json,
    })
    const given = ',"headers":{"Content-Type":"application/vnd.x+json","User-Agent":"mine"}'
    expect((await withBody("/own", json, given)).headers).toMatchObject({
      "content-type": "application/vnd.x+json",
      "user-agent": "mine",
    })
    const line = await withBody("/text", '"line\\nbreak"')
    expect([line.body, line.headers["content-type"]]).not.toEqual([line.body, "application/json"])
    expect(line.body).toBe("line\nbreak")
    expect((await withBody("/null", "null")).body).toBe("null")
  })

  test("may have a body of almost 1 MiB, in any form", async () => {
    const calls = callsOf(newTenant())
    const text = "x".repeat(1_000_000)
    const list = Array.from({ length: 100_000 }, (_, index) => index)
    for (const [path, body, expected] of [
      ["/large-text", text, text],
      ["/large-list", list, JSON.stringify(list)],
    ] as const) {
      expect((await agent.send("POST", calls, { request: { ...request(path), body } })).status).toBe(202)
      expect((await received(path)).body === expected).toBe(true)
    }
  })

  test("beyond the limits is refused, and nothing is submitted", async () => {
    const calls = callsOf(newTenant())
    const url = `${agent.target.url}/refused`
    const deep = `${"[".repeat(100)}${"]".repeat(100)}`
    const headers = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`h${index}`, "v"]))
    const cases: ReadonlyArray<readonly [unknown, number, string]> = [
      [{ request: { ...request(), body: "x".repeat(1_048_576) } }, 413, "bodyTooLarge"],
      [`{"request":{"method":"PUT","url":"${url}","body":${deep}}}`, 400, "invalidRequest"],
      [{ request: { ...request(), headers } }, 400, "invalidRequest"],
      [{ request: request(), padding: "x".repeat(100_000) }, 400, "invalidRequest"],
      ["{", 400, "invalidJson"],
      ["", 400, "invalidJson"],
      [`{"request":${" ".repeat(20_000)}`, 400, "invalidJson"],
      [{ request: request(), dueAt: "2999-01-01T00:00:00Z" }, 400, "invalidRequest"],
      [[], 400, "invalidRequest"],
    ]
    for (const [body, status, code] of cases) {
      const answer = await agent.send("POST", calls, body)
      expect([status, answer.status, answer.body.code]).toEqual([status, status, code])
    }
    expect((await agent.send("GET", calls)).body.calls).toEqual([])
  })

  test("with a delay is due that long after its receipt, and a past due time means now", async () => {
    const before = Date.now()
    const calls = callsOf(newTenant())
    const longAgo = { request: request(), dueAt: "0220-05-08T00:00:00Z", serviceCallId: "past" }
    expect((await agent.send("POST", calls, longAgo)).status).toBe(202)
    await agent.until(`${calls}/past`, "Succeeded")
    const { body } = await agent.send("POST", calls, { request: request(), delay: "1h" })
    const dueAt = Date.parse(body.call.dueAt)
    expect(dueAt).toBeGreaterThanOrEqual(before + 3_600_000)
    expect(dueAt).toBeLessThanOrEqual(Date.now() + 3_600_000)
  })
})

describe("a failure", () => {
  test("is a problem document with the id of its request", async () => {
    const calls = callsOf(newTenant())
    const answer = await agent.send("GET", `${calls}/none`, undefined, { "x-request-id": "mine" })
    expect(answer.status).toBe(404)
    expect(answer.headers.get("content-type")).toBe("application/problem+json")
    expect(answer.body).toMatchObject({ code: "callNotFound", correlationId: "mine" })
  })

  test("names unknown paths, methods and media types", async () => {
    const calls = callsOf(newTenant())
    expect((await agent.send("GET", "/api/v1/nothing")).body.code).toBe("notFound")
    expect((await agent.send("GET", `${calls}/%ff`)).body.code).toBe("notFound")
    const deleted = await agent.send("DELETE", `${calls}/x`)
    expect([deleted.status, deleted.headers.get("allow")]).toEqual([405, "GET, HEAD, PATCH, OPTIONS"])
    const bulk = await agent.send("GET", `${calls}/bulk`)
    expect([bulk.status, bulk.headers.get("allow")]).toEqual([405, "POST, OPTIONS"])
    const text = await agent.send("POST", calls, "{}", { "content-type": "text/plain" })
    expect(text.body.code).toBe("unsupportedMediaType")
    expect((await agent.send("GET", "/api/v1/tenants/_x/service-calls")).body.code).toBe("invalidRequest")
  })

  test("refuses a query parameter that is wrong, unknown or given twice", async () => {
    const calls = callsOf(newTenant())
    const cursor = await agent.send("GET", `${calls}?cursor=x`)
    expect(cursor.body.errors).toEqual([
      { pointer: "/cursor", detail: "must be the nextCursor of an earlier answer to the same request" },
    ])
    for (const query of ["limit=0", "stats=Failed", "tag=a&tag=b", "status=Done"]) {
      const answer = await agent.send("GET", `${calls}?${query}`)
      expect([query, answer.status, answer.body.code]).toEqual([query, 400, "invalidRequest"])
    }
  })

  test("of a foreign host or origin comes before everything else", async () => {
    const calls = callsOf(newTenant())
    const foreign = await agent.send("GET", calls, undefined, { host: "evil.test" })
    expect([foreign.status, foreign.body.code]).toEqual([403, "forbidden"])
    expect(foreign.body.detail).toContain("AGENT_HTTP_HOSTS")
    const crossSite = await agent.send("POST", calls, { request: request() }, { origin: "https://evil.test" })
    expect(crossSite.status).toBe(403)
  })
})

describe("a list", () => {
  test("has pages, and the counts with the first one", async () => {
    const calls = callsOf(newTenant())
    const submit = (serviceCallId: string, more: object) =>
      agent.send("POST", calls, { serviceCallId, tags: ["t"], ...more })
    await submit("c0", { request: request("/fail") })
    await agent.until(`${calls}/c0`, "Failed")
    for (let index = 1; index < 5; index++) {
      await submit(`c${index}`, { request: request(), delay: "1h" })
      await agent.until(`${calls}/c${index}`, "Scheduled")
    }
    const first = await agent.send("GET", `${calls}?limit=2&status=Scheduled&tag=t`)
    expect(idsOf(first.body.calls)).toEqual(["c4", "c3"])
    expect(first.body.counts).toEqual({
      Submitted: 0,
      Scheduled: 4,
      Running: 0,
      Succeeded: 0,
      Failed: 1,
      Cancelled: 0,
      capped: false,
    })
    const { nextCursor } = first.body
    const next = await agent.send("GET", `${calls}?limit=2&status=Scheduled&tag=t&cursor=${nextCursor}`)
    expect(idsOf(next.body.calls)).toEqual(["c2", "c1"])
    expect(next.body.counts).toBeUndefined()
    expect(next.body.nextCursor).toBeUndefined()
  })

  test("filters by every field, and sorts by due time", async () => {
    const calls = callsOf(newTenant())
    const sent = [
      { serviceCallId: "a", name: "Send Invoice", tags: ["x"], delay: "3h", request: request() },
      { serviceCallId: "b", name: "other", delay: "1h", request: { method: "GET", url: "http://b.test/" } },
      { serviceCallId: "c", name: "invoice 2", delay: "2h", request: request() },
    ]
    for (const call of sent) {
      await agent.send("POST", calls, call)
      await agent.until(`${calls}/${call.serviceCallId}`, "Scheduled")
    }
    await agent.send("PATCH", `${calls}/c`, { starred: true })
    const until = encodeURIComponent(new Date(Date.now() + 2.5 * 3_600_000).toISOString())
    const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
      ["sort=due&order=asc", ["b", "c", "a"]],
      ["sort=due", ["a", "c", "b"]],
      ["name=INVOICE", ["c", "a"]],
      ["tag=x", ["a"]],
      ["starred=true", ["c"]],
      ["method=GET", ["b"]],
      ["host=b.test", ["b"]],
      [`until=${until}`, ["c", "b"]],
      ["status=Cancelled", []],
    ]
    for (const [query, ids] of cases) {
      const { body } = await agent.send("GET", `${calls}?${query}`)
      expect([query, idsOf(body.calls)]).toEqual([query, [...ids]])
    }
  })

  test("and the stream of changes show no contents of requests and answers", async () => {
    const tenant = newTenant()
    const calls = callsOf(tenant)
    using events = await CallEventReader.open(
      `${agent.url}/api/v1/tenants/${tenant}/events?after=2020-01-01T00:00:00Z`,
    )
    const sent = {
      ...request("/fail?token=secret-query"),
      headers: { "x-a": "secret-header" },
      body: "secret-body",
    }
    await agent.send("POST", calls, { request: sent, serviceCallId: "s" })
    const detail = await agent.until(`${calls}/s`, "Failed")
    const { body } = await agent.send("GET", calls)
    const { latencyMs } = detail.call.response
    expect(body.calls[0].response).toEqual({ status: 503, latencyMs })
    expect(body.calls[0].error).toMatchObject({ kind: "status", latencyMs })
    expect(JSON.stringify(body)).not.toContain("secret")
    await eventually("the last change", () =>
      events.all.some(({ data }) => data.call?.status === "Failed") ? true : undefined,
    )
    expect(JSON.stringify(events.all)).not.toContain("secret")
    expect(detail.call.response).toMatchObject({ status: 503, bodySnippet: "ok" })
    expect(detail.request).toEqual(sent)
    expect(detail.timeline[0]).toMatchObject({ status: "Submitted" })
  })
})

describe("a change", () => {
  test("cancels, moves, annotates and runs again", async () => {
    const calls = callsOf(newTenant())
    const sent = { request: request("/hold-again"), delay: "1h", name: "N", tags: ["t"] }
    await agent.send("POST", calls, { ...sent, serviceCallId: "c" })
    await agent.until(`${calls}/c`, "Scheduled")
    const moved = await agent.send("POST", `${calls}/c/reschedule`, { dueAt: "2030-01-01T00:00:00Z" })
    expect(moved.body.call.dueAt).toBe("2030-01-01T00:00:00.000Z")
    const starred = await agent.send("PATCH", `${calls}/c`, { starred: true, tags: [], name: "Other" })
    expect(starred.body.call).toMatchObject({ starred: true, tags: [], name: "Other" })
    expect((await agent.send("POST", `${calls}/c/cancel`, {})).body.call.status).toBe("Cancelled")
    const again = await agent.send("POST", `${calls}/c/run-again`, { serviceCallId: "d" })
    expect([again.status, again.headers.get("location")]).toEqual([202, `${calls}/d`])
    await agent.until(`${calls}/d`, "Running")
    for (const [what, body] of [
      ["cancel", {}],
      ["reschedule", { delay: "1s" }],
    ] as const) {
      const refused = await agent.send("POST", `${calls}/d/${what}`, body)
      expect([what, refused.status, refused.body.code]).toEqual([what, 409, "callState"])
    }
    await received("/hold-again")
    agent.target.release()
    await agent.until(`${calls}/d`, "Succeeded")
  })

  /** Two calls that are scheduled, and `c1` that is running. */
  const threeCalls = async (calls: string) => {
    for (const id of ["c0", "c1", "c2"]) {
      const isRunning = id === "c1"
      const sent = isRunning ? { request: request("/hold-many") } : { request: request(), delay: "1h" }
      await agent.send("POST", calls, { ...sent, serviceCallId: id, tags: ["t"] })
      await agent.until(`${calls}/${id}`, isRunning ? "Running" : "Scheduled")
    }
  }

  test("of many calls counts first, and skips what it cannot change", async () => {
    const calls = callsOf(newTenant())
    await threeCalls(calls)
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

  test("of many calls can name them, and counts the ids that are not there", async () => {
    const calls = callsOf(newTenant())
    await threeCalls(calls)
    const bulk = (body: Record<string, unknown>) => agent.send("POST", `${calls}/bulk`, body)
    const answer = await bulk({ do: "addTag", tag: "new", ids: ["c0", "c1", "none"] })
    expect(answer.body).toEqual({ matched: 2, changed: 2, skipped: 0, missing: 1 })
    const ids = ["c0", "c1", "c2"]
    expect((await bulk({ do: "star", ids: ["c2"] })).body).toMatchObject({ changed: 1, missing: 0 })
    expect((await bulk({ do: "cancel", ids })).body).toEqual({
      matched: 3,
      changed: 2,
      skipped: 1,
      missing: 0,
    })
    const { body } = await agent.send("GET", `${calls}?sort=due&order=asc`)
    const shown = body.calls.map((call: Record<string, unknown>) => [
      call["serviceCallId"],
      call["status"],
      (call["tags"] as ReadonlyArray<string>).length,
      call["starred"],
    ])
    expect(shown).toEqual([
      ["c1", "Running", 2, false],
      ["c0", "Cancelled", 2, false],
      ["c2", "Cancelled", 1, true],
    ])
    const many = Array.from({ length: 201 }, (_, at) => `id-${at}`)
    for (const wrong of [{ ids: [] }, { ids: many }, { ids: ["c0", "c0"] }, { ids, expectedCount: 3 }, {}]) {
      const refused = await bulk({ do: "star", ...wrong })
      expect([wrong, refused.status, refused.body.code]).toEqual([wrong, 400, "invalidRequest"])
    }
  })
})

describe("a tenant's own list of hidden headers", () => {
  const secrets = { authorization: "secret-1", "X-Customer-Token": "secret-2", "x-open": "open" }

  test("applies to requests and answers, before and after it is set, and to this tenant only", async () => {
    const [ours, theirs] = [newTenant(), newTenant()]
    const settings = (tenant: string) => `/api/v1/tenants/${tenant}/settings`
    const submit = async (tenant: string, id: string) => {
      const sent = { request: { ...request("/secrets"), headers: secrets }, serviceCallId: id }
      await agent.send("POST", callsOf(tenant), sent)
      return agent.until(`${callsOf(tenant)}/${id}`, "Succeeded")
    }
    const before = await submit(ours, "before")
    expect(before.request.headers).toEqual({ ...secrets, authorization: "[redacted]" })
    expect(before.call.response.headers["x-customer-token"]).toBe("secret-token")
    expect((await agent.send("GET", settings(ours))).body).toEqual({ settings: { hiddenHeaders: [] } })
    const put = await agent.send("PUT", settings(ours), { hiddenHeaders: ["X-CUSTOMER-token"] })
    expect(put.body).toEqual({ settings: { hiddenHeaders: ["x-customer-token"] } })
    expect((await agent.send("GET", settings(ours))).body).toEqual(put.body)
    const hidden = {
      authorization: "[redacted]",
      "X-Customer-Token": "[redacted]",
      "x-open": "open",
    }
    for (const detail of [
      await agent.until(`${callsOf(ours)}/before`, "Succeeded"),
      await submit(ours, "after"),
    ]) {
      expect(detail.request.headers).toEqual(hidden)
      expect(detail.call.response.headers).toMatchObject({
        "set-cookie": "[redacted]",
        "x-customer-token": "[redacted]",
      })
    }
    // The service itself gets the values.
    expect((await received("/secrets")).headers["x-customer-token"]).toBe("secret-2")
    const other = await submit(theirs, "other")
    expect(other.request.headers["X-Customer-Token"]).toBe("secret-2")
    expect((await agent.send("GET", settings(theirs))).body.settings.hiddenHeaders).toEqual([])
    // A value that was hidden when the answer arrived is not stored, so it does not come back.
    await agent.send("PUT", settings(ours), { hiddenHeaders: [] })
    const shown = (await agent.send("GET", `${callsOf(ours)}/after`)).body
    expect(shown.call.response.headers["x-customer-token"]).toBe("[redacted]")
    expect(shown.request.headers["X-Customer-Token"]).toBe("secret-2")
  })

  test("is refused with a wrong name, with too many names, or with an unknown field", async () => {
    const path = `/api/v1/tenants/${newTenant()}/settings`
    for (const wrong of [
      { hiddenHeaders: ["a b"] },
      { hiddenHeaders: [""] },
      { hiddenHeaders: Array.from({ length: 65 }, (_, at) => `h-${at}`) },
      { hiddenHeaders: ["a"], other: 1 },
      {},
    ]) {
      const answer = await agent.send("PUT", path, wrong)
      expect([wrong, answer.status, answer.body.code]).toEqual([wrong, 400, "invalidRequest"])
    }
    expect((await agent.send("GET", path)).body.settings.hiddenHeaders).toEqual([])
  })
})

test("a tenant at its quota of open calls is refused, repeats and other tenants are not", async () => {
  await using small = await LiveAgent.start({ openCallsMax: 2 })
  const [ours, theirs] = ["ours", "theirs"].map(callsOf) as [string, string]
  const later = (serviceCallId: string) => ({
    request: request(),
    serviceCallId,
    dueAt: "2035-01-01T00:00:00Z",
  })
  for (const id of ["a", "b"]) expect((await small.send("POST", ours, later(id))).status).toBe(202)
  const refused = await small.send("POST", ours, later("c"))
  expect([refused.status, refused.body.code, refused.body.quota, refused.body.written]).toEqual([
    429,
    "quotaExceeded",
    "calls",
    "no",
  ])
  expect(refused.body.detail).toContain("AGENT_MAX_OPEN_PER_TENANT")
  expect(refused.headers.get("retry-after")).toBe("5")
  expect((await small.send("POST", ours, later("a"))).body.result).toBe("unchanged")
  expect((await small.send("POST", `${ours}/a/run-again`, {})).status).toBe(429)
  expect((await small.send("POST", theirs, later("c"))).status).toBe(202)
  await small.until(`${ours}/a`, "Scheduled")
  expect((await small.send("POST", `${ours}/a/cancel`, {})).status).toBe(200)
  await eventually("there is room again", async () =>
    (await small.send("POST", ours, later("c"))).status === 202 ? true : undefined,
  )
})

test("tenants are listed in pages", async () => {
  await using own = await LiveAgent.start()
  expect((await own.send("GET", "/api/v1/tenants")).body).toEqual({ tenants: [] })
  for (const tenant of ["shop", "billing", "crm"])
    await own.send("POST", callsOf(tenant), { request: request(), delay: "1h" })
  const first = await own.send("GET", "/api/v1/tenants?limit=2")
  expect(first.body).toEqual({ tenants: [{ tenantId: "billing" }, { tenantId: "crm" }], nextCursor: "crm" })
  expect((await own.send("GET", "/api/v1/tenants?cursor=crm")).body).toEqual({
    tenants: [{ tenantId: "shop" }],
  })
  for (const query of ["limit=0", "limit=1001", "cursor=%00", "cursor=a%20b", "page=1"]) {
    const answer = await own.send("GET", `/api/v1/tenants?${query}`)
    expect([query, answer.status]).toEqual([query, 400])
  }
})

test("every route with an id of another tenant answers 404, and changes and shows nothing", async () => {
  const [ours, theirs] = [newTenant(), newTenant()]
  await agent.send("POST", callsOf(theirs), { request: request(), serviceCallId: "theirs", delay: "1h" })
  await agent.send("PUT", `/api/v1/tenants/${theirs}/settings`, { hiddenHeaders: ["x-theirs"] })
  const before = await agent.until(`${callsOf(theirs)}/theirs`, "Scheduled")
  const bodies: Readonly<Record<string, unknown>> = {
    annotate: { starred: true },
    cancel: {},
    reschedule: { delay: "1s" },
    runAgain: {},
  }
  // A new route with an id is tried, too, and needs a body here.
  for (const { name, method, path } of agentEndpoints().filter(({ path }) =>
    path.includes(":serviceCallId"),
  )) {
    const url = path.replace(":tenantId", ours).replace(":serviceCallId", "theirs")
    const answer = await agent.send(method, url, bodies[name])
    expect([name, answer.status, answer.body.code]).toEqual([name, 404, "callNotFound"])
  }
  expect((await agent.send("GET", callsOf(ours))).body).toMatchObject({ calls: [], counts: { Scheduled: 0 } })
  const bulk = (body: object) => agent.send("POST", `${callsOf(ours)}/bulk`, { do: "cancel", ...body })
  expect((await bulk({ filter: {}, expectedCount: 10 })).body.matched).toBe(0)
  expect((await bulk({ ids: ["theirs"] })).body).toMatchObject({ matched: 0, changed: 0, missing: 1 })
  expect((await agent.send("GET", `/api/v1/tenants/${ours}/settings`)).body.settings.hiddenHeaders).toEqual(
    [],
  )
  expect(await agent.until(`${callsOf(theirs)}/theirs`, "Scheduled")).toEqual(before)
})

describe("beside the API", () => {
  test("there are health, metrics, the OpenAPI document and the reference page", async () => {
    expect((await agent.send("GET", "/health/live")).body).toEqual({ status: "live" })
    expect((await agent.send("GET", "/health/ready")).body).toEqual({ status: "ready" })
    await agent.send("GET", callsOf(newTenant()))
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
    await using draining = await AgentServer.start(agent.calls)
    draining.http.close()
    expect((await draining.send("GET", callsOf(newTenant()))).status).toBe(503)
    expect((await draining.send("GET", "/health/ready")).body.reasons).toEqual([
      "The agent is draining: it is about to stop.",
    ])
    expect((await draining.send("GET", "/health/live")).status).toBe(200)
  })
})
