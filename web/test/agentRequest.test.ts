// The page Request: the form, its checks, its draft, and the answer that appears beside it.
import { expect, setDefaultTimeout, test } from "bun:test"
import type { Page } from "playwright-core"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { eventually } from "../../server/testkit/eventually.ts"
import { openAgent, withAgent } from "./AgentFixture.ts"
import { phone, views } from "./ConsoleFixture.ts"
import { whenStreaming, withLiveAgent } from "./LiveCalls.ts"

setDefaultTimeout(240_000)

const field = (page: Page, label: string) => page.getByLabel(label, { exact: true })
const answer = (page: Page) => page.getByRole("region", { name: "Answer" })
const send = (page: Page) => page.getByRole("button", { name: "Send now" })

/** The id of the call that the page has submitted. */
const shownId = (page: Page): Promise<string> =>
  eventually("a submission", () => new URL(page.url()).searchParams.get("shown") ?? undefined)

describeBrowser("the page Request", (browser) => {
  test("sends a request, and its answer appears beside it as it comes", () =>
    withLiveAgent(async (agent) => {
      await using opened = await openAgent(browser(), agent, "request")
      const { page } = opened
      const { target } = agent.agent
      const url = `${target.url}/hold-invoices?n=1`
      await answer(page).getByText("Its answer appears here.").waitFor()
      await field(page, "Method").selectOption("POST")
      await field(page, "URL").fill(url)
      await field(page, "Name").fill("Send invoice 1")
      await field(page, "Name of header 1").fill("x-team")
      await field(page, "Value of header 1").fill("billing")
      // There is always an empty row at the end.
      await field(page, "Name of header 2").waitFor()
      await field(page, "Body").fill('{"n": 12345678901234567890}')
      await field(page, "Tags").fill("vip,eu,")
      await whenStreaming(agent)
      await send(page).click()
      const id = await shownId(page)
      await answer(page).getByText("The request is on its way").waitFor()
      const { body } = await agent.agent.send("GET", `/api/v1/tenants/shop/service-calls/${id}`)
      expect(body.call).toMatchObject({ name: "Send invoice 1", tags: ["vip", "eu"] })
      await agent.calls.answer(201)
      expect(target.received("/hold-invoices?n=1")).toMatchObject({
        method: "POST",
        headers: { "x-team": "billing", "content-type": "application/json" },
        body: '{"n": 12345678901234567890}',
      })
      await answer(page).getByText("It succeeded with 201").waitFor()
      await answer(page).getByText("Succeeded").first().waitFor()
      await answer(page).getByText("ok", { exact: true }).waitFor()
      await answer(page)
        .getByText(/headers$/)
        .click()
      await answer(page).getByText("x-customer-token").waitFor()
      // The answer survives a reload, and so does the draft.
      await page.reload()
      await answer(page).getByText("It succeeded with 201").waitFor()
      expect(await field(page, "URL").inputValue()).toBe(url)
      await answer(page).getByRole("button", { name: "Run again" }).click()
      await page.waitForURL((url) => url.searchParams.get("shown") !== id)
      await agent.calls.answer()
      await answer(page).getByText("It succeeded with 200").waitFor()
      await answer(page).getByRole("link", { name: "Open the call" }).click()
      await page.getByRole("heading", { name: "Send invoice 1", level: 1 }).waitFor()
      expect(await opened.troubles()).toEqual([])
    }))

  test("on a phone the answer comes into sight", () =>
    withAgent(async (agent) => {
      await using opened = await openAgent(browser(), agent, "request", phone)
      const { page } = opened
      await field(page, "URL").fill("https://api.test/x")
      await send(page).click()
      await answer(page).getByText("It was accepted").waitFor()
      await eventually("the answer in sight", async () => {
        const box = await answer(page).boundingBox()
        return box !== null && box.y >= 0 && box.y < 844 ? true : undefined
      })
    }))

  test("schedules in a while, or at a time in a zone that it shows", () =>
    withLiveAgent(async (agent) => {
      await using opened = await openAgent(browser(), agent, "request", {
        width: 1440,
        theme: "light",
        zone: "America/New_York",
      })
      const { page } = opened
      await field(page, "URL").fill(`${agent.agent.target.url}/x`)
      await page.getByRole("radio", { name: "At a time" }).check()
      await page.getByRole("button", { name: "Time zone: America/New_York" }).click()
      await page.getByRole("searchbox", { name: "Search a time zone" }).fill("Berlin")
      await page.keyboard.press("Enter")
      await page.getByRole("button", { name: "Time zone: Europe/Berlin" }).waitFor()
      await field(page, "Day").fill("2031-07-01")
      await field(page, "Time").fill("09:00")
      await page.getByText("1 July 2031, 09:00:00 Europe/Berlin").waitFor()
      await page.getByRole("button", { name: "Schedule" }).click()
      const dueAtOf = async (id: string): Promise<number> => {
        const { body } = await agent.agent.send("GET", `/api/v1/tenants/shop/service-calls/${id}`)
        return Date.parse(body.call.dueAt)
      }
      expect(await dueAtOf(await shownId(page))).toBe(Date.parse("2031-07-01T07:00:00Z"))
      await answer(page).getByText("Scheduled").waitFor()
      await answer(page).getByRole("button", { name: "Cancel" }).click()
      await answer(page).getByText("It was cancelled").waitFor()
      await page.getByRole("radio", { name: "In a while" }).check()
      await page.getByRole("button", { name: "1h", exact: true }).click()
      const before = page.url()
      const sentMs = Date.now()
      await page.keyboard.press("Control+Enter")
      await page.waitForURL((url) => url.href !== before)
      const dueAt = await dueAtOf(await shownId(page))
      expect(dueAt).toBeGreaterThanOrEqual(sentMs + 3_600_000)
      expect(dueAt).toBeLessThanOrEqual(Date.now() + 3_600_000)
      expect(await opened.troubles()).toEqual([])
    }))

  test("marks mistakes in the JSON in their line, lays it out, and takes plain text too", () =>
    withAgent(async (agent) => {
      await using opened = await openAgent(browser(), agent, "request")
      const { page } = opened
      await page.getByText("GET requests have no body.").waitFor()
      await field(page, "Method").selectOption("PUT")
      await field(page, "URL").fill("https://api.test/x")
      await field(page, "Body").fill('{\n  "a": 1,\n  b: 2\n}')
      await page.getByText("Line 3, column 3:").waitFor()
      expect(await page.locator(".editor-fault").first().innerText()).toStartWith("b")
      expect(await page.getByRole("button", { name: "Format" }).isDisabled()).toBe(true)
      await send(page).click()
      await eventually("the focus at the mistake", async () =>
        (await page.evaluate("document.activeElement.tagName")) === "TEXTAREA" ? true : undefined,
      )
      expect(agent.calls.submitted).toBeUndefined()
      await field(page, "Body").fill('{"a":1.10,"b":[]}')
      await page.getByRole("button", { name: "Format" }).click()
      expect(await field(page, "Body").inputValue()).toBe('{\n  "a": 1.10,\n  "b": []\n}')
      await page.getByRole("button", { name: "Text", exact: true }).click()
      await field(page, "Body").fill("plain, not JSON")
      await send(page).click()
      await shownId(page)
      expect(agent.calls.submitted?.request.body).toBe("plain, not JSON")
      expect(await opened.troubles()).toEqual([])
    }))

  test("shows what is wrong beside its field, from the page and from the service", () =>
    withAgent(async (agent) => {
      await using opened = await openAgent(browser(), agent, "request")
      const { page } = opened
      await send(page).click()
      await page.getByText("is required").waitFor()
      await field(page, "URL").fill("ftp://x")
      await page.getByText("must begin with http:// or https://").waitFor()
      await field(page, "URL").fill("https://user:pass@api.test/")
      await field(page, "Call id").fill("a~b")
      await field(page, "Name of header 1").fill("host")
      await field(page, "Value of header 1").fill("x")
      await send(page).click()
      await page.getByText("The service did not accept the request.").waitFor()
      await page.getByText("host cannot be set").waitFor()
      await field(page, "Name of header 1").fill("x-host")
      await page.getByText("The service did not accept the request.").waitFor({ state: "detached" })
      expect(agent.calls.submitted).toBeUndefined()
    }))

  test("a repeat after a lost answer makes no second call", () =>
    withLiveAgent(async (agent) => {
      await using opened = await openAgent(browser(), agent, "request")
      const { page } = opened
      await field(page, "URL").fill(`${agent.agent.target.url}/x`)
      await page.route("**/service-calls", async (route) => {
        // The service gets the request, and its answer is lost.
        await route.fetch()
        await route.abort()
      })
      await send(page).click()
      await page.getByText("it is not known whether the call was submitted").waitFor()
      await page.unroute("**/service-calls")
      await send(page).click()
      await shownId(page)
      await answer(page).getByText("It succeeded with 200").waitFor()
      expect(agent.agent.target.times("/x")).toBe(1)
      const { body } = await agent.agent.send("GET", "/api/v1/tenants/shop/service-calls")
      expect(body.calls.length).toBe(1)
    }))

  test("edits and runs another call, and wants secrets again", () =>
    withLiveAgent(async (agent) => {
      const { target } = agent.agent
      await agent.calls.submit({
        serviceCallId: "a",
        name: "Old",
        tags: ["vip"],
        request: {
          method: "POST",
          url: `${target.url}/x?y=1`,
          headers: { authorization: "Bearer old", "x-team": "a" },
          body: '{"n":1}',
        },
      })
      await using opened = await openAgent(browser(), agent, "call?id=a")
      const { page } = opened
      await page.getByRole("link", { name: "Edit and run" }).click()
      await eventually("the request of the call", async () =>
        (await field(page, "URL").inputValue()) === `${target.url}/x?y=1` ? true : undefined,
      )
      await field(page, "URL").fill(`${target.url}/changed`)
      await send(page).click()
      await page.getByText("Type the value of authorization again").waitFor()
      await field(page, "Value of header 1").fill("Bearer new")
      await send(page).click()
      const { body } = await agent.agent.send(
        "GET",
        `/api/v1/tenants/shop/service-calls/${await shownId(page)}`,
      )
      expect(body.call).toMatchObject({ name: "Old", tags: ["vip"] })
      await answer(page).getByText("It succeeded with 200").waitFor()
      expect(target.received("/changed")).toMatchObject({
        headers: { authorization: "Bearer new", "x-team": "a" },
        body: '{"n":1}',
      })
      // The draft is the reader's: a reload brings neither the old request nor the secret back.
      await page.reload()
      await eventually("the draft", async () =>
        (await field(page, "URL").inputValue()) === `${target.url}/changed` ? true : undefined,
      )
      expect(await page.evaluate("JSON.stringify([...Object.values(sessionStorage)])")).not.toContain(
        "Bearer new",
      )
      await page.getByRole("button", { name: "Clear" }).click()
      expect(await field(page, "URL").inputValue()).toBe("")
    }))

  test("copies the request and its submission as curl", () =>
    withAgent(async (agent) => {
      await using opened = await openAgent(browser(), agent, "request")
      const { page } = opened
      await field(page, "Method").selectOption("POST")
      await field(page, "URL").fill("https://api.test/x")
      await field(page, "Body").fill('{"it":"\'s"}')
      const copied = async (label: string) => {
        await page.getByRole("button", { name: "Copy as curl" }).click()
        await page.getByRole("menuitem", { name: label }).click()
        return eventually("the copy", async () => {
          const text = String(await page.evaluate("navigator.clipboard.readText()"))
          return text.includes(label === "The request itself" ? "-X POST" : "service-calls")
            ? text
            : undefined
        })
      }
      expect(await copied("The request itself")).toContain("https://api.test/x")
      const submission = await copied("The submission to the agent")
      expect(submission).toContain(`${agent.url}/api/v1/tenants/shop/service-calls`)
      expect(submission).toContain(`{"it":"'\\''s"}`)
    }))

  test("is accessible and fits, with mistakes too, at all widths and in both themes", () =>
    withAgent(async (agent) => {
      await agent.calls.submit({ serviceCallId: "a", name: "Old" })
      agent.calls.run("a")
      agent.calls.succeed("a")
      for (const view of views) {
        await using opened = await openAgent(browser(), agent, "request?shown=a", view)
        const { page } = opened
        await answer(page).getByText("It succeeded with 200").waitFor()
        await field(page, "Method").selectOption("POST")
        await field(page, "Body").fill(`{"long": "${"x".repeat(400)}", }`)
        await page.getByRole("radio", { name: "At a time" }).check()
        await page.getByText("Line 1, column").waitFor()
        await send(page)
          .or(page.getByRole("button", { name: "Schedule" }))
          .click()
        await page.getByText("is required").first().waitFor()
        expect([view, await opened.overflowPixels()]).toEqual([view, 0])
        expect([view, await opened.inaccessible()]).toEqual([view, []])
        expect(await opened.troubles()).toEqual([])
      }
    }))
})
