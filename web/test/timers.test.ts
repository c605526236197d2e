// The page Timers: search, span, rows, live updates, export. A real browser on a real service.
import { expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync } from "node:fs"
import type { Page } from "playwright-core"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { eventually } from "../../server/testkit/eventually.ts"
import { type ConsoleService, lostContact, openConsole, phone, views, withConsole } from "./ConsoleFixture.ts"
import { typeInto, untilFocused, untilNoDialog } from "./focused.ts"

setDefaultTimeout(60_000)

const hourMs = 3_600_000

interface Made {
  readonly namespace?: string
  readonly timerId: string
  readonly inMs?: number
  readonly tags?: ReadonlyArray<string>
  readonly callbackUrl?: string
}

const create = async (service: ConsoleService, timers: ReadonlyArray<Made>): Promise<void> => {
  const answer = await service.call("createMany", {
    timers: timers.map(({ namespace = "shop", timerId, inMs = hourMs, tags, callbackUrl = "http://h/" }) => ({
      namespace,
      timerId,
      executeAt: new Date(Date.now() + inMs).toISOString(),
      callbackUrl,
      ...(tags === undefined ? {} : { tags }),
    })),
  })
  expect(answer.status).toBe(200)
}

const many = (count: number, prefix = "t"): ReadonlyArray<Made> =>
  Array.from({ length: count }, (_, at) => ({
    timerId: `${prefix}-${String(at).padStart(5, "0")}`,
    inMs: hourMs + at * 1_000,
  }))

const rows = (page: Page) => page.getByRole("table", { name: "Timers" }).getByRole("link")
const search = (page: Page) => page.getByRole("combobox", { name: "Search timers" })

