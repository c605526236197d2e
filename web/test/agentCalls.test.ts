// The page Calls of the agent: rows, filters, counts, live changes, changes of many calls, export, tenants.
import { expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync } from "node:fs"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { eventually } from "../../server/testkit/eventually.ts"
import { openAgent, withAgent } from "./AgentFixture.ts"
import { desktop, phone, views } from "./ConsoleFixture.ts"
import { type LiveRun, whenStreaming, withLiveAgent } from "./LiveCalls.ts"

setDefaultTimeout(240_000)

const hourMs = 3_600_000

const links = (page: Page) => page.getByRole("table", { name: "Calls" }).getByRole("link")
const row = (page: Page, name: string) => page.getByRole("row").filter({ hasText: name })
const count = (page: Page, status: string) =>
  page.getByRole("group", { name: "Filter by status" }).getByRole("button", { name: status })

/** One call of most statuses, the newest last. The service holds the request of the first one until it is told to answer. */
const stageSome = async ({ calls, agent }: LiveRun): Promise<void> => {
  const { url } = agent.target
  const later = { url: `${url}/hold-later` }
  await calls.submit({
    serviceCallId: "later",
    name: "Renew trial",
    inMs: hourMs,
    tags: ["trial"],
    request: later,
  })
  await calls.submit({ serviceCallId: "good", name: "Send invoice" })
  // The same service by another name.
  const failing = { method: "POST", url: `${url.replace("127.0.0.1", "localhost")}/fail` }
  await calls.submit({ serviceCallId: "bad", name: "Send reminder", request: failing })
}

const localhost = ({ agent }: LiveRun): string =>
  new URL(agent.target.url).host.replace("127.0.0.1", "localhost")

