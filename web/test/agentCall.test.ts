// The page of one call: timeline, request, answer, messages, and what the reader can do with it.
import { expect, setDefaultTimeout, test } from "bun:test"
import type { Page } from "playwright-core"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { openAgent, withAgent } from "./AgentFixture.ts"
import { views } from "./ConsoleFixture.ts"
import { type LiveRun, whenStreaming, withLiveAgent } from "./LiveCalls.ts"
import { StagedCalls } from "./StagedCalls.ts"

setDefaultTimeout(240_000)

const hourMs = 3_600_000

const card = (page: Page, name: string) => page.getByRole("region", { name, exact: true })
const headed = (page: Page, name: string | RegExp) => page.getByRole("heading", { name })

/** A clock that the test moves, from an hour ago. */
const stagedClock = () => {
  const clock = { atMs: Date.now() - hourMs }
  return { clock, calls: new StagedCalls(() => clock.atMs) }
}

const invoice = {
  serviceCallId: "invoice-1",
  name: "Send invoice 1",
  tags: ["vip"],
  request: {
    method: "POST",
    url: "https://api.test/invoices?n=1",
    headers: { authorization: "[redacted]", "x-team": "a" },
    body: '{"n":12345678901234567890}',
  },
}

/** The same call to the service of the test, with a real secret. */
const liveInvoice = ({ agent }: LiveRun) => ({
  ...invoice,
  request: {
    ...invoice.request,
    url: `${agent.target.url}/invoices?n=1`,
    headers: { authorization: "Bearer secret", "x-team": "a" },
  },
})

