// How a node serves the documentation: addresses, rules for the browser, and who may read it.
import { expect, test } from "bun:test"
import { withSite } from "./SiteFixture.ts"

test("/docs leads to the documentation, and the reference of the API stays at /docs/api", () =>
  withSite(async ({ url }) => {
    const home = await fetch(`${url}/docs`, { redirect: "manual" })
    expect([home.status, home.headers.get("location")]).toEqual([302, "docs/"])
    const titleOf = async (path: string) =>
      /<title>(.*)<\/title>/.exec(await (await fetch(url + path)).text())?.[1] ?? "none"
    for (const path of ["/docs", "/docs/", "/docs/index.html"]) {
      expect([path, await titleOf(path)]).toEqual([path, "Punctual documentation"])
    }
    for (const path of ["/docs/api", "/docs/api/", "/docs/api.html"]) {
      expect([path, await titleOf(path)]).toEqual([path, "Punctual API reference"])
    }
    expect(await (await fetch(`${url}/docs/api`)).text()).toContain('href="index.html">Docs<')
    expect(await titleOf("/docs/guides/operate.html")).toBe("Operate Punctual · Punctual")
    for (const path of ["/docs/guides/", "/docs/guides/operate.md", "/docs/nothing.html"]) {
      expect([path, (await fetch(url + path)).status]).toEqual([path, 404])
    }
  }))

test("pages are checked each time, files are kept, and text is compressed", () =>
  withSite(async ({ fetch }) => {
    const page = await fetch("/docs/console.html")
    expect(page.headers.get("cache-control")).toBe("no-cache")
    expect(page.headers.get("content-encoding")).toBe("gzip")
    expect(page.headers.get("vary")).toBe("accept-encoding")
    const plain = await fetch("/docs/console.html", { headers: { "accept-encoding": "identity" } })
    expect([plain.headers.get("content-encoding"), plain.text]).toEqual([null, page.text])
    const addresses = [
      ...page.text.matchAll(/(?:src|href|data-search)="((?:main|start|site|search|icon|pictures\/)[^"]+)"/g),
    ]
    expect(addresses.length).toBeGreaterThan(10)
    for (const [, address] of addresses) {
      const file = await fetch(`/docs/${address}`)
      expect([address, file.status, file.headers.get("cache-control")]).toEqual([
        address,
        200,
        "public, max-age=31536000, immutable",
      ])
      expect(file.headers.get("x-content-type-options")).toBe("nosniff")
    }
    const [, picture] = /src="(pictures\/[^"]+\.png)"/.exec(page.text) ?? []
    const sent = await fetch(`/docs/${picture}`)
    expect([sent.headers.get("content-type"), sent.headers.get("content-encoding")]).toEqual([
      "image/png",
      null,
    ])
  }))

test("the browser may run only the scripts of the service, and the pages call nothing", () =>
  withSite(async ({ fetch }) => {
    const policy = (await fetch("/docs/")).headers.get("content-security-policy") ?? ""
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self'")
    expect(policy).not.toContain("connect-src")
    expect(policy).not.toContain("unsafe")
  }))

test("reading needs no key, other sites may link to pages, and nothing can be written", () =>
  withSite(
    async ({ fetch }) => {
      expect((await fetch("/metrics")).status).toBe(401)
      expect((await fetch("/docs/guides/api.html")).status).toBe(200)
      expect((await fetch("/docs/guides/api.html", { method: "HEAD" })).status).toBe(200)
      expect((await fetch("/docs/guides/api.html", { method: "POST" })).status).toBe(405)
      const link = {
        "sec-fetch-site": "cross-site",
        "sec-fetch-mode": "navigate",
        "sec-fetch-dest": "document",
      }
      expect((await fetch("/docs/guides/api.html", { headers: link })).status).toBe(200)
      expect((await fetch("/metrics", { headers: link })).status).toBe(403)
    },
    { auth: "required" },
  ))

test("all pages of the documentation count as one route, so that metrics stay small", () =>
  withSite(async ({ fetch }) => {
    for (const path of ["/docs/", "/docs/guides/api.html", "/docs/changelog.html"]) await fetch(path)
    const { text } = await fetch("/metrics")
    expect(text).toMatch(/^timer_http_requests_total\{route="\/docs\/",status="2xx"\} \d+$/m)
    expect(text).not.toContain("changelog")
  }))
