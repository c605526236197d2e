// What the endpoints of the Service Agent declare, and which requests their schemas accept.
import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import { type AgentEndpoint, agentEndpoints } from "../../src/agent/agentEndpoints.ts"
import { callLimits } from "../../src/agent/callLimits.ts"
import { invalidRequest } from "../../src/invalidRequest.ts"

const endpoints = agentEndpoints()

const endpoint = (name: string): AgentEndpoint => {
  const found = endpoints.find((candidate) => candidate.name === name)
  if (found === undefined) throw new Error(`there is no endpoint ${name}`)
  return found
}

/** The pointers and details of a refusal; empty if the input is accepted. */
const refusals = (decode: AgentEndpoint["decodeBody"], input: unknown): ReadonlyArray<string> => {
  const decoded = decode?.(structuredClone(input))
  if (decoded === undefined) throw new Error("the endpoint has no such part")
  if (Result.isSuccess(decoded)) return []
  return invalidRequest(decoded.failure).errors.map(({ pointer, detail }) => `${pointer} ${detail}`)
}

const decoded = (decode: AgentEndpoint["decodeBody"], input: unknown): unknown => {
  const result = decode?.(structuredClone(input))
  if (result === undefined || Result.isFailure(result)) throw new Error("refused")
  return result.success
}

test("the agent has these endpoints, and each names the action of its caller", () => {
  expect(
    endpoints.map(({ method, path, action, status }) => `${method} ${path} ${action} ${status}`),
  ).toEqual([
    "POST /api/v1/tenants/:tenantId/service-calls calls.write 202",
    "GET /api/v1/tenants/:tenantId/service-calls calls.read 200",
    "POST /api/v1/tenants/:tenantId/service-calls/bulk calls.write 200",
    "GET /api/v1/tenants/:tenantId/service-calls/:serviceCallId calls.read 200",
    "PATCH /api/v1/tenants/:tenantId/service-calls/:serviceCallId calls.write 200",
    "POST /api/v1/tenants/:tenantId/service-calls/:serviceCallId/cancel calls.write 200",
    "POST /api/v1/tenants/:tenantId/service-calls/:serviceCallId/reschedule calls.write 200",
    "POST /api/v1/tenants/:tenantId/service-calls/:serviceCallId/run-again calls.write 202",
    "GET /api/v1/tenants calls.read 200",
    "GET /api/v1/tenants/:tenantId/settings calls.read 200",
    "PUT /api/v1/tenants/:tenantId/settings namespaces.write 200",
    "POST /api/v1/keys/self none 200",
    "POST /api/v1/sessions/create none 200",
    "POST /api/v1/sessions/end none 200",
  ])
})

