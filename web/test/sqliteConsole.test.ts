// The console as an operator has it: the real program on SQLite, many timers, real webhooks, and a restart while a page is
// open. The matrix run has a hundred times as many timers.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import type { Locator, Page } from "playwright-core"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { listedTimers } from "../../server/testkit/effort.ts"
import { eventually } from "../../server/testkit/eventually.ts"
import { Receiver } from "../../server/testkit/Receiver.ts"
import { ServiceProcess } from "../../server/testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../server/testkit/TemporaryFolder.ts"
import { lostContact, openConsole } from "./ConsoleFixture.ts"
import { callsOf, goodCallsOf } from "./callsOf.ts"
import { signInWith, withoutUnauthorized } from "./KeyedConsole.ts"
import { ManyTimers } from "./ManyTimers.ts"

setDefaultTimeout(120_000)

/** Ten times the time in which first rows should come. Few timers show nothing about speed, so they have no limit. */
const rowsWithinMs = listedTimers > 100_000 ? 3_000 : 30_000
const fillWithinMs = 15 * 60_000

const rows = (page: Page): Locator => page.getByRole("table", { name: "Timers" }).getByRole("link")
const search = (page: Page): Locator => page.getByRole("combobox", { name: "Search timers" })

/** Fails if the page is loaded again. */
const expectSamePage = async (page: Page, act: () => Promise<void>): Promise<void> => {
  await page.evaluate("window.isSame = true")
  await act()
  expect(await page.evaluate("window.isSame")).toBe(true)
}

/** The service stops counting here. */
const countMax = 100_000

/** A plus: the service stopped counting before it had looked at everything. */
const countOf = (page: Page, matches: number): Locator =>
  page.getByText(new RegExp(`^${Math.min(matches, countMax).toLocaleString("en")}\\+? timers?$`))

