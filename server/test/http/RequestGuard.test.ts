// The guard before all routes, over real connections: what it refuses writes and reads nothing, and what it says about
// clients behind proxies.
import { describe, expect, test } from "bun:test"
import { AddressRanges } from "@punctual/door/AddressRanges"
import type { HttpRequest } from "@punctual/http/HttpRequest"
import { RequestGuard, type RequestGuardOptions } from "@punctual/http/RequestGuard"
import { httpRequestOf } from "@punctual/http/testkit/httpRequestOf"
import { RawClient } from "@punctual/http/testkit/RawClient"
import { type Answered, withService } from "./ServiceFixture.ts"

const timer = { namespace: "n", timerId: "t", delay: "1h", callbackUrl: "http://h/" }
const onLoopback = { isOnLoopback: true }

describe("a request of another site", () => {
  for (const [name, headers, seen] of [
    ["by its host", { host: "evil.test" }, "TIMER_HTTP_HOSTS"],
    ["by its origin", { origin: "https://evil.test" }, "TIMER_CORS_ORIGINS"],
    ["by what the browser says", { "sec-fetch-site": "cross-site" }, "Sec-Fetch-Site"],
  ] as const) {
    test(`is refused ${name}, nothing is written, and the answer says what helps`, () =>
      withService({ guard: onLoopback }, async ({ call, pendingIn, fetch }) => {
        const refused = await call("create", timer, headers)
        expect([refused.status, refused.json.code]).toEqual([403, "forbidden"])
        expect(refused.json.detail).toContain(seen)
        expect(refused.headers.get("access-control-allow-origin")).toBeNull()
        expect(await pendingIn("n")).toBe(0)
        expect((await call("create", timer)).status).toBe(200)
        const metrics = (await fetch("/metrics")).text
        const reason = "host" in headers ? "host" : "origin"
        expect(metrics).toMatch(new RegExp(`timer_http_requests_refused_total{reason="${reason}"} [1-9]`))
      }))
  }

  test("is refused before its body arrives", () =>
    withService({ guard: onLoopback }, async ({ port }) => {
      using client = await RawClient.connected({ port })
      client.send(
        "POST /api/v1/timers/create HTTP/1.1\r\nHost: evil.test\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n{",
      )
      expect(await client.answers(1)).toEqual([403])
    }))

  test("reaches pages by a link, and neither metrics nor calls", () =>
    withService({ guard: onLoopback }, async ({ fetch }) => {
      const headers = {
        "sec-fetch-site": "cross-site",
        "sec-fetch-mode": "navigate",
        "sec-fetch-dest": "document",
      }
      const statusOf = async (path: string) => (await fetch(path, { headers })).status
      expect(await statusOf("/docs/api")).toBe(200)
      expect(await statusOf("/")).toBe(302)
      for (const path of ["/metrics", "/health/ready", "/api/v1/timers/create", "/openapi.json", "/nothing"])
        expect([path, await statusOf(path)]).toEqual([path, 403])
    }))
})

