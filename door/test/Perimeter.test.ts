// Which requests may come in, by what browsers say about them.
import { describe, expect, test } from "bun:test"
import { Perimeter, type PerimeterOptions } from "@punctual/door/Perimeter"

const settings = { hosts: "HOSTS", corsOrigins: "ORIGINS", trustedProxies: "PROXIES" }
const perimeterOf = (options: Partial<PerimeterOptions> = {}) =>
  new Perimeter({
    isOnLoopback: true,
    hosts: [],
    corsOrigins: ["https://tools.example"],
    pages: new Set(["/docs"]),
    settings,
    ...options,
  })
const perimeter = perimeterOf()

interface Sent {
  readonly method?: string
  readonly path?: string
  readonly forwardedHost?: string
  readonly headers?: Readonly<Record<string, string>>
}

const refusalOf = (
  { method = "POST", path = "/api", forwardedHost, headers = {} }: Sent,
  asked = perimeter,
) => {
  const all: Readonly<Record<string, string>> = { host: "localhost:8080", ...headers }
  return asked.whyRefused(
    { method, path, headers: { get: (name) => all[name] ?? null } },
    forwardedHost === undefined ? undefined : { address: "10.0.0.1", host: forwardedHost },
  )
}

const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" }

describe("comes in:", () => {
  const cases: Readonly<Record<string, Sent>> = {
    "a request without an origin": {},
    "a request of an own page": {
      headers: { origin: "http://localhost:8080", "sec-fetch-site": "same-origin" },
    },
    "a request that the reader typed": { headers: { "sec-fetch-site": "none" } },
    "a request of a listed origin": {
      headers: { origin: "https://tools.example", "sec-fetch-site": "cross-site" },
    },
    "a link of another site to a page": { method: "GET", path: "/docs", headers: link },
    "a request of a page behind a proxy that says its host": {
      forwardedHost: "timers.example.com",
      headers: { origin: "https://timers.example.com" },
    },
  }
  for (const [name, sent] of Object.entries(cases)) {
    test(name, () => expect(refusalOf(sent)).toBeUndefined())
  }
})

describe("stays out:", () => {
  const cases: Readonly<Record<string, Sent>> = {
    "a request of another origin": { headers: { origin: "https://evil.test" } },
    "a request of another port of the same host": { headers: { origin: "http://localhost:3000" } },
    "a request of an origin that the browser hides": { headers: { origin: "null" } },
    "a request of another scheme than a listed origin": { headers: { origin: "http://tools.example" } },
    "a request of another site without an origin": { headers: { "sec-fetch-site": "cross-site" } },
    "a request of another site with an own origin": {
      headers: { origin: "http://localhost:8080", "sec-fetch-site": "cross-site" },
    },
    "a link of another site to the API": { method: "GET", path: "/api", headers: link },
    "a form of another site that goes to a page": {
      path: "/docs",
      headers: { ...link, origin: "https://evil.test" },
    },
    "a page of another site that shows a page in a frame": {
      method: "GET",
      path: "/docs",
      headers: { ...link, "sec-fetch-dest": "iframe" },
    },
    "a script of another site that reads a page": {
      method: "GET",
      path: "/docs",
      headers: { ...link, "sec-fetch-mode": "no-cors" },
    },
  }
  for (const [name, sent] of Object.entries(cases)) {
    test(name, () => expect(refusalOf(sent)?.reason).toBe("origin"))
  }

  test("a request for a name that someone else may control", () => {
    expect(refusalOf({ headers: { host: "evil.test:8080" } })?.reason).toBe("host")
    expect(refusalOf({ headers: { host: "evil.test:8080", origin: "http://evil.test:8080" } })?.reason).toBe(
      "host",
    )
    expect(
      refusalOf({ headers: { host: "evil.test:8080" } }, perimeterOf({ isOnLoopback: false })),
    ).toBeUndefined()
  })
})

test("a refusal names what the service saw, shortened, and the settings that help", () => {
  const ofHost = refusalOf({ headers: { host: "timers.example.com" } })?.detail
  expect(ofHost).toContain("timers.example.com")
  expect(ofHost).toContain("HOSTS")
  const ofOrigin = refusalOf({ headers: { origin: "https://timers.example.com" } })?.detail
  for (const part of ["https://timers.example.com", "localhost:8080", ...Object.values(settings)])
    expect(ofOrigin).toContain(part)
  expect(refusalOf({ headers: { host: "x".repeat(10_000) } })?.detail.length).toBeLessThan(500)
})

test("only listed origins get CORS answers", () => {
  const corsOf = (origin: string | null, asked = perimeter) =>
    asked.corsOriginOf({ method: "POST", path: "/", headers: { get: () => origin } })
  expect(corsOf("https://tools.example")).toBe("https://tools.example")
  for (const origin of [null, "null", "https://evil.test", "https://tools.example.evil.test"])
    expect(corsOf(origin)).toBeUndefined()
  expect(corsOf("https://tools.example", perimeterOf({ corsOrigins: [] }))).toBeUndefined()
})