describeBrowser("the page of a call", (browser) => {
  test("shows its timeline with the lateness, its request, its answer and its messages", () => {
    const { clock, calls } = stagedClock()
    return withAgent(
      async (agent) => {
        await calls.submit({ ...invoice, inMs: 60_000 })
        clock.atMs += 60_250
        calls.run("invoice-1")
        clock.atMs += 100
        calls.succeed("invoice-1", {
          status: 201,
          headers: { location: "/invoices/1" },
          bodySnippet: '{"big":98765432109876543210}',
          isCut: true,
        })
        await using opened = await openAgent(browser(), agent, "call?id=invoice-1")
        const { page } = opened
        await headed(page, "It succeeded with 201").waitFor()
        await page.getByText("The request was sent 250 ms after its due time.").first().waitFor()
        expect(await card(page, "Timeline").locator("strong").allInnerTexts()).toEqual([
          "Submitted",
          "Scheduled",
          "Due",
          "The due time was reached",
          "Succeeded",
        ])
        await card(page, "Timeline").getByText("Lateness 250 ms").waitFor()
        await card(page, "Timeline").getByText("+ 1 m").waitFor()
        const request = card(page, "Request")
        for (const text of ["POST", "https://api.test/invoices?n=1", "[redacted]", "12345678901234567890"]) {
          await request.getByText(text).first().waitFor()
        }
        const answer = card(page, "Answer")
        for (const text of ["201", "121 ms", "98765432109876543210", "The answer was longer"]) {
          await answer.getByText(text).first().waitFor()
        }
        await answer.getByText("1 header").click()
        await answer.getByText("/invoices/1").waitFor()
        const messages = card(page, "Messages").getByRole("row")
        expect(await messages.count()).toBe(4)
        expect(await messages.nth(3).innerText()).toMatch(/ExecutionSucceeded.*DueTimeReached/s)
        await card(page, "Details").getByRole("link", { name: "vip" }).click()
        await page.waitForURL(/calls\?tenant=shop&tag=vip/)
        expect(await opened.troubles()).toEqual([])
      },
      {},
      calls,
    )
  })

  test("follows the call while it runs, without a reload", () =>
    withLiveAgent(async (agent) => {
      const { calls } = agent
      const held = { url: `${agent.agent.target.url}/hold-fail` }
      await calls.submit({ serviceCallId: "a", inMs: hourMs, request: held })
      await using opened = await openAgent(browser(), agent, "call?id=a")
      const { page } = opened
      await headed(page, /^It is due in/).waitFor()
      await whenStreaming(agent)
      await calls.run("a")
      await headed(page, "The request is on its way").waitFor()
      await calls.answer(503)
      await headed(page, "The service answered with an error").waitFor()
      await card(page, "Answer").getByText("ok", { exact: true }).waitFor()
      // The values of secret headers of a real answer are not shown.
      await card(page, "Answer")
        .getByText(/headers$/)
        .click()
      await card(page, "Answer").getByText("set-cookie").waitFor()
      expect(await card(page, "Answer").innerText()).not.toContain("secret-cookie")
      expect(await opened.troubles()).toEqual([])
    }))

  test("cancels after a question, and says why if it is too late", () =>
    withLiveAgent(async (agent) => {
      await agent.calls.submit({ serviceCallId: "a", inMs: hourMs })
      await using opened = await openAgent(browser(), agent, "call?id=a")
      const { page } = opened
      await page.getByRole("button", { name: "Cancel", exact: true }).click()
      const dialog = page.getByRole("dialog", { name: "Cancel this call?" })
      await dialog.getByRole("button", { name: "Close" }).last().click()
      await dialog.waitFor({ state: "detached" })
      await page.getByRole("button", { name: "Cancel", exact: true }).click()
      await dialog.getByRole("button", { name: "Cancel the call" }).click()
      await headed(page, "It was cancelled").waitFor()
      expect(await page.getByRole("button", { name: "Cancel", exact: true }).count()).toBe(0)
      const held = { url: `${agent.agent.target.url}/hold` }
      await agent.calls.submit({ serviceCallId: "b", inMs: hourMs, request: held })
      await page.goto(`${agent.url}/call?tenant=shop&id=b`)
      await page.getByRole("button", { name: "Cancel", exact: true }).click()
      await dialog.waitFor()
      await agent.calls.run("b")
      await page.getByRole("heading", { name: "The request is on its way", includeHidden: true }).waitFor()
      // The dialog stays, although the page behind it has changed.
      await dialog.getByRole("button", { name: "Cancel the call" }).click()
      await dialog.getByText("The call is Running.").waitFor()
    }))

  test("moves a scheduled call to a time in a zone, or by a delay", () =>
    withLiveAgent(async (agent) => {
      await agent.calls.submit({ serviceCallId: "a", inMs: hourMs })
      await using opened = await openAgent(browser(), agent, "call?id=a", {
        width: 1440,
        theme: "light",
        zone: "Europe/Berlin",
      })
      const { page } = opened
      await page.getByRole("button", { name: "Reschedule" }).click()
      const dialog = page.getByRole("dialog", { name: "Reschedule" })
      await dialog.getByLabel("Day").fill("2031-07-01")
      await dialog.getByLabel("Time", { exact: true }).fill("09:00")
      await dialog.getByText("Tuesday").or(dialog.getByText("1 July 2031")).first().waitFor()
      await dialog.getByRole("button", { name: "Reschedule" }).click()
      await dialog.waitFor({ state: "detached" })
      await card(page, "Details").getByText("2031-07-01 09:00:00 +02:00").waitFor()
      await page.getByRole("button", { name: "Reschedule" }).click()
      await dialog.getByRole("radio", { name: "In a while" }).check()
      await dialog.getByLabel("Delay").fill("nonsense")
      expect(await dialog.getByRole("button", { name: "Reschedule" }).isDisabled()).toBe(true)
      await dialog.getByLabel("Delay").fill("3h")
      await dialog.getByRole("button", { name: "Reschedule" }).click()
      await dialog.waitFor({ state: "detached" })
      await headed(page, /^It is due in (3 h|2 h 5)/).waitFor()
      expect(await opened.troubles()).toEqual([])
    }))

  test("runs a call again as a new call, and copies it as curl", () =>
    withLiveAgent(async (agent) => {
      await agent.calls.submit(liveInvoice(agent))
      await using opened = await openAgent(browser(), agent, "call?id=invoice-1")
      const { page } = opened
      await page.getByRole("button", { name: "More" }).click()
      await page.getByRole("menuitem", { name: "Copy as curl" }).click()
      await page.getByText("Copied as curl.").waitFor()
      expect(await page.evaluate("navigator.clipboard.readText()")).toContain(
        `--data-raw '{"n":12345678901234567890}'`,
      )
      await page.getByRole("button", { name: "Run again" }).click()
      await page.waitForURL((url) => !url.href.includes("invoice-1"))
      await headed(page, "It succeeded with 200").waitFor()
      const { target } = agent.agent
      expect(target.times("/invoices?n=1")).toBe(2)
      // The secret is not shown, and is sent again all the same.
      expect(await card(page, "Request").innerText()).not.toContain("Bearer secret")
      expect(target.received("/invoices?n=1")?.headers.authorization).toBe("Bearer secret")
      await page.goBack()
      await page.waitForURL(/id=invoice-1/)
      await headed(page, "It succeeded with 200").waitFor()
      expect(await opened.troubles()).toEqual([])
    }))

  test("changes name, tags and star", () =>
    withLiveAgent(async (agent) => {
      await agent.calls.submit({ ...liveInvoice(agent), inMs: hourMs })
      await using opened = await openAgent(browser(), agent, "call?id=invoice-1")
      const { page } = opened
      await page.getByRole("button", { name: "Star Send invoice 1" }).click()
      await page.getByRole("button", { name: "Remove the star of Send invoice 1" }).waitFor()
      await page.getByRole("button", { name: "More" }).click()
      await page.getByRole("menuitem", { name: "Name and tags …" }).click()
      const dialog = page.getByRole("dialog", { name: "Name and tags" })
      await dialog.getByLabel("Name").fill("")
      await dialog.getByRole("button", { name: "Save" }).click()
      await dialog.getByText("must be text of 1 to 200 bytes").waitFor()
      await dialog.getByLabel("Name").fill("Another name")
      await dialog.getByRole("button", { name: "Remove vip" }).click()
      await dialog.getByLabel("Tags").fill("urgent,")
      await dialog.getByRole("button", { name: "Save" }).click()
      await page.getByRole("heading", { name: "Another name", level: 1 }).waitFor()
      await card(page, "Details").getByRole("link", { name: "urgent" }).waitFor()
      expect(await card(page, "Details").getByRole("link", { name: "vip" }).count()).toBe(0)
    }))

  test("a call that does not exist, or belongs to another tenant, is not found", () =>
    withLiveAgent(async (agent) => {
      await agent.calls.submit({ serviceCallId: "theirs", tenantId: "billing" })
      for (const place of ["call?id=theirs", "call?id=", "call"]) {
        await using opened = await openAgent(browser(), agent, place)
        await opened.page.getByRole("heading", { name: "There is no such call" }).waitFor()
      }
    }))

  test("is accessible and fits, at all widths and in both themes", () =>
    withAgent(async (agent) => {
      await agent.calls.submit({ ...invoice, name: "n".repeat(200), serviceCallId: "x".repeat(240) })
      agent.calls.run("x".repeat(240))
      agent.calls.fail("x".repeat(240), {
        kind: "status",
        message: "e".repeat(300),
        response: {
          status: 500,
          headers: { "x-long": "v".repeat(300) },
          bodySnippet: "b".repeat(900),
          latencyMs: 3,
        },
      })
      for (const view of views) {
        await using opened = await openAgent(browser(), agent, `call?id=${"x".repeat(240)}`, view)
        await headed(opened.page, "The service answered with an error").waitFor()
        await card(opened.page, "Answer").getByText("1 header").click()
        expect([view, await opened.overflowPixels()]).toEqual([view, 0])
        expect([view, await opened.inaccessible()]).toEqual([view, []])
        expect(await opened.troubles()).toEqual([])
      }
    }))
})