describe("CORS", () => {
  const preflight = {
    "access-control-request-method": "POST",
    "access-control-request-headers": "content-type",
  }
  const corsHeaders = ({ headers }: Answered) =>
    [...headers.keys()].filter((name) => name.startsWith("access-control-"))

  test("is off without the setting: no answer has its headers", () =>
    withService({}, async ({ fetch, call }) => {
      const own = await call("create", timer)
      expect([own.status, corsHeaders(own), own.headers.get("vary")]).toEqual([200, [], null])
      const headers = { origin: "https://tools.example", ...preflight }
      const asked = await fetch("/api/v1/timers/create", { method: "OPTIONS", headers })
      expect([asked.status, corsHeaders(asked)]).toEqual([403, []])
    }))

  test("lets a listed origin call, and others not", () =>
    withService({ guard: { corsOrigins: ["https://tools.example"] } }, async ({ fetch, call }) => {
      const path = "/api/v1/timers/create"
      const ask = (origin: string) =>
        fetch(path, { method: "OPTIONS", headers: { origin, "sec-fetch-site": "cross-site", ...preflight } })
      const asked = await ask("https://tools.example")
      expect(asked.status).toBe(204)
      expect(Object.fromEntries(asked.headers)).toMatchObject({
        "access-control-allow-origin": "https://tools.example",
        "access-control-allow-methods": "GET, POST",
        "access-control-allow-headers": "authorization, content-type, last-event-id",
        vary: "origin",
      })
      expect(asked.headers.get("access-control-allow-credentials")).toBeNull()
      expect((await ask("https://evil.test")).status).toBe(403)

      const headers = { origin: "https://tools.example", "sec-fetch-site": "cross-site" }
      const called = await call("create", timer, headers)
      expect([called.status, called.headers.get("access-control-allow-origin")]).toEqual([
        200,
        "https://tools.example",
      ])
      const refused = await call("create", { wrong: true }, headers)
      expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([
        400,
        "https://tools.example",
      ])
      const plain = await fetch("/openapi.json")
      expect([plain.headers.get("vary"), corsHeaders(plain)]).toEqual(["origin", []])
      // Without the question of a preflight, OPTIONS asks for the methods of a path.
      const options = await fetch(path, { method: "OPTIONS" })
      expect(options.headers.get("allow")).toBe("POST, OPTIONS")
    }))
})

describe("behind a proxy", () => {
  const seenBehind = (options: Partial<RequestGuardOptions>, headers: Readonly<Record<string, string>>) => {
    let seen: HttpRequest | undefined
    const guard = new RequestGuard(
      { isOnLoopback: false, hosts: [], corsOrigins: [], ...options },
      {
        namePrefix: "timer",
        pages: new Set(),
        onRefused: () => undefined,
        handle: async (request) => {
          seen = request
          return { status: 200, headers: {}, body: "" }
        },
      },
    )
    const request = httpRequestOf({ target: "/p?q", headers, body: "body", addressGroup: "10.0.0.1" })
    guard.handle(request)
    return { request, seen }
  }
  const trustedProxies = new AddressRanges([["10.0.0.0", 8]])
  const headers = { "x-forwarded-for": "2001:db8:1:2:3::4", "x-forwarded-proto": "https", host: "h" }

  test("that is trusted, a request has the address and the group of its client, and everything else as it came", () => {
    const { request, seen } = seenBehind({ trustedProxies }, headers)
    expect(seen).toMatchObject({
      remoteAddress: "2001:db8:1:2:3::4",
      addressGroup: "2001:db8:1:2::/64",
      isSecure: true,
      method: "GET",
      path: "/p",
      query: "q",
    })
    expect([seen?.body, seen?.headers, seen?.signal]).toEqual([request.body, request.headers, request.signal])
  })

  test("that is not trusted, a request is passed on as it came", () => {
    const { request, seen } = seenBehind({}, headers)
    expect(seen).toBe(request)
    expect(
      seenBehind({ trustedProxies: new AddressRanges([["10.0.0.2", 32]]) }, headers).seen?.isSecure,
    ).toBe(false)
  })

  test("that is trusted, the host that the proxy got is an own host", () => {
    const behind = {
      ...headers,
      origin: "https://timers.example.com",
      "x-forwarded-host": "timers.example.com",
    }
    expect(seenBehind({ trustedProxies }, behind).seen).toBeDefined()
    expect(seenBehind({}, behind).seen).toBeUndefined()
  })
})

test("answers with data are not kept by caches and not taken for scripts", () =>
  withService({}, async ({ call, fetch }) => {
    const answers = [
      await call("create", timer),
      await call("create", "{"),
      await fetch("/metrics"),
      await fetch("/health/live"),
      await fetch("/nothing"),
    ]
    for (const { headers } of answers) {
      expect([headers.get("cache-control"), headers.get("x-content-type-options")]).toEqual([
        "no-store",
        "nosniff",
      ])
    }
  }))
