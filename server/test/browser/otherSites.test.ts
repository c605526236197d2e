// What a page of another site can do to a service that its reader can reach: nothing. A real browser tries, with forms,
// scripts, frames and a name that leads to this machine.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import { type BrowserPage, describeBrowser, type View } from "../../testkit/Browser.ts"
import { eventually } from "../../testkit/eventually.ts"
import { type RunningService, type ServiceOptions, withService } from "../http/ServiceFixture.ts"

setDefaultTimeout(60_000)

const view: View = { width: 1024, theme: "light" }
const namespace = "shop"
const victim = { namespace, timerId: "victim", delay: "1h", callbackUrl: "http://h/" }
const attack = JSON.stringify({ namespace, timerId: "attack", delay: "1h", callbackUrl: "http://h/" })

/** Runs in the page. Tries one call in a way of its own, and returns what the page can read of the answer. */
const readByFetch = (url: string, init: object): string =>
  `fetch(${JSON.stringify(url)}, ${JSON.stringify(init)})
    .then(async (answer) => answer.type + " " + answer.status + " " + (await answer.text()))
    .catch((error) => "failed " + error.name)`

const formTo = (url: string, enctype: string): string => `new Promise((resolve) => {
  const frame = document.createElement("iframe")
  frame.name = "answer" + Math.random()
  const form = document.createElement("form")
  Object.assign(form, { method: "POST", action: ${JSON.stringify(url)}, enctype: "${enctype}", target: frame.name })
  const field = document.createElement("input")
  // In text/plain a form sends name=value, which is JSON if both parts fit.
  field.name = ${JSON.stringify(attack.slice(0, -1))} + ',"correlationId":"'
  field.value = '"}'
  form.append(field)
  document.body.append(frame, form)
  frame.addEventListener("load", () => { try { resolve("read " + frame.contentDocument.body.textContent) } catch { resolve("hidden") } })
  form.submit()
})`

const scriptFrom = (url: string): string => `new Promise((resolve) => {
  const script = document.createElement("script")
  script.src = ${JSON.stringify(url)}
  script.onload = () => resolve("loaded")
  script.onerror = () => resolve("failed")
  document.body.append(script)
})`

/** A page in a frame without an origin of its own. */
const fromHiddenOrigin = (url: string): string => `new Promise((resolve) => {
  addEventListener("message", ({ data }) => resolve(data), { once: true })
  const frame = document.createElement("iframe")
  frame.sandbox = "allow-scripts"
  frame.srcdoc = ${JSON.stringify(`<script>${readByFetch(url, { method: "POST", mode: "no-cors", body: attack })}.then((text) => parent.postMessage(text, "*"))</script>`)}
  document.body.append(frame)
})`

const json = { "content-type": "application/json" }

