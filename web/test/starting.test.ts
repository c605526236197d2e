// What a page shows before the service is ready, and before the page knows the time of the service.
import { expect, setDefaultTimeout, test } from "bun:test"
import type { Page } from "playwright-core"
import { whyStarting } from "../../server/src/http/Availability.ts"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { lostContact, openConsole, withConsole } from "./ConsoleFixture.ts"
import { signInWith, withKeyedConsole } from "./KeyedConsole.ts"

setDefaultTimeout(60_000)

const everyCall = "**/api/v1/**"

/** From here on every call gets the answer of a service that starts. */
const beginStart = (page: Page): Promise<unknown> =>
  page.route(everyCall, (route) =>
    route.fulfill({
      status: 503,
      contentType: "application/problem+json",
      body: JSON.stringify({ status: 503, code: "ownerUnavailable", detail: whyStarting().detail }),
    }),
  )

/** Holds the call back until the test lets it go. */
const hold = async (page: Page, path: string): Promise<() => void> => {
  const { promise, resolve } = Promise.withResolvers<void>()
  await page.route(`**/api/v1/${path}`, async (route) => {
    await promise
    await route.continue()
  })
  return resolve
}

describeBrowser("a service that starts", (browser) => {
  test("a page says that the service is starting, and goes on by itself", () =>
    withConsole({}, async (service) => {
      await service.call("create", { namespace: "shop", timerId: "a", delay: "2h", callbackUrl: "http://h/" })
      await using opened = await openConsole(browser(), service, "timers")
      const { page } = opened
      await beginStart(page)
      await page.reload()
      await page.getByRole("heading", { name: "The service is starting" }).waitFor()
      // It is no error of anybody.
      expect(await page.getByRole("alert").count()).toBe(0)
      expect(await page.getByText("could not be").count()).toBe(0)
      expect(await opened.inaccessible()).toEqual([])
      await page.unroute(everyCall)
      await page.getByRole("link", { name: "shop / a" }).waitFor()
      expect(await page.getByText("is starting").count()).toBe(0)
    }))

  test("a page with data keeps it during a restart, and says what it waits for", () =>
    withConsole({}, async (service) => {
      await service.call("create", { namespace: "shop", timerId: "a", delay: "2h", callbackUrl: "http://h/" })
      await using opened = await openConsole(browser(), service, "timers")
      const { page } = opened
      const row = page.getByRole("link", { name: "shop / a" })
      await row.waitFor()
      await page.route(everyCall, (route) => route.abort("connectionrefused"))
      await lostContact(page).waitFor()
      await page.unroute(everyCall)
      await beginStart(page)
      const notice = page.locator(".toasts").getByText("The service is starting.")
      await notice.waitFor()
      expect(await row.isVisible()).toBe(true)
      await page.unroute(everyCall)
      await notice.waitFor({ state: "detached" })
      expect(await row.isVisible()).toBe(true)
    }))
})

describeBrowser("the time of the service", (browser) => {
  test("until it is known, only exact times are shown, and nothing moves when it is", () =>
    // The clock of the browser is years behind.
    withConsole({ clockStartMs: Date.parse("2040-01-01T12:00:00Z") }, async (service) => {
      await service.call("create", { namespace: "shop", timerId: "a", delay: "2h", callbackUrl: "http://h/" })
      await using opened = await openConsole(browser(), service, "timers", {
        width: 1440,
        theme: "light",
        zone: "UTC",
      })
      const { page } = opened
      const release = await hold(page, "service/get")
      const asked: Array<string> = []
      page.on("request", (request) => void asked.push(request.url()))
      await page.reload()
      await page.getByText("Sun 1 Jan 2040 14:00").or(page.getByText("Sun 01 Jan 2040 14:00")).waitFor()
      const relative = page.locator(".cell-due .moment-relative")
      expect(await relative.isVisible()).toBe(false)
      expect(asked.filter((url) => url.endsWith("/histogram"))).toEqual([])
      await page.evaluate(`window.shift = 0; new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) window.shift += entry.value
      }).observe({ type: "layout-shift", buffered: false })`)
      release()
      await page.getByText("in 2 h", { exact: true }).waitFor()
      await page.getByText("1 in this chart").waitFor()
      expect(await page.evaluate("window.shift")).toBe(0)
      expect(await opened.troubles()).toEqual([])
    }))

  test("a reader who may not ask for it sees times by the clock of the browser", () =>
    withKeyedConsole({}, async (service, { admin, make }) => {
      const timer = { namespace: "shop", timerId: "a", delay: "2h", callbackUrl: "http://h/" }
      await service.call("create", timer, { authorization: `Bearer ${admin.text}` })
      const reader = await make({ label: "reader", actions: ["timers.read"], namespaces: ["shop"] })
      await using opened = await openConsole(browser(), service, "timers")
      await signInWith(opened, reader)
      await opened.page.getByText(/^in 1 h/).waitFor()
    }))
})
