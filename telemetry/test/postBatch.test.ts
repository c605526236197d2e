// Requests to a collector in the test's own process.
import { expect, test } from "bun:test"
import { gunzipSync } from "node:zlib"
import { Effect } from "effect"
import { postBatch, resultOf } from "../src/postBatch.ts"
import type { OtlpEndpoint } from "../src/telemetrySettings.ts"

const body = new TextEncoder().encode('{"resourceSpans":[]}')

const post = (url: string, more: Partial<OtlpEndpoint> = {}) =>
  Effect.runPromise(
    postBatch(
      { url, headers: {}, timeoutMs: 30_000, isCompressed: false, ...more },
      "application/json",
      new Uint8Array(body),
    ),
  )

test("a request has the configured headers, and its body may be compressed", async () => {
  const seen: Array<{ readonly headers: Headers; readonly bytes: Uint8Array }> = []
  await using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      seen.push({ headers: request.headers, bytes: await request.bytes() })
      return Response.json({})
    },
  })
  const headers = { authorization: "Bearer abc" }
  expect(await post(server.url.href, { headers })).toEqual({ kind: "taken", rejected: 0 })
  expect(await post(server.url.href, { headers, isCompressed: true })).toEqual({ kind: "taken", rejected: 0 })
  expect(seen.map(({ headers }) => headers.get("authorization"))).toEqual(["Bearer abc", "Bearer abc"])
  expect(seen.map(({ headers }) => headers.get("content-encoding"))).toEqual([null, "gzip"])
  expect(seen[0]?.bytes).toEqual(body)
  expect(new Uint8Array(gunzipSync(seen[1]?.bytes ?? ""))).toEqual(body)
})

test("answers that may change later lead to a retry, and others do not", () => {
  for (const status of [429, 502, 503, 504]) {
    expect(resultOf(status, null, "")).toEqual({ kind: "retry", why: `it answered ${status}` })
  }
  expect(resultOf(429, "7", "")).toMatchObject({ kind: "retry", afterMs: 7_000 })
  expect(resultOf(503, "999999", "")).toMatchObject({ kind: "retry", afterMs: 60_000 })
  expect(resultOf(503, "Wed, 21 Oct 2026 07:28:00 GMT", "")).toEqual({
    kind: "retry",
    why: "it answered 503",
  })
  for (const status of [301, 400, 401, 404, 413, 500]) {
    expect(resultOf(status, null, "")).toEqual({ kind: "refused", why: `it answered ${status}` })
  }
})

test("a collector that takes only a part says how much it rejected", () => {
  const partial = (text: string) => resultOf(200, null, text)
  expect(partial('{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}')).toEqual({
    kind: "taken",
    rejected: 2,
    why: "too old",
  })
  expect(partial('{"partialSuccess":{"rejectedLogRecords":3}}')).toEqual({ kind: "taken", rejected: 3 })
  for (const text of ["", "{}", "\n\u0000", "[]", "null", '{"partialSuccess":{"rejectedSpans":-1}}']) {
    expect(partial(text)).toEqual({ kind: "taken", rejected: 0 })
  }
})

test("a collector that hangs, or refuses connections, leads to a retry", async () => {
  const never = Promise.withResolvers<Response>()
  await using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => never.promise })
  expect(await post(server.url.href, { timeoutMs: 50 })).toEqual({
    kind: "retry",
    why: "no answer within 50 ms",
  })
  const { href } = server.url
  await server.stop(true)
  expect(await post(href)).toMatchObject({ kind: "retry" })
})
