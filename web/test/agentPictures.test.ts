// Takes a picture of every page of the agent, at the widths of a phone, a laptop and a large screen, in both themes. Some
// are in docs/agent. `PUNCTUAL_PICTURES=write npm test -- web/test/agentPictures` renews those.
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Page } from "playwright-core"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { openAgent, withAgent } from "./AgentFixture.ts"
import { views } from "./ConsoleFixture.ts"
import { StagedCalls } from "./StagedCalls.ts"

setDefaultTimeout(240_000)

const folder = fileURLToPath(new URL("../../docs/agent/pictures", import.meta.url))
const isWriting = process.env["PUNCTUAL_PICTURES"] === "write"
/** A folder for all pictures, to look at them. */
const allFolder = process.env["PUNCTUAL_ALL_PICTURES"]

const shownPages: ReadonlyArray<string> = ["calls", "call", "request"]

/** The pictures that the documents show. More would only make the repository larger. */
const isShown = (width: number, theme: string): boolean =>
  (width === 1600 && theme === "light") || (width === 390 && theme === "dark")

const minuteMs = 60_000
const hourMs = 60 * minuteMs

const names = ["Send invoice", "Remind customer", "Renew trial", "Close order", "Sync contact"]
const hosts = ["api.billing.example", "crm.example", "shop.example"]

/** A morning of a small company. `clock` is the time at which things happen. */
const stage = async (calls: StagedCalls, clock: { atMs: number }): Promise<void> => {
  const nowMs = clock.atMs
  const submit = (at: number, inMs: number | undefined) =>
    calls.submit({
      serviceCallId: `${names[at % names.length]?.split(" ")[1]}-${4_700 + at}`,
      name: `${names[at % names.length]} ${4_700 + at}`,
      tags: at % 4 === 0 ? ["month-end"] : at % 7 === 0 ? ["vip", "eu"] : [],
      request: {
        method: at % 3 === 0 ? "GET" : "POST",
        url: `https://${hosts[at % hosts.length]}/v1/${at % 2 === 0 ? "invoices" : "contacts/sync"}?n=${at}`,
      },
      ...(inMs === undefined ? {} : { inMs }),
    })
  for (let at = 0; at < 34; at++) {
    clock.atMs = nowMs - (34 - at) * 4 * minuteMs
    const id = await submit(at, at % 5 === 0 ? 2 * minuteMs : undefined)
    clock.atMs += at % 5 === 0 ? 2 * minuteMs + 4 : 6
    if (at % 11 === 5) continue
    calls.run(id)
    clock.atMs += 90 + ((at * 37) % 400)
    if (at % 9 === 4) {
      const response = {
        status: 503,
        headers: { "retry-after": "60", "content-type": "application/json" },
        bodySnippet: '{"error":"the ledger is in maintenance"}',
        latencyMs: 140 + at,
      }
      calls.fail(id, { kind: "status", message: "answered 503", latencyMs: 140 + at, response })
    } else if (at === 20) {
      calls.fail(id, { kind: "timeout", message: "no answer within 60 s", latencyMs: 60_000 })
    } else calls.succeed(id, { latencyMs: 90 + ((at * 37) % 400) })
    if (at % 6 === 1) calls.change(id, { isStarred: true })
  }
  for (let at = 0; at < 12; at++) {
    clock.atMs = nowMs - (12 - at) * 11 * minuteMs
    await submit(100 + at, (at + 4) * 47 * minuteMs)
  }
  clock.atMs = nowMs - 2_000
  const running = await submit(200, undefined)
  calls.run(running)
  clock.atMs = nowMs - 2 * hourMs
  await calls.submit({
    serviceCallId: "invoice-4711",
    name: "Send invoice 4711 to Ada Lovelace",
    tags: ["vip", "month-end"],
    inMs: hourMs,
    request: {
      method: "POST",
      url: "https://api.billing.example/v1/invoices?notify=true",
      headers: { authorization: "[redacted]", "x-team": "billing", "content-type": "application/json" },
      body: '{"invoice":4711,"customer":{"id":9007199254740993,"name":"Ada"},"lines":[{"sku":"A-1","n":2}]}',
    },
  })
  clock.atMs = nowMs - hourMs + 4
  calls.run("invoice-4711")
  clock.atMs += 132
  calls.succeed("invoice-4711", {
    status: 201,
    latencyMs: 121,
    headers: {
      "content-type": "application/json",
      location: "/v1/invoices/4711",
      "x-request-id": "7f3c1b",
      date: "Tue, 17 Nov 2026 09:00:00 GMT",
    },
    bodySnippet:
      '{"id":"inv_4711","state":"sent","total":{"amount":"129.00","currency":"EUR"},"mails":["ada@example.com"]}',
  })
  clock.atMs = nowMs
}

describeBrowser("pictures of the agent", (browser) => {
  /** Pictures of what the page shows now. */
  const take = async (page: Page, name: string): Promise<void> => {
    if (isWriting) mkdirSync(folder, { recursive: true })
    for (const { width, theme } of views) {
      await page.setViewportSize({ width, height: width < 500 ? 844 : 1000 })
      await page.emulateMedia({ colorScheme: theme })
      await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
      const picture = await page.screenshot({ animations: "disabled" })
      // A blank page is much smaller.
      expect([name, width, theme, picture.length > 12_000]).toEqual([name, width, theme, true])
      if (isWriting && shownPages.includes(name) && isShown(width, theme))
        writeFileSync(join(folder, `${name}-${width}-${theme}.png`), picture)
      if (allFolder !== undefined) writeFileSync(join(allFolder, `${name}-${width}-${theme}.png`), picture)
    }
  }

  test("of every page, in a tenant with a morning's work", async () => {
    const clock = { atMs: Date.now() }
    const calls = new StagedCalls(() => clock.atMs)
    await stage(calls, clock)
    await withAgent(
      async (agent) => {
        const view = { width: 1600, theme: "light", zone: "Europe/Berlin" } as const
        {
          await using opened = await openAgent(browser(), agent, "calls", view)
          await opened.page.getByRole("row").getByText("Running").waitFor()
          await take(opened.page, "calls")
          await opened.page.getByRole("checkbox", { name: "Select all rows" }).check()
          await opened.page.getByRole("region", { name: "Selected calls" }).waitFor()
          await take(opened.page, "calls-selected")
          await opened.page.keyboard.press("Escape")
          await opened.page.getByRole("region", { name: "Selected calls" }).waitFor({ state: "detached" })
          await opened.page.keyboard.press("t")
          await opened.page.getByRole("button", { name: "Settings of shop" }).waitFor()
          await take(opened.page, "tenant")
          await opened.page.getByRole("button", { name: "Settings of shop" }).click()
          await opened.page.getByLabel("Hidden headers").fill("x-customer-token,x-signature,")
          await take(opened.page, "settings")
        }
        {
          await using opened = await openAgent(browser(), agent, "call?id=invoice-4711", view)
          await opened.page.getByText("It succeeded with 201").waitFor()
          await take(opened.page, "call")
        }
        await using opened = await openAgent(
          browser(),
          agent,
          "request?from=invoice-4711&shown=invoice-4711",
          view,
        )
        const { page } = opened
        await page.getByText("It succeeded with 201").waitFor()
        await page.getByRole("button", { name: "Format" }).click()
        await page.locator(".segment", { hasText: "At a time" }).click()
        await page.getByRole("button", { name: "Tomorrow 9:00" }).click()
        await page.evaluate("scrollTo(0, 0)")
        await take(page, "request")
      },
      { nowMs: () => clock.atMs },
      calls,
    )
  })
})