describeBrowser("the page Calls of the agent", (browser) => {
  test("a new tenant says how to make the first call, with its own address", () =>
    withLiveAgent(async (agent) => {
      await using opened = await openAgent(browser(), agent, "calls")
      await opened.page.getByText("There are no calls yet").waitFor()
      expect(await opened.page.locator(".command-line pre").innerText()).toContain(
        `${agent.url}/api/v1/tenants/shop/service-calls`,
      )
      // An empty list fills by itself.
      await agent.calls.submit({ name: "The first" })
      await opened.page.getByRole("link", { name: "The first" }).waitFor()
      expect(await opened.troubles()).toEqual([])
    }))

  test("shows what each call is and what became of it, and counts that filter", () =>
    withLiveAgent(async (agent) => {
      await stageSome(agent)
      await using opened = await openAgent(browser(), agent, "calls")
      const { page } = opened
      await links(page).first().waitFor()
      expect(await links(page).allInnerTexts()).toEqual(["Send reminder", "Send invoice", "Renew trial"])
      for (const text of ["Failed", "POST", localhost(agent), "bad", "503"]) {
        expect(await row(page, "Send reminder").innerText()).toContain(text)
      }
      for (const text of ["Succeeded", "200", "ms"]) {
        expect(await row(page, "Send invoice").innerText()).toContain(text)
      }
      expect(await count(page, "All").innerText()).toContain("3")
      await count(page, "Failed").click()
      await page.waitForURL(/status=Failed/)
      await links(page).getByText("Send invoice").waitFor({ state: "detached" })
      // The counts are those of all statuses, so that the reader can change the filter.
      expect(await count(page, "Succeeded").innerText()).toContain("1")
      await count(page, "Succeeded").click()
      await links(page).getByText("Send invoice").waitFor()
      expect(await links(page).allInnerTexts()).toEqual(["Send reminder", "Send invoice"])
      await page.goBack()
      await links(page).getByText("Send invoice").waitFor({ state: "detached" })
      await count(page, "All").click()
      await links(page).getByText("Renew trial").waitFor()
      expect(await opened.troubles()).toEqual([])
    }))

  test("filters by name, star, tag, method, host and due time, sorts, and the address holds it all", () =>
    withLiveAgent(async (agent) => {
      await stageSome(agent)
      await using opened = await openAgent(browser(), agent, "calls")
      const { page } = opened
      await links(page).first().waitFor()
      await page.keyboard.press("/")
      const search = page.getByRole("searchbox", { name: "Search calls by name" })
      await search.fill("SEND")
      await links(page).getByText("Renew trial").waitFor({ state: "detached" })
      await page.getByRole("button", { name: "Filter", exact: true }).click()
      const dialog = page.getByRole("dialog", { name: "Filter" })
      await dialog.getByLabel("Method").selectOption("POST")
      await dialog.getByLabel("Host").fill(localhost(agent))
      await dialog.getByRole("button", { name: "Show these calls" }).click()
      await links(page).getByText("Send invoice").waitFor({ state: "detached" })
      expect(page.url()).toMatch(/name=SEND.*method=POST.*host=localhost/)
      // The same address shows the same list to another reader.
      await using other = await browser().open(page.url(), desktop)
      await links(other.page).first().waitFor()
      expect(await links(other.page).allInnerTexts()).toEqual(["Send reminder"])
      for (const chip of ["method: POST", `host: ${localhost(agent)}`]) {
        await page.getByRole("button", { name: `Remove ${chip}` }).click()
      }
      await search.fill("")
      await links(page).getByText("Renew trial").waitFor()
      await page.getByRole("button", { name: "Due", exact: true }).click()
      await page.waitForURL(/sort=due/)
      await eventually("the order by due time", async () =>
        (await links(page).first().innerText()) === "Renew trial" ? true : undefined,
      )
      await page.getByRole("button", { name: "Due", exact: true }).click()
      await page.waitForURL(/order=asc/)
      await eventually("the other order", async () =>
        (await links(page).last().innerText()) === "Renew trial" ? true : undefined,
      )
      await page.goto(
        `${agent.url}/calls?tenant=shop&until=${new Date(Date.now() + hourMs / 2).toISOString()}`,
      )
      await links(page).first().waitFor()
      expect(await links(page).allInnerTexts()).toEqual(["Send reminder", "Send invoice"])
      expect(await opened.troubles()).toEqual([])
    }))

  test("rows change in place, new calls wait behind a button, and nothing moves", () =>
    withLiveAgent(async (agent) => {
      await stageSome(agent)
      await using opened = await openAgent(browser(), agent, "calls")
      const { page } = opened
      await links(page).first().waitFor()
      await whenStreaming(agent)
      await page.evaluate(`window.shift = 0
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) window.shift += entry.value
        }).observe({ type: "layout-shift", buffered: false })`)
      await agent.calls.run("later")
      await row(page, "Renew trial").getByText("Running").waitFor()
      await agent.calls.answer()
      await row(page, "Renew trial").getByText("Succeeded").waitFor()
      await agent.calls.submit({ name: "Another" })
      const fresh = page.getByRole("button", { name: "1 new call" })
      await fresh.waitFor()
      expect(await links(page).count()).toBe(3)
      await eventually("the counts", async () =>
        /4/.test(await count(page, "All").innerText()) ? true : undefined,
      )
      expect(await page.evaluate("window.shift")).toBe(0)
      await fresh.click()
      await links(page).getByText("Another").waitFor()
      expect(await links(page).first().innerText()).toBe("Another")
      expect(await opened.troubles()).toEqual([])
    }))

  test("while the reader pauses, nothing changes", () =>
    withLiveAgent(async (agent) => {
      await stageSome(agent)
      await using opened = await openAgent(browser(), agent, "calls")
      const { page } = opened
      await links(page).first().waitFor()
      await whenStreaming(agent)
      await page.keyboard.press("p")
      await page.getByRole("button", { name: "Updates stopped" }).waitFor()
      await eventually("the end of the stream", async () =>
        (await agent.readers()) === 0 ? true : undefined,
      )
      await agent.calls.run("later")
      await using other = await openAgent(browser(), agent, "calls")
      await row(other.page, "Renew trial").getByText("Running").waitFor()
      expect(await row(page, "Renew trial").innerText()).toContain("Scheduled")
      await page.keyboard.press("p")
      await row(page, "Renew trial").getByText("Running").waitFor()
    }))

  test("stars a call by mouse and by keyboard, and shows only the starred ones", () =>
    withLiveAgent(async (agent) => {
      await stageSome(agent)
      await using opened = await openAgent(browser(), agent, "calls")
      const { page } = opened
      await page.getByRole("button", { name: "Star Send invoice" }).click()
      await page.getByRole("button", { name: "Remove the star of Send invoice" }).waitFor()
      await page.locator("main").focus()
      for (const key of ["j", "k", "j", "j", "j"]) await page.keyboard.press(key)
      await page.locator(".call-row-at", { hasText: "Renew trial" }).waitFor()
      await page.keyboard.press("s")
      await page.getByRole("button", { name: "Remove the star of Renew trial" }).waitFor()
      await page.getByRole("button", { name: "Starred", exact: true }).click()
      await page.waitForURL(/starred=true/)
      await links(page).getByText("Send reminder").waitFor({ state: "detached" })
      expect(await links(page).allInnerTexts()).toEqual(["Send invoice", "Renew trial"])
      await page.locator("main").focus()
      await page.keyboard.press("j")
      await page.locator(".call-row-at").waitFor()
      await page.keyboard.press("Enter")
      await page.waitForURL(/call\?tenant=shop&id=/)
      expect(await opened.troubles()).toEqual([])
    }))

  test("loads further pages, and exports every call of the list", () =>
    withLiveAgent(async (agent) => {
      await agent.calls.submit({ serviceCallId: "c-0", name: "=1+1", inMs: hourMs })
      const { service } = agent.calls
      const request = { method: "GET", url: `${agent.agent.target.url}/orders` }
      const others = Array.from({ length: 229 }, (_, at) => `c-${at + 1}`)
      const dueAt = Date.now() + hourMs
      await Effect.runPromise(
        Effect.forEach(
          others,
          (id) => service.submit({ tenantId: "shop", serviceCallId: id, name: id, tags: [], request, dueAt }),
          { concurrency: 16 },
        ),
      )
      await using opened = await openAgent(browser(), agent, "calls")
      const { page } = opened
      await links(page).first().waitFor()
      await eventually("all rows", async () => {
        await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        return (await page.getByText("230 rows").count()) > 0 ? true : undefined
      })
      const exported = async (label: string) => {
        await page.getByRole("button", { name: "Export" }).click()
        const [download] = await Promise.all([
          page.waitForEvent("download"),
          page.getByRole("menuitem", { name: label }).click(),
        ])
        return readFileSync(await download.path(), "utf8")
      }
      const lines = (await exported("Export as CSV")).trimEnd().split("\r\n")
      expect(lines.length).toBe(231)
      expect(lines[0]).toStartWith("serviceCallId,name,status,")
      expect(lines.at(-1)).toStartWith("c-0,'=1+1,Scheduled,")
      expect(JSON.parse(await exported("Export as JSON")).length).toBe(230)
      expect(await opened.troubles()).toEqual([])
    }))

  test("cancels, tags and stars all calls of the list, after a preview", () =>
    withLiveAgent(async (agent) => {
      await stageSome(agent)
      await agent.calls.submit({ serviceCallId: "later-2", name: "Renew trial 2", inMs: 2 * hourMs })
      await using opened = await openAgent(browser(), agent, "calls")
      const { page } = opened
      await links(page).first().waitFor()
      const choose = async (label: string) => {
        await page.getByRole("button", { name: "Change all calls of the list" }).click()
        await page.getByRole("menuitem", { name: label, exact: true }).click()
      }
      await choose("Cancel all …")
      const cancel = page.getByRole("dialog", { name: "Cancel: 2 calls" })
      await cancel.getByText("with the status Submitted, Scheduled").waitFor()
      expect(await cancel.locator(".many-preview li > :first-child").allInnerTexts()).toEqual([
        "Renew trial 2",
        "Renew trial",
      ])
      await cancel.getByRole("button", { name: "Close" }).last().click()
      await cancel.waitFor({ state: "detached" })
      await choose("Cancel all …")
      await cancel.getByRole("button", { name: "Cancel", exact: true }).click()
      await cancel.getByText("Done. 2 calls cancelled.").waitFor()
      await cancel.getByRole("button", { name: "Close" }).last().click()
      await eventually("the count of cancelled calls", async () =>
        /2/.test(await count(page, "Cancelled").innerText()) ? true : undefined,
      )
      await choose("Add a tag to all …")
      const tag = page.getByRole("dialog", { name: "Add a tag: 4 calls" })
      await tag.getByLabel("Tag").fill("night")
      await tag.getByRole("button", { name: "Add a tag" }).click()
      await tag.getByText("Done. 4 calls tagged.").waitFor()
      await page.keyboard.press("Escape")
      await row(page, "Send invoice").getByText("night").waitFor()
      await choose("Star all …")
      const star = page.getByRole("dialog", { name: "Star: 4 calls" })
      await star.getByRole("button", { name: "Star", exact: true }).click()
      await star.getByText("Done. 4 calls starred.").waitFor()
      await star.getByRole("button", { name: "Close" }).last().click()
      await page.getByRole("button", { name: "Remove the star of Send invoice" }).waitFor()
      expect(await opened.troubles()).toEqual([])
    }))

  test("cancels, tags and stars the calls that the reader selected, and no others", () =>
    withLiveAgent(async (agent) => {
      await stageSome(agent)
      await agent.calls.submit({ serviceCallId: "later-2", name: "Close order", inMs: 2 * hourMs })
      await using opened = await openAgent(browser(), agent, "calls")
      const { page } = opened
      await links(page).first().waitFor()
      const bar = page.getByRole("region", { name: "Selected calls" })
      await page.getByRole("checkbox", { name: "Select Close order" }).check()
      await bar.getByText("1 selected").waitFor()
      // By keyboard: the rows are Close order, Send reminder, Send invoice, Renew trial.
      await page.locator("main").focus()
      for (const key of ["j", "j", "j"]) await page.keyboard.press(key)
      await page.locator(".call-row-at", { hasText: "Send invoice" }).waitFor()
      await page.keyboard.press("x")
      await bar.getByText("2 selected").waitFor()
      await bar.getByRole("button", { name: "Cancel", exact: true }).click()
      const cancel = page.getByRole("dialog", { name: "Cancel: 1 call" })
      await cancel.getByText("This concerns 1 of the 2 calls that you selected.").waitFor()
      expect(await cancel.locator(".many-preview li > :first-child").allInnerTexts()).toEqual(["Close order"])
      expect(await opened.inaccessible()).toEqual([])
      await cancel.getByRole("button", { name: "Cancel", exact: true }).click()
      await cancel.getByText("Done. 1 call cancelled.").waitFor()
      await cancel.getByRole("button", { name: "Close" }).last().click()
      await row(page, "Close order").getByText("Cancelled").waitFor()
      await row(page, "Renew trial").getByText("Scheduled").waitFor()
      await bar.waitFor({ state: "detached" })
      await page.getByRole("checkbox", { name: "Select all rows" }).check()
      await bar.getByText("4 selected").waitFor()
      await page.getByRole("checkbox", { name: "Select Renew trial" }).uncheck()
      await bar.getByRole("button", { name: "Tag" }).click()
      const tag = page.getByRole("dialog", { name: "Add a tag: 3 calls" })
      await tag.getByLabel("Tag").fill("night")
      await tag.getByRole("button", { name: "Add a tag" }).click()
      await tag.getByText("Done. 3 calls tagged.").waitFor()
      await page.keyboard.press("Escape")
      await row(page, "Send invoice").getByText("night").waitFor()
      expect(await row(page, "Renew trial").getByText("night").count()).toBe(0)
      await page.getByRole("checkbox", { name: "Select Send reminder" }).check()
      await bar.getByText("1 selected").waitFor()
      await page.keyboard.press("Escape")
      await bar.waitFor({ state: "detached" })
      expect(await opened.troubles()).toEqual([])
    }))

  test("if many more calls match than the preview showed, nothing is changed", () =>
    withLiveAgent(async (agent) => {
      await agent.calls.submit({ serviceCallId: "a", name: "One", inMs: hourMs })
      await using opened = await openAgent(browser(), agent, "calls")
      const { page } = opened
      await links(page).first().waitFor()
      await page.getByRole("button", { name: "Change all calls of the list" }).click()
      await page.getByRole("menuitem", { name: "Cancel all …" }).click()
      const dialog = page.getByRole("dialog", { name: "Cancel: 1 call" })
      await dialog.waitFor()
      for (const id of ["b", "c", "d"]) await agent.calls.submit({ serviceCallId: id, inMs: hourMs })
      await dialog.getByRole("button", { name: "Cancel", exact: true }).click()
      await dialog.getByText("look at the list again").waitFor()
      await page.keyboard.press("Escape")
      await row(page, "One").getByText("Scheduled").waitFor()
    }))

  test("changes the tenant, remembers it, and never shows calls of another", () =>
    withLiveAgent(async (agent) => {
      await agent.calls.submit({ name: "Of the shop" })
      await agent.calls.submit({ tenantId: "billing", name: "Of billing" })
      await using opened = await browser().open(`${agent.url}/`, desktop)
      const { page } = opened
      await page.getByRole("heading", { name: "Which tenant?" }).waitFor()
      // The list has the tenants that have calls.
      await page.getByRole("button", { name: "billing", exact: true }).waitFor()
      await page.getByLabel("Name of the tenant").fill("no blank allowed")
      await page.getByRole("button", { name: "Open" }).click()
      await page.getByText("must be 1 to 100 characters").waitFor()
      await page.getByLabel("Name of the tenant").fill("shop")
      await page.keyboard.press("Enter")
      await page.getByRole("link", { name: "Of the shop" }).waitFor()
      await page.keyboard.press("t")
      const dialog = page.getByRole("dialog", { name: "Tenant" })
      await dialog.getByLabel("Name of the tenant").fill("billing")
      await page.keyboard.press("Enter")
      await page.getByRole("link", { name: "Of billing" }).waitFor()
      expect(await page.getByRole("link", { name: "Of the shop" }).count()).toBe(0)
      await page.goto(`${agent.url}/`)
      await page.waitForURL(/tenant=billing/)
      await page.getByRole("link", { name: "Of billing" }).waitFor()
      expect(await opened.troubles()).toEqual([])
    }))

  test("no match, a filter that is not valid, and a failure are different screens", () =>
    withLiveAgent(async (agent) => {
      await agent.calls.submit({ name: "One" })
      await using opened = await openAgent(browser(), agent, "calls?name=nothing")
      const { page } = opened
      await page.getByText("No call matches the filter").waitFor()
      await page.getByRole("button", { name: "Clear the filter" }).click()
      await page.getByRole("link", { name: "One" }).waitFor()
      await page.goto(`${agent.url}/calls?tenant=shop&host=${encodeURIComponent("no host")}`)
      await page.getByText("The filter is not valid").waitFor()
      await page.getByText("must be a host such as").waitFor()
      const problem = { status: 500, code: "internal", detail: "The agent has a defect." }
      await page.route("**/service-calls*", (route) =>
        route.fulfill({
          status: 500,
          contentType: "application/problem+json",
          body: JSON.stringify(problem),
        }),
      )
      await page.goto(`${agent.url}/calls?tenant=shop`)
      await page.getByText("The calls could not be loaded").waitFor()
      await page.unroute("**/service-calls*")
      await page.getByRole("button", { name: "Try again" }).click()
      await page.getByRole("link", { name: "One" }).waitFor()
    }))

  test("failures without an answer are shown by their kind", () =>
    withAgent(async (agent) => {
      await agent.calls.submit({ serviceCallId: "slow", name: "Slow" })
      agent.calls.run("slow")
      agent.calls.fail("slow", { kind: "timeout", message: "no answer within 60 s", latencyMs: 60_000 })
      await using opened = await openAgent(browser(), agent, "calls")
      await row(opened.page, "Slow").getByText("time-out").waitFor()
      expect(await row(opened.page, "Slow").innerText()).toContain("1 m")
    }))

  test("nothing is out of sight or inaccessible, at all widths and in both themes", () =>
    withLiveAgent(async (agent) => {
      await stageSome(agent)
      await agent.calls.submit({
        serviceCallId: "x".repeat(240),
        name: "n".repeat(200),
        tags: ["a".repeat(64), "b".repeat(64)],
        request: { method: "OPTIONS", url: `http://${"h".repeat(60)}.test/${"p".repeat(300)}` },
        inMs: hourMs,
      })
      for (const view of views) {
        await using opened = await openAgent(browser(), agent, "calls?tag=%20&order=asc", view)
        await opened.page.getByText("No call matches the filter").waitFor()
        await opened.page.getByRole("button", { name: "Clear the filter" }).click()
        await links(opened.page).first().waitFor()
        await opened.page.getByRole("checkbox", { name: "Select Send invoice" }).check()
        await opened.page.getByRole("region", { name: "Selected calls" }).waitFor()
        expect([view, await opened.overflowPixels()]).toEqual([view, 0])
        expect([view, await opened.inaccessible()]).toEqual([view, []])
        expect(await opened.troubles()).toEqual([])
      }
    }))

  test("on a phone a row shows name, status, request and due time", () =>
    withLiveAgent(async (agent) => {
      await stageSome(agent)
      await using opened = await openAgent(browser(), agent, "calls", phone)
      await row(opened.page, "Renew trial").waitFor()
      for (const text of ["Scheduled", "GET", "127.0.0.1", "in "]) {
        expect(await row(opened.page, "Renew trial").innerText()).toContain(text)
      }
    }))
})