describeBrowser(`the console on SQLite with ${listedTimers} timers`, (browser) => {
  const timers = new ManyTimers(listedTimers)
  let folder: TemporaryFolder
  let service: ServiceProcess
  const send = goodCallsOf(() => service.url)

  beforeAll(async () => {
    folder = new TemporaryFolder()
    service = await ServiceProcess.ready({ folder: folder.path })
    await timers.create(send)
  }, fillWithinMs)
  afterAll(async () => {
    await service[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  test("first rows come for every kind of filter, and the strip counts", async () => {
    await using opened = await openConsole(browser(), service, "timers")
    const { page } = opened
    for (const { parameters, firstRow, matches } of timers.searches) {
      await page.goto(`${service.url}/console/timers?${new URLSearchParams(parameters)}`)
      await rows(page).first().waitFor({ timeout: rowsWithinMs })
      expect([parameters, await rows(page).first().innerText()]).toEqual([parameters, firstRow])
      await countOf(page, matches).waitFor()
      // Of very many timers it is an estimate, or says that there are more.
      await page.getByText(/^[1-9][\d,]*\+? in this chart/).waitFor()
    }
    expect(await opened.troubles()).toEqual([])
  })

  test("a reader scrolls, searches, opens a timer and fires it, and the page says that it is delivered", async () => {
    await using receiver = await Receiver.listening()
    const timer = { namespace: "shop", timerId: "fire-me", tags: ["urgent"], correlationId: "case-fire" }
    await send("timers/create", { ...timer, delay: "90m", callbackUrl: receiver.url, payload: { n: 1 } })
    await using opened = await openConsole(browser(), service, "timers")
    const { page } = opened
    await rows(page).first().waitFor()
    const listed = () => page.getByText(/^[\d,]+ rows/).innerText()
    await eventually("the third page of rows", async () => {
      await page.evaluate("scrollTo(0, document.body.scrollHeight)")
      return /^[3-9]00 rows/.test(await listed()) ? true : undefined
    })
    for (const word of ["tag:urgent", "correlation:case-fire", "id:fire"]) {
      await search(page).fill(word)
      await search(page).press("Enter")
      await rows(page).nth(1).waitFor({ state: "detached" })
      expect([word, await rows(page).allInnerTexts()]).toEqual([word, ["shop / fire-me"]])
      await countOf(page, 1).waitFor()
      await search(page).press("Backspace")
      await rows(page).nth(1).waitFor()
    }
    await page.goBack()
    await rows(page).nth(1).waitFor({ state: "detached" })
    await rows(page).first().click()
    await page.getByRole("heading", { name: /^It is due in/ }).waitFor()
    await page.getByRole("button", { name: "Fire now" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Fire now" }).click()
    await receiver.until("the webhook", ({ length }) => length === 1)
    await page.getByRole("heading", { name: "Delivered" }).waitFor()
    expect(receiver.deliveries.map(({ key }) => key)).toEqual([{ namespace: "shop", timerId: "fire-me" }])
    expect(await opened.troubles()).toEqual([])
  })

  test("a page says that the service cannot be reached, and goes on by itself when it is back", async () => {
    await using list = await openConsole(browser(), service, "timers?q=tag:trial")
    await using one = await openConsole(browser(), service, "timer?namespace=crm&id=order-0000002")
    const heading = one.page.getByRole("heading", { name: /^It is due in/ })
    await rows(list.page).first().waitFor()
    await heading.waitFor()
    expect([await list.troubles(), await one.troubles()]).toEqual([[], []])
    await expectSamePage(list.page, () =>
      expectSamePage(one.page, async () => {
        service.change({ TIMER_HTTP_PORT: new URL(service.url).port })
        await service.kill9()
        await lostContact(list.page).waitFor()
        await lostContact(one.page).waitFor()
        // A search in the meantime has nothing to show, until the service is back.
        await search(list.page).fill("id:after")
        await search(list.page).press("Enter")
        await list.page.getByRole("heading", { name: "The timers could not be loaded" }).waitFor()
        await service.start()
        await send("timers/create", {
          namespace: "shop",
          timerId: "after",
          delay: "90m",
          callbackUrl: "http://127.0.0.1:9/",
          tags: ["trial"],
        })
        await send("timers/delete", { namespace: "crm", timerId: "order-0000002" })
        await one.page.getByRole("heading", { name: "Cancelled" }).waitFor()
        await rows(list.page).getByText("after").waitFor()
        await lostContact(list.page).waitFor({ state: "detached" })
        await lostContact(one.page).waitFor({ state: "detached" })
      }),
    )
  })
})

describeBrowser("the console of a viewer", (browser) => {
  test("the page asks for a key, shows no actions, and the service would refuse them", async () => {
    using folder = new TemporaryFolder()
    await using service = await ServiceProcess.ready({ folder: folder.path })
    const url = () => service.url
    const { apiKey } = (await goodCallsOf(url)("keys/create", { label: "admin", role: "admin" })).json
    const admin = goodCallsOf(url, apiKey)
    const viewer = await admin("keys/create", { label: "vera", role: "viewer" })
    const key = { namespace: "shop", timerId: "one" }
    await admin("timers/create", { ...key, delay: "1h", callbackUrl: "http://127.0.0.1:9/", payload: {} })

    await using opened = await openConsole(browser(), service, "timers")
    const { page } = opened
    await signInWith(opened, { text: viewer.json.apiKey })
    await page.getByText("may only look").waitFor()
    await rows(page).first().click()
    await page.getByRole("heading", { name: /^It is due in/ }).waitFor()
    await page.getByText("Your key may not read payloads.").waitFor()
    expect(await page.getByRole("button", { name: /^(Edit|Fire now)$/ }).count()).toBe(0)
    const refused = `fetch("../api/v1/timers/update", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: ${JSON.stringify(JSON.stringify({ ...key, delay: "0s" }))},
    }).then(({ status }) => status)`
    expect(withoutUnauthorized(await opened.troubles())).toEqual([])
    expect(await page.evaluate(refused)).toBe(403)
    expect((await callsOf(url)("timers/list", { namespaces: ["*"], states: ["pending"] })).status).toBe(401)
    expect((await admin("timers/get", key)).json.timer.state).toBe("pending")
  })
})