describeBrowser("the page Timers", (browser) => {
  test("a new service says how to make the first timer, with its own address", () =>
    withConsole({}, async (service) => {
      await using opened = await openConsole(browser(), service, "timers")
      await opened.page.getByText("Nothing is pending").waitFor()
      const command = await opened.page.locator(".command pre").innerText()
      expect(command).toContain(`${service.url}/api/v1/timers/create`)
      expect(await opened.troubles()).toEqual([])
    }))

  test("rows come in due order over all namespaces, and the search narrows them", () =>
    withConsole({}, async (service) => {
      await create(service, [
        { namespace: "billing", timerId: "invoice-2", inMs: 2 * hourMs, tags: ["trial"] },
        { namespace: "shop", timerId: "order-1", inMs: hourMs },
        { namespace: "billing", timerId: "invoice-1", inMs: 3 * hourMs },
      ])
      await using opened = await openConsole(browser(), service, "timers")
      const { page } = opened
      await rows(page).first().waitFor()
      expect(await rows(page).allInnerTexts()).toEqual([
        "shop / order-1",
        "billing / invoice-2",
        "billing / invoice-1",
      ])
      await search(page).fill("invoice")
      await search(page).press("Enter")
      await page.waitForURL(/q=id%3Ainvoice/)
      await rows(page).getByText("order-1").waitFor({ state: "detached" })
      expect(await rows(page).allInnerTexts()).toEqual(["billing / invoice-1", "billing / invoice-2"])
      // By keyboard: a field, its value from the suggestions, and away with the last chip.
      await search(page).pressSequentially("tag:trial")
      await search(page).press("Enter")
      await rows(page).getByText("invoice-1").waitFor({ state: "detached" })
      await search(page).press("Backspace")
      await rows(page).getByText("invoice-1").waitFor()
      await page.goBack()
      await rows(page).getByText("invoice-1").waitFor({ state: "detached" })
      expect(await opened.troubles()).toEqual([])
    }))

  test("suggests fields, states and namespaces", () =>
    withConsole({}, async (service) => {
      await create(service, [
        { namespace: "billing", timerId: "one" },
        { namespace: "shop", timerId: "two" },
      ])
      await using opened = await openConsole(browser(), service, "timers")
      const { page } = opened
      const options = page.getByRole("option")
      await search(page).fill("st")
      await options.getByText("state:").click()
      await options.getByText("state:dead").waitFor()
      expect(await options.allInnerTexts()).toEqual([
        "state:pending",
        "state:delivered",
        "state:cancelled",
        "state:dead",
      ])
      await search(page).fill("namespace:")
      await options.getByText("namespace:billing").waitFor()
      await search(page).press("ArrowDown")
      await search(page).press("Enter")
      await rows(page).getByText("two").waitFor({ state: "detached" })
      expect(await rows(page).allInnerTexts()).toEqual(["billing / one"])
    }))

  test("empty, no match, not valid, forbidden and unreachable are different screens", () =>
    withConsole({}, async (service) => {
      await using opened = await openConsole(browser(), service, "timers?q=id:nothing")
      const { page } = opened
      await page.getByText("No timer matches the search").waitFor()
      await page.getByRole("button", { name: "Clear the search" }).click()
      await page.getByText("Nothing is pending").waitFor()
      // What is wrong with a search is said in its words, without a call.
      await page.goto(`${service.url}/console/timers?q=late:soon+state:retrying`)
      await page.getByText("The search is not valid").waitFor()
      await page.getByText("late:soon needs a duration").waitFor()
      await page.getByText("The states are pending, delivered, cancelled and dead.").waitFor()
      await page.getByText("Timers that are retrying are pending").waitFor()
      expect(await page.getByText("The counts could not be loaded").count()).toBe(0)
      await page.goto(`${service.url}/console/timers?q=foo:bar`)
      await page.getByText("“foo” is not a field of the search").waitFor()
      await page.getByText("Ids match from their beginning, and capital letters count.").waitFor()
      await search(page).fill("https://ledger.test:8443/x")
      await page.getByRole("option", { name: "host:ledger.test:8443" }).click()
      await page.waitForURL(/host%3Aledger\.test%3A8443/)
      await page.goto(`${service.url}/console/timers?q=state:delivered`)
      await page.getByText("Choose a namespace").waitFor()
      await page.route("**/api/v1/timers/list", (route) => route.abort())
      await page.goto(`${service.url}/console/timers`)
      await page.getByText("The timers could not be loaded").waitFor()
      await page.getByRole("button", { name: "Try again" }).waitFor()
      // Other calls are answered.
      expect(await lostContact(page).count()).toBe(0)
      // The page goes on by itself.
      await page.unroute("**/api/v1/timers/list")
      await page.getByText("Nothing is pending").waitFor()
    }))

  test("a long list is loaded while the reader scrolls, and draws only the visible rows", () =>
    withConsole({}, async (service) => {
      for (let at = 0; at < 3; at++) await create(service, many(1_000, `t${at}`))
      await using opened = await openConsole(browser(), service, "timers")
      const { page } = opened
      await rows(page).first().waitFor()
      await page.getByText("3,000 timers", { exact: true }).waitFor()
      const listed = () => page.getByText(/^[\d,]+ rows/).innerText()
      expect(await listed()).toBe("100 rows")
      await eventually("more rows", async () => {
        await page.evaluate("scrollTo(0, document.body.scrollHeight)")
        return (await listed()) === "100 rows" ? undefined : true
      })
      expect(await rows(page).count()).toBeLessThan(100)
      expect(await opened.troubles()).toEqual([])
    }))

  test("new timers wait behind a button, and nothing moves until the reader asks", () =>
    withConsole({}, async (service) => {
      await create(service, [{ timerId: "first", inMs: 2 * hourMs }])
      await using opened = await openConsole(browser(), service, "timers")
      const { page } = opened
      await rows(page).first().waitFor()
      await create(service, [{ timerId: "second" }, { timerId: "third" }])
      await page.getByRole("button", { name: "2 new timers" }).waitFor({ timeout: 50_000 })
      expect(await rows(page).allInnerTexts()).toEqual(["shop / first"])
      await page.getByRole("button", { name: "2 new timers" }).click()
      await rows(page).getByText("third").waitFor()
      expect((await rows(page).allInnerTexts()).length).toBe(3)
    }))

  test("the strip shows what is due, and a drag narrows the list to it", () =>
    withConsole({}, async (service) => {
      await create(service, [
        { timerId: "soon", inMs: 10 * 60_000 },
        { timerId: "later", inMs: 20 * hourMs },
      ])
      await using opened = await openConsole(browser(), service, "timers")
      const { page } = opened
      const strip = page.getByRole("img", { name: /^Timers that are due between/ })
      await page.getByText("2 in this chart").waitFor()
      const box = await strip.boundingBox()
      if (box === null) throw new Error("the strip is not visible")
      await page.mouse.move(box.x + box.width * 0.7, box.y + 20)
      await page.mouse.down()
      await page.mouse.move(box.x + box.width - 2, box.y + 20, { steps: 4 })
      await page.mouse.up()
      await page.waitForURL(/from=.*until=/)
      await rows(page).getByText("soon").waitFor({ state: "detached" })
      expect(await rows(page).allInnerTexts()).toEqual(["shop / later"])
      await page.getByRole("button", { name: "Clear the selection" }).click()
      await rows(page).getByText("soon").waitFor()
      await page.getByRole("button", { name: "1h", exact: true }).click()
      await page.getByText("1 in this chart").waitFor()
      // A chart without timers leads to the next one.
      const away = Date.now() - 50 * hourMs
      await page.goto(`${service.url}/console/timers?strip=${away}-${away + hourMs}`)
      await page.getByRole("button", { name: "Outside of this chart: show the next one" }).click()
      await page.getByText("2 in this chart").waitFor()
      const [narrow] = [page.url()]
      await page.mouse.move(box.x + 100, box.y + 20)
      await page.mouse.wheel(0, 300)
      await eventually("a zoom", () => (page.url() === narrow ? undefined : true))
      // The buttons keep now in view.
      await page.goto(`${service.url}/console/timers`)
      await page.getByText("2 in this chart").waitFor()
      for (let zoom = 0; zoom < 3; zoom++) await page.getByRole("button", { name: "Zoom in" }).click()
      await page.getByText("1 in this chart").waitFor()
      await page.locator(".strip-now").waitFor()
      expect(await opened.troubles()).toEqual([])
    }))

  test("a usual span is also that of the strip, and one of its bars narrows it further", () =>
    withConsole({ clockStartMs: Date.parse("2030-01-02T10:00:00Z") }, async (service) => {
      const at = (timerId: string, executeAt: string) => ({
        namespace: "shop",
        timerId,
        executeAt,
        callbackUrl: "http://h/",
      })
      await service.call("createMany", {
        timers: [
          at("wednesday", "2030-01-02T12:00:00Z"),
          at("morning", "2030-01-07T09:00:00Z"),
          at("evening", "2030-01-07T20:00:00Z"),
        ],
      })
      const view = { width: 1440, theme: "light", zone: "UTC" } as const
      await using opened = await openConsole(browser(), service, "timers", view)
      const { page } = opened
      await rows(page).nth(2).waitFor()
      await page.getByRole("button", { name: "Any time" }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Monday" }).click()
      const chosen = page.getByRole("button", { name: "Due: Mon 2030-01-07, whole day" })
      await chosen.click()
      // The fields have one whole day, so that times alone narrow it.
      expect(await page.getByLabel("Until, date").inputValue()).toBe("2030-01-07")
      expect(await page.getByLabel("Until, time").inputValue()).toBe("")
      await page.keyboard.press("Escape")
      await untilNoDialog(page)
      await page.getByText("2 in this chart").waitFor()
      await rows(page).nth(2).waitFor({ state: "detached" })
      const box = await page.getByRole("img", { name: /^Timers that are due between/ }).boundingBox()
      if (box === null) throw new Error("the strip is not visible")
      await page.mouse.move(box.x + box.width * 0.3, box.y + 20)
      await page.mouse.down()
      await page.mouse.move(box.x + box.width * 0.45, box.y + 20, { steps: 4 })
      await page.mouse.up()
      await rows(page).getByText("evening").waitFor({ state: "detached" })
      expect(await rows(page).allInnerTexts()).toEqual(["shop / morning"])
      expect(await opened.troubles()).toEqual([])
    }))

  test("Enter leads from the search to the first row, and no match leads to other states", () =>
    withConsole({}, async (service) => {
      await create(service, [{ timerId: "one" }, { namespace: "crm", timerId: "two" }])
      await service.call("delete", { namespace: "crm", timerId: "two" })
      await using opened = await openConsole(browser(), service, "timers")
      const { page } = opened
      await rows(page).first().waitFor()
      await page.keyboard.press("/")
      await typeInto(search(page), "two")
      await page.keyboard.press("Enter")
      await page.getByText("Only pending timers were searched.").waitFor()
      await page.getByRole("button", { name: "Look in dead letters, too" }).click()
      await page.waitForURL(/state%3Adead/)
      await page.goto(`${service.url}/console/timers?q=namespace:crm+two`)
      await page.getByRole("button", { name: "Look in all states" }).click()
      await rows(page).getByText("two").waitFor()
      await search(page).press("Enter")
      await untilFocused(rows(page).first())
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: "Cancelled" }).waitFor()
      expect(await opened.troubles()).toEqual([])
    }))

  test("a span can be chosen by keyboard, in the zone of the page", () =>
    withConsole({}, async (service) => {
      await create(service, [{ timerId: "one" }])
      await using opened = await browser().open(`${service.url}/console/timers`, {
        width: 1440,
        theme: "light",
        zone: "America/New_York",
      })
      const { page } = opened
      await rows(page).first().waitFor()
      await page.keyboard.press("z")
      await page.getByRole("searchbox", { name: "Search a time zone" }).fill("Berlin")
      await page.keyboard.press("Enter")
      await page.getByRole("button", { name: "Berlin" }).waitFor()
      await page.getByRole("button", { name: "Any time" }).press("Enter")
      await page.getByLabel("From, date").fill("2026-07-06")
      // Enter in a field applies the span, and an error moves nothing.
      const time = page.getByLabel("From, time")
      const before = await page.getByLabel("Until, date").boundingBox()
      await time.fill("9:x")
      await page.getByText("A time is one such as 6, 6:30, 0630").waitFor()
      expect(await page.getByLabel("Until, date").boundingBox()).toEqual(before)
      await time.fill("0900")
      await time.press("Enter")
      await page.waitForURL(/from=2026-07-06T07%3A00%3A00.000Z/)
      await untilNoDialog(page)
      await page.getByRole("button", { name: "Due: Mon 06 Jul 09:00" }).waitFor()
    }))

  test("j, k and Enter walk through the rows, and p stops live updates", () =>
    withConsole({}, async (service) => {
      await create(service, [{ timerId: "a" }, { timerId: "b", inMs: 2 * hourMs }])
      await using opened = await openConsole(browser(), service, "timers")
      const { page } = opened
      await rows(page).first().waitFor()
      await page.keyboard.press("p")
      await page.getByRole("button", { name: "Updates stopped" }).waitFor()
      for (const key of ["j", "j", "k", "j", "Enter"]) await page.keyboard.press(key)
      await page.waitForURL(/timer\?namespace=shop&id=b/)
      await page.keyboard.press("?")
      const help = page.getByRole("dialog", { name: "Help" })
      await help.getByText("Pending: an attempt failed, and another will follow.").waitFor()
      await help.getByText("correlation:").waitFor()
      expect(await opened.inaccessible()).toEqual([])
      await page.keyboard.press("Escape")
      await untilNoDialog(page)
      await page.keyboard.press("2")
      await page.getByRole("heading", { name: "Dead letters", exact: true }).waitFor()
    }))

  test("exports every timer of the list as CSV and as JSON", () =>
    withConsole({}, async (service) => {
      await create(service, many(1_000))
      await create(service, [{ timerId: "=cmd|' /C calc'!A0", inMs: 10 * hourMs }])
      await using opened = await openConsole(browser(), service, "timers")
      const { page } = opened
      const exported = async (label: string) => {
        await page.getByRole("button", { name: "Export" }).click()
        const [download] = await Promise.all([
          page.waitForEvent("download"),
          page.getByRole("menuitem", { name: label }).click(),
        ])
        return readFileSync(await download.path(), "utf8")
      }
      const lines = (await exported("Export as CSV")).trimEnd().split("\r\n")
      expect(lines.length).toBe(1_002)
      expect(lines[0]).toStartWith("namespace,timerId,state,")
      expect(lines.at(-1)).toStartWith("shop,'=cmd|' /C calc'!A0,")
      expect(JSON.parse(await exported("Export as JSON")).length).toBe(1_001)
    }))

  test("nothing is out of sight or inaccessible, at all widths and in both themes", () =>
    withConsole({}, async (service) => {
      await create(service, [
        ...many(30),
        { timerId: "x".repeat(255), tags: ["a".repeat(64), "b".repeat(64)] },
      ])
      for (const view of views) {
        await using opened = await openConsole(browser(), service, "timers?q=namespace:shop", view)
        await rows(opened.page).first().waitFor()
        await opened.page.getByText("31 in this chart").waitFor()
        expect([view, await opened.overflowPixels()]).toEqual([view, 0])
        expect([view, await opened.inaccessible()]).toEqual([view, []])
        expect(await opened.troubles()).toEqual([])
      }
    }))

  test("on a phone a row shows id, state, due time with its clock, and target", () =>
    withConsole({}, async (service) => {
      await create(service, [{ timerId: "a", inMs: 10 * hourMs, callbackUrl: "http://hook.test/x" }])
      await using opened = await openConsole(browser(), service, "timers", phone)
      const row = opened.page.getByRole("row").filter({ hasText: "shop / a" })
      for (const text of ["pending", /^in 9 h/, "hook.test"]) await row.getByText(text).waitFor()
      await row.locator(".moment-exact").waitFor()
    }))
})
