// Live updates: one stream of events for a browser, closed in hidden tabs, and never in the reader's way.
import { expect, setDefaultTimeout, test } from "bun:test"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { eventually } from "../../server/testkit/eventually.ts"
import { type ConsoleService, lostContact, openConsole, withConsole } from "./ConsoleFixture.ts"
import { untilFocused, untilNoDialog } from "./focused.ts"

setDefaultTimeout(60_000)

const key = { namespace: "shop", timerId: "a" }
const place = "timer?namespace=shop&id=a"
const readers = "timer_event_readers"

/** A value of the metrics, by its name and labels. */
const metric = async (service: ConsoleService, name: string): Promise<number> => {
  const { text } = await service.fetch("/metrics")
  const line = text.split("\n").find((each) => each.startsWith(`${name} `))
  return Number(line?.slice(name.length) ?? 0)
}

describeBrowser("live updates", (browser) => {
  test("the stream shows a change without a poll", () =>
    withConsole({}, async (service) => {
      await service.call("create", { ...key, delay: "2h", callbackUrl: "http://h/" })
      await using opened = await openConsole(browser(), service, place)
      const { page } = opened
      await page.getByRole("heading", { name: /^It is due in 1 h/ }).waitFor()
      await eventually("the stream", async () => ((await metric(service, readers)) === 1 ? true : undefined))
      await service.call("update", { ...key, delay: "5h" })
      await page.getByRole("heading", { name: /^It is due in 4 h/ }).waitFor()
      expect(await opened.troubles()).toEqual([])
    }))

  test("eight tabs share one stream, and it ends when all are hidden or closed", () =>
    withConsole({}, async (service) => {
      await service.call("create", { ...key, delay: "2h", callbackUrl: "http://h/" })
      await using opened = await openConsole(browser(), service, place)
      const tabs = [opened.page]
      while (tabs.length < 8) {
        const tab = await opened.page.context().newPage()
        await tab.goto(opened.page.url())
        tabs.push(tab)
      }
      for (const tab of tabs) await tab.getByRole("heading", { name: /^It is due in 1 h/ }).waitFor()
      await service.call("update", { ...key, delay: "5h" })
      for (const tab of tabs) await tab.getByRole("heading", { name: /^It is due in 4 h/ }).waitFor()
      await eventually("one stream", async () => ((await metric(service, readers)) === 1 ? true : undefined))
      for (const tab of tabs) await tab.close()
      await eventually("the end of the stream", async () =>
        (await metric(service, readers)) === 0 ? true : undefined,
      )
    }))

  test("paused means that nothing changes, and an open dialog keeps its focus while live", () =>
    withConsole({}, async (service) => {
      await service.call("create", { ...key, delay: "2h", callbackUrl: "http://h/" })
      await using opened = await openConsole(browser(), service, place)
      const { page } = opened
      await page.getByRole("button", { name: "Fire now" }).click()
      const cancel = page.getByRole("dialog").getByRole("button", { name: "Close" }).last()
      await cancel.focus()
      await untilFocused(cancel)
      await service.call("update", { ...key, delay: "5h" })
      await page.getByRole("heading", { name: /^It is due in 4 h/, includeHidden: true }).waitFor()
      expect(await page.evaluate("document.activeElement.textContent")).toBe("Close")
      await page.keyboard.press("Escape")
      await untilNoDialog(page)
      await page.getByRole("button", { name: "Live" }).click()
      await page.getByRole("button", { name: "Updates stopped" }).waitFor()
      const asked: Array<string> = []
      page.on("request", (request) => void asked.push(request.url()))
      await service.call("update", { ...key, delay: "8h" })
      const other = await openConsole(browser(), service, place)
      await other.page.getByRole("heading", { name: /^It is due in 7 h/ }).waitFor()
      await other[Symbol.asyncDispose]()
      await page.getByRole("heading", { name: /^It is due in 4 h/ }).waitFor()
      // Only the other reader asked.
      expect(asked.filter((url) => url.endsWith("/timers/get"))).toEqual([])
      await page.getByRole("button", { name: "Updates stopped" }).click()
      await page.getByRole("heading", { name: /^It is due in 7 h/ }).waitFor()
    }))

  test("an empty list fills by itself", () =>
    withConsole({}, async (service) => {
      await using opened = await openConsole(browser(), service, "timers")
      await opened.page.getByText("Nothing is pending").waitFor()
      await service.call("create", { ...key, delay: "2h", callbackUrl: "http://h/" })
      await opened.page.getByRole("link", { name: "shop / a" }).waitFor()
    }))

  test("if a proxy cannot reach the service, the page says so, also while it is paused, and notices its return", () =>
    withConsole({}, async (service) => {
      await service.call("create", { ...key, delay: "2h", callbackUrl: "http://h/" })
      await using opened = await openConsole(browser(), service, place)
      const { page } = opened
      const heading = page.getByRole("heading", { name: /^It is due in 1 h/ })
      await heading.waitFor()
      await page.getByRole("button", { name: "Live" }).click()
      await page.route("**/api/v1/**", (route) =>
        route.fulfill({ status: 502, contentType: "text/html", body: "<h1>Bad Gateway</h1>" }),
      )
      await page.getByRole("button", { name: "Fire now" }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Fire now" }).click()
      await lostContact(page).waitFor()
      await page.getByRole("button", { name: "Close" }).last().click()
      expect(await heading.isVisible()).toBe(true)
      await page.unroute("**/api/v1/**")
      await lostContact(page).waitFor({ state: "detached" })
    }))

  test("a list does not shift while timers are created and fire", () =>
    withConsole({}, async (service) => {
      await service.call("createMany", {
        timers: Array.from({ length: 50 }, (_, at) => ({
          namespace: "shop",
          timerId: `t${at}`,
          delay: `${2_000 + at}s`,
          callbackUrl: "http://h/",
        })),
      })
      await using opened = await openConsole(browser(), service, "timers")
      const { page } = opened
      await page.getByRole("link", { name: "shop / t0", exact: true }).waitFor()
      await page.getByText("50 in this chart").waitFor()
      await page.evaluate(`window.shift = 0; new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) window.shift += entry.value
      }).observe({ type: "layout-shift", buffered: false })`)
      for (let round = 0; round < 5; round++) {
        await service.call("create", {
          namespace: "shop",
          timerId: `now${round}`,
          delay: round % 2 === 0 ? "0s" : "1000s",
          callbackUrl: "http://h/",
        })
        await service.call("delete", { namespace: "shop", timerId: `t${round}` })
      }
      await page.getByText("no longer here").first().waitFor()
      await page.getByRole("button", { name: /new timer/ }).waitFor()
      await eventually("the counts", async () =>
        (await page.getByText("47 in this chart").count()) > 0 ? true : undefined,
      )
      expect(await page.evaluate("window.shift")).toBe(0)
    }))
})