describe("a submission", () => {
  const { decodeBody } = endpoint("submit")
  const request = { method: "POST", url: "https://api.example.com/invoices?x=1" }

  test("needs only a method and a URL", () => {
    expect(refusals(decodeBody, { request })).toEqual([])
    expect(refusals(decodeBody, {})).toEqual(["/request is required"])
    expect(refusals(decodeBody, { request: {} })).toEqual([
      "/request/method is required",
      "/request/url is required",
    ])
  })

  test("may have any JSON as the body of its request, except with GET and HEAD", () => {
    for (const body of ["text", "", 1, null, false, [1], { a: { b: 1 } }]) {
      expect(refusals(decodeBody, { request: { ...request, body } })).toEqual([])
    }
    expect(refusals(decodeBody, { request: { ...request, method: "GET", body: "x" } })).toEqual([
      "/request/body cannot be sent with GET: remove it, or use another method",
    ])
  })

  test("is refused with the field and the fix", () => {
    const cases: ReadonlyArray<readonly [Record<string, unknown>, RegExp]> = [
      [{ request: { ...request, method: "get" } }, /^\/request\/method must be one of GET/],
      [{ request: { ...request, url: "ftp://x" } }, /^\/request\/url must be an absolute http/],
      [{ request: { ...request, url: "http://a:b@x/" } }, /^\/request\/url must not contain credentials/],
      [{ request: { ...request, url: `http://x/${"a".repeat(callLimits.urlLength)}` } }, /at most 8192/],
      [{ request: { ...request, headers: { Host: "x" } } }, /^\/request\/headers\/Host cannot be set/],
      [{ request: { ...request, headers: { "idempotency-key": "x" } } }, /cannot be set/],
      [{ request: { ...request, headers: { a: "x\r\ny: z" } } }, /^\/request\/headers\/a must be visible/],
      [{ request, nme: "x" }, /^\/nme is an unknown field: did you mean name\?/],
      [{ request, name: "" }, /^\/name must be text of 1 to 200 bytes/],
      [{ request, name: "é".repeat(101) }, /^\/name must be text of 1 to 200 bytes/],
      [{ request, serviceCallId: "a~d1" }, /^\/serviceCallId must not contain ~/],
      [{ request, serviceCallId: "bulk" }, /^\/serviceCallId must not be bulk/],
      [{ request, serviceCallId: "x".repeat(241) }, /^\/serviceCallId must be text of 1 to 240 bytes/],
      [{ request, dueAt: "tomorrow" }, /^\/dueAt must be an instant/],
      [{ request, dueAt: "2030-01-01T00:00:00Z", delay: "1s" }, /^\/delay cannot be given together/],
      [{ request, tags: [] }, /^\/tags must be an array of 1 to 10 tags/],
      [{ request, tags: ["a", "a"] }, /^\/tags\/1 is given twice/],
    ]
    for (const [body, expected] of cases) {
      const found = refusals(decodeBody, body)
      expect([body, found.length]).toEqual([body, 1])
      expect(found[0]).toMatch(expected)
    }
  })

  test("decodes instants and durations to milliseconds", () => {
    expect(decoded(decodeBody, { request, dueAt: "1970-01-01T00:00:01Z" })).toMatchObject({ dueAt: 1_000 })
    expect(decoded(decodeBody, { request, delay: "1m" })).toMatchObject({ delay: 60_000 })
  })
})

describe("a list", () => {
  const { decodeQuery } = endpoint("list")

  test("gets its filter as text", () => {
    expect(
      decoded(decodeQuery, {
        status: "Failed,Running",
        starred: "true",
        tag: "a",
        name: "invoice",
        method: "POST",
        host: "api.example.com:8443",
        from: "1970-01-01T00:00:01Z",
        until: "1970-01-01T00:00:02Z",
        sort: "due",
        order: "asc",
        limit: "7",
      }),
    ).toEqual({
      status: ["Failed", "Running"],
      starred: true,
      tag: "a",
      name: "invoice",
      method: "POST",
      host: "api.example.com:8443",
      from: 1_000,
      until: 2_000,
      sort: "due",
      order: "asc",
      limit: 7,
    })
    expect(decoded(decodeQuery, {})).toEqual({})
  })

  test("refuses wrong values and unknown parameters", () => {
    const cases: ReadonlyArray<readonly [Record<string, string>, RegExp]> = [
      [{ status: "failed" }, /^\/status must be one or several of Submitted/],
      [{ status: "Failed,Failed" }, /^\/status must be/],
      [{ status: "" }, /^\/status must be/],
      [{ starred: "yes" }, /^\/starred must be true or false/],
      [{ limit: "0" }, /^\/limit must be a whole number from 1 to 200/],
      [{ limit: "201" }, /^\/limit must be/],
      [{ limit: "1.5" }, /^\/limit must be/],
      [{ limit: "007" }, /^\/limit must be/],
      [{ sort: "name" }, /^\/sort must be one of/],
      [{ host: "https://x/" }, /^\/host must be a host/],
      [{ stats: "Failed" }, /^\/stats is an unknown field: did you mean status\?/],
    ]
    for (const [query, expected] of cases) {
      const found = refusals(decodeQuery, query)
      expect([query, found.length]).toEqual([query, 1])
      expect(found[0]).toMatch(expected)
    }
  })
})

