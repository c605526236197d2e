// How the service serves the console: files, rules for the browser, and addresses.
import { expect, setDefaultTimeout, test } from "bun:test"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { openConsole, withConsole } from "./ConsoleFixture.ts"
import { docsPages } from "./SiteFixture.ts"

setDefaultTimeout(60_000)

describeBrowser("the console", (browser) => {
  test("opens at /, shows no error, and breaks none of its own rules", () =>
    withConsole({}, async (service) => {
      await using opened = await browser().open(`${service.url}/`, { width: 1440, theme: "light" })
      await opened.page.getByRole("heading", { name: "Timers" }).waitFor()
      expect(opened.page.url()).toBe(`${service.url}/console/`)
      expect(await opened.troubles()).toEqual([])
    }))

  test("every page has an address of its own", () =>
    withConsole({}, async (service) => {
      for (const [place, heading] of [
        ["timers", "Timers"],
        ["dead-letters", "Dead letters"],
        ["namespaces", "Namespaces"],
        ["status", "Status"],
        ["keys", "Keys"],
        ["new", "New timer"],
      ] as const) {
        await using opened = await openConsole(browser(), service, place)
        await opened.page.getByRole("heading", { name: heading, level: 1 }).waitFor()
        expect(await opened.troubles()).toEqual([])
      }
    }))

  test("leads to the documentation from its help", () =>
    withConsole({ docs: docsPages() }, async (service) => {
      await using opened = await openConsole(browser(), service, "timers")
      await opened.page.getByRole("heading", { name: "Timers", level: 1 }).waitFor()
      await opened.page.keyboard.press("?")
      await opened.page.getByRole("link", { name: "Documentation" }).click()
      await opened.page.waitForURL(`${service.url}/docs/`)
      expect(await opened.troubles()).toEqual([])
    }))

  test("works below a path that a proxy adds", () =>
    withConsole({}, async (service) => {
      using proxy = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch: (request) => {
          const { pathname, search } = new URL(request.url)
          if (!pathname.startsWith("/tools/timers/")) return new Response("not here", { status: 404 })
          return fetch(`${service.url}${pathname.slice("/tools/timers".length)}${search}`, {
            method: request.method,
            headers: request.headers,
            body: request.body,
            redirect: "manual",
            // The proxy passes compressed bytes on as they are.
            decompress: false,
          })
        },
      })
      await service.call("create", {
        namespace: "shop",
        timerId: "one",
        delay: "1h",
        callbackUrl: "http://h/",
      })
      await using opened = await browser().open(`http://127.0.0.1:${proxy.port}/tools/timers/`, {
        width: 1440,
        theme: "light",
      })
      await opened.page.getByRole("link", { name: "shop / one" }).click()
      await opened.page.waitForURL(/\/tools\/timers\/console\/timer\?/)
      expect(await opened.troubles()).toEqual([])
    }))
})

test("files are kept, compressed, and not for other sites", () =>
  withConsole({}, async (service) => {
    const index = await service.fetch("/console/")
    expect(index.headers.get("cache-control")).toBe("no-cache")
    expect(index.headers.get("content-security-policy")).toContain("default-src 'none'")
    const [, script = ""] = /src="\.\/(main-[^"]+\.js)"/.exec(index.text) ?? []
    const file = await service.fetch(`/console/${script}`)
    expect(file.status).toBe(200)
    expect(file.headers.get("cache-control")).toContain("immutable")
    expect(file.headers.get("content-encoding")).toBe("gzip")
    const plain = await service.fetch(`/console/${script}`, { headers: { "accept-encoding": "identity" } })
    expect(plain.headers.get("content-encoding")).toBeNull()
    expect(plain.text).toBe(file.text)
    expect((await service.fetch("/console/no-such-file.js")).status).toBe(404)
    expect((await service.fetch("/console")).headers.get("location")).toBe("console/")
  }))