describeBrowser("pages of other sites", (browser) => {
  const emptyPage = () =>
    new Response("<!doctype html><title>another site</title><body></body>", {
      headers: { "content-type": "text/html" },
    })
  let site: ReturnType<typeof Bun.serve>
  beforeAll(() => {
    site = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: emptyPage })
  })
  afterAll(() => site.stop(true))

  const withVictim = (use: (service: RunningService) => Promise<void>, guard: ServiceOptions["guard"] = {}) =>
    withService({ guard: { isOnLoopback: true, ...guard } }, async (service) => {
      expect((await service.call("create", victim)).status).toBe(200)
      await use(service)
    })

  /** The answers of the service to calls and navigations of the page, as far as the browser tells them. */
  const answersTo = ({ page }: BrowserPage, port: number): Array<number> => {
    const statuses: Array<number> = []
    page.on("response", (response) => {
      const { port: asked, pathname } = new URL(response.url())
      if (asked === String(port) && pathname !== "/openapi.json") statuses.push(response.status())
    })
    return statuses
  }

  const nothingHappened = async ({ call, pendingIn }: RunningService) => {
    expect(await pendingIn(namespace)).toBe(1)
    expect((await call("get", { namespace, timerId: "victim" })).json.timer.state).toBe("pending")
  }

  const attacksOn = (base: string): Readonly<Record<string, string>> => {
    const api = `${base}/api/v1/timers`
    const named = JSON.stringify({ namespace, timerId: "victim" })
    const noCors = { method: "POST", mode: "no-cors" }
    const cors = { method: "POST", headers: json }
    return {
      "a form of plain text": formTo(`${api}/create`, "text/plain"),
      "a usual form": formTo(`${api}/create`, "application/x-www-form-urlencoded"),
      "a form of parts": formTo(`${api}/create`, "multipart/form-data"),
      "a script without CORS creates": readByFetch(`${api}/create`, { ...noCors, body: attack }),
      "a script without CORS deletes": readByFetch(`${api}/delete`, { ...noCors, body: named }),
      "a script with JSON creates": readByFetch(`${api}/create`, { ...cors, body: attack }),
      "a script with JSON reads": readByFetch(`${api}/get`, { ...cors, body: named }),
      "a script with JSON deletes": readByFetch(`${api}/delete`, { ...cors, body: named }),
      "a script reads metrics": readByFetch(`${base}/metrics`, {}),
      "a script reads the page": readByFetch(`${base}/docs/api`, {}),
      "a script tag": scriptFrom(`${base}/openapi.json`),
      "a beacon": `Promise.resolve(navigator.sendBeacon("${api}/create", ${JSON.stringify(attack)})).then(() => "sent")`,
      "a page with a hidden origin": fromHiddenOrigin(`${api}/create`),
    }
  }

  /** A page may learn that a request failed, or get an answer that it cannot look into. */
  const unreadable = /^(?:failed|hidden|sent|opaque 0 $)/

  for (const [name, host] of [
    ["another site", "evil.test"],
    ["another port of this machine", "127.0.0.1"],
  ] as const) {
    test(`a page of ${name} can neither create, read nor delete timers`, () =>
      withVictim(async (service) => {
        await using opened = await browser().open(`http://${host}:${site.port}/`, view)
        const statuses = answersTo(opened, service.port)
        for (const [way, script] of Object.entries(attacksOn(service.url))) {
          expect([way, await opened.page.evaluate(script)]).toEqual([way, expect.stringMatching(unreadable)])
        }
        // The browser tells nothing about answers that it blocks itself.
        expect(statuses.length).toBeGreaterThan(3)
        expect(new Set(statuses)).toEqual(new Set([403]))
        await nothingHappened(service)
      }))
  }

  test("a name that begins to lead to this machine gives its page nothing", () =>
    withVictim(async (service) => {
      const statuses: Array<number> = []
      // The page comes from the attacker. Everything that it asks for after this reaches the service. Chromium itself
      // refuses such a change of the address, so here one address plays both parts.
      using both = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch: async (request) => {
          const { pathname } = new URL(request.url)
          if (pathname === "/") return emptyPage()
          const { method, headers } = request
          const body = method === "POST" ? await request.text() : null
          const answer = await fetch(service.url + pathname, { method, headers, body, redirect: "manual" })
          statuses.push(answer.status)
          return answer
        },
      })
      const base = `http://rebound.test:${both.port}`
      await using opened = await browser().open(`${base}/`, view)
      const attacks = Object.entries(attacksOn(base))
      for (const [way, script] of attacks) {
        const read = String(await opened.page.evaluate(script))
        if (!unreadable.test(read)) expect([way, read]).toEqual([way, expect.stringContaining("forbidden")])
      }
      await eventually("all answers", () => (statuses.length >= attacks.length ? true : undefined))
      expect(new Set(statuses)).toEqual(new Set([403]))
      await nothingHappened(service)
    }))

  test("a page cannot show the reference in a frame", () =>
    withVictim(async (service) => {
      await using opened = await browser().open(`http://evil.test:${site.port}/`, view)
      const statuses = answersTo(opened, service.port)
      await opened.page.evaluate(`new Promise((resolve) => {
        const frame = document.createElement("iframe")
        frame.src = "${service.url}/docs/api"
        frame.addEventListener("load", resolve)
        document.body.append(frame)
      })`)
      expect(statuses).toEqual([403])
    }))

  test("a link to the reference works, and the page breaks none of its own rules", () =>
    withVictim(async (service) => {
      await using opened = await browser().open(`http://evil.test:${site.port}/`, view)
      const statuses = answersTo(opened, service.port)
      await opened.page.evaluate(`document.body.innerHTML = '<a href="${service.url}/">reference</a>'`)
      await opened.page.click("a")
      await opened.page.waitForURL(`${service.url}/docs/api`)
      await opened.page.waitForLoadState("networkidle")
      expect(statuses.filter((status) => status >= 400)).toEqual([])
      const troubles = await opened.troubles()
      expect(troubles.filter((trouble) => /^(?:error|warning|uncaught|failed)/.test(trouble))).toEqual([])
    }))

  test("a page of a listed origin may call, and reads the answers", () =>
    withVictim(
      async (service) => {
        await using opened = await browser().open(`http://evil.test:${site.port}/`, view)
        const { "a script with JSON creates": create, "a script with JSON deletes": remove } = attacksOn(
          service.url,
        )
        expect(await opened.page.evaluate(create ?? "")).toContain('"timerId":"attack"')
        expect(await opened.page.evaluate(remove ?? "")).toStartWith("cors 200")
        // Forms cannot send JSON, so they create nothing, also for a listed origin.
        const { "a form of plain text": form } = attacksOn(service.url)
        expect(await opened.page.evaluate(form ?? "")).toBe("hidden")
        expect(await service.pendingIn(namespace)).toBe(1)
      },
      { corsOrigins: [`http://evil.test:${site.port}`] },
    ))
})