test("a change of annotations has at least one field, and may remove all tags", () => {
  const { decodeBody } = endpoint("annotate")
  expect(refusals(decodeBody, {})).toEqual([" must have at least one of name, tags, starred"])
  expect(refusals(decodeBody, { tags: [] })).toEqual([])
  expect(refusals(decodeBody, { starred: 1 })).toEqual(["/starred must be true or false"])
})

test("a move needs exactly one due time", () => {
  const { decodeBody } = endpoint("reschedule")
  expect(refusals(decodeBody, {})).toEqual(["/dueAt is required: give exactly one of dueAt and delay"])
  expect(refusals(decodeBody, { delay: "5m" })).toEqual([])
})

test("a change of many calls names a tag only if it changes tags", () => {
  const { decodeBody } = endpoint("changeMany")
  const base = { filter: {}, expectedCount: 1 }
  expect(refusals(decodeBody, { ...base, do: "cancel" })).toEqual([])
  expect(refusals(decodeBody, { ...base, do: "addTag", tag: "a" })).toEqual([])
  expect(refusals(decodeBody, { ...base, do: "addTag" })).toEqual(["/tag is required to addTag"])
  expect(refusals(decodeBody, { ...base, do: "star", tag: "a" })).toEqual([
    "/tag has no meaning with star: remove it",
  ])
  expect(refusals(decodeBody, { ...base, do: "cancel", filter: { status: [] } })).toEqual([
    "/filter/status must have 1 to 6 statuses",
  ])
})

test("a change of many calls has a filter with its count, or ids", () => {
  const { decodeBody } = endpoint("changeMany")
  const ids = Array.from({ length: callLimits.bulkIds }, (_, at) => `call-${at}`)
  expect(refusals(decodeBody, { do: "star", ids })).toEqual([])
  const cases: ReadonlyArray<readonly [Record<string, unknown>, string]> = [
    [{}, "/filter is required: give exactly one of filter and ids"],
    [
      { filter: {}, expectedCount: 1, ids: ["a"] },
      "/ids cannot be given together with filter: remove one of them",
    ],
    [{ filter: {} }, "/expectedCount is required with filter"],
    [{ ids: ["a"], expectedCount: 1 }, "/expectedCount belongs to filter: remove it"],
    [{ ids: ["a"], cursor: "x" }, "/cursor belongs to filter: remove it"],
    [{ ids: [] }, "/ids must be an array of 1 to 200 ids"],
    [{ ids: [...ids, "more"] }, "/ids must be an array of 1 to 200 ids"],
    [{ ids: ["a", "b", "a"] }, "/ids/2 is given twice: remove one of them"],
    [{ ids: ["a~d1"] }, "/ids/0 must not contain ~"],
  ]
  for (const [body, expected] of cases) {
    const [found = ""] = refusals(decodeBody, { do: "star", ...body })
    expect([body, found.startsWith(expected), found]).toEqual([body, true, found])
  }
})

test("a submission can have its idempotency key in a header", () => {
  for (const { headerNames, decodeHeaders } of [endpoint("submit"), endpoint("runAgain")]) {
    expect(headerNames).toEqual(["idempotency-key"])
    expect(refusals(decodeHeaders, { "idempotency-key": "order-4711" })).toEqual([])
    expect(refusals(decodeHeaders, {})).toEqual([])
    expect(refusals(decodeHeaders, { "idempotency-key": "" })[0]).toStartWith(
      "/idempotency-key must be text of",
    )
  }
})

test("the path of a call accepts valid ids only", () => {
  const { decodeParams } = endpoint("get")
  expect(refusals(decodeParams, { tenantId: "billing", serviceCallId: "a/b é" })).toEqual([])
  expect(refusals(decodeParams, { tenantId: "_x", serviceCallId: "a~w1" })).toHaveLength(2)
})
