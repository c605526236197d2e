// The page Dead letters: causes, rows, selection, and what the reader does with one, with several, or with all that match.
import { expect, setDefaultTimeout, test } from "bun:test"
import type { Page } from "playwright-core"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { eventually } from "../../server/testkit/eventually.ts"
import { openConsole, views, viewThemes } from "./ConsoleFixture.ts"
import {
  countOf,
  failing,
  makeDead,
  makeKeys,
  numbered,
  refusing,
  signIn,
  withReceivers,
} from "./DeadFixture.ts"
import { untilFocused, untilNoDialog } from "./focused.ts"

setDefaultTimeout(60_000)

const causes = (page: Page) => page.getByRole("list", { name: "Causes" }).getByRole("listitem")
const rows = (page: Page) => page.getByRole("table", { name: "Dead letters" }).getByRole("link")
const untilRows = (page: Page, texts: ReadonlyArray<string>) =>
  eventually(`the rows ${texts.join()}`, async () =>
    (await rows(page).allInnerTexts()).join() === texts.join() ? true : undefined,
  )
const dialog = (page: Page) => page.getByRole("dialog")
const twoCauses = [
  { namespace: "billing", ids: ["invoice-1", "invoice-2", "invoice-3"] },
  { namespace: "crm", ids: ["contact-1", "contact-2"], url: refusing },
]

describeBrowser("the page Dead letters", (browser) => {
  test("groups by host and reason, with the count, the latest error and a sample", () =>
    withReceivers(async (service) => {
      await makeDead(service, twoCauses)
      await using opened = await openConsole(browser(), service, "dead-letters")
      const { page } = opened
      await causes(page).nth(1).waitFor()
      const [first = "", second = ""] = await causes(page).allInnerTexts()
      for (const text of ["ledger.test:80", "all attempts failed", "3", "answered 503", "billing / invoice-"])
        expect(first).toContain(text)
      for (const text of ["crm.test:8080", "the receiver refused it", "2", "answered 410", "crm / contact-"])
        expect(second).toContain(text)
      await page.getByText("5 dead letters", { exact: true }).waitFor()
      await page.getByRole("link", { name: "Dead letters" }).and(page.getByTitle("5 dead letters")).waitFor()
      // A cause opens to its rows, and the address keeps it.
      await page.getByRole("button", { name: /^crm\.test:8080/ }).click()
      const members = page.getByRole("table", { name: "Dead letters of crm.test:8080" }).getByRole("link")
      await members.nth(1).waitFor()
      expect((await members.allInnerTexts()).sort()).toEqual(["crm / contact-1", "crm / contact-2"])
      expect(await opened.troubles()).toEqual([])
      await page.reload()
      await members.first().waitFor()
    }))

  test("by keyboard: j walks through the causes, Enter opens one, x selects all of it", () =>
    withReceivers(async (service) => {
      await makeDead(service, twoCauses)
      await using opened = await openConsole(browser(), service, "dead-letters")
      const { page } = opened
      await causes(page).nth(1).waitFor()
      for (const key of ["j", "j", "Enter", "x"]) await page.keyboard.press(key)
      await page.getByText("2 selected").waitFor()
      const row = page.getByRole("checkbox", { name: "Select crm / contact-1" })
      expect(await row.isChecked()).toBe(true)
      await row.press("Space")
      await page.getByText("1 selected").waitFor()
      // A checkbox with the focus does not stop the keys of the page.
      await page.keyboard.press("x")
      await page.getByText("2 selected").waitFor()
      await page.keyboard.press("x")
      await page.getByText("2 selected").waitFor({ state: "detached" })
      await page.keyboard.press("Enter")
      await row.waitFor({ state: "detached" })
      // Keys without a row say what they need. A cause that is open is a stop for each of its rows.
      await page.keyboard.press("Enter")
      await row.waitFor()
      await page.getByRole("columnheader", { name: "Died" }).waitFor()
      for (const key of ["j", "d"]) await page.keyboard.press(key)
      await page.getByRole("dialog", { name: "Discard 1 dead letter" }).waitFor()
      await page.keyboard.press("Escape")
      await untilNoDialog(page)
      await page.keyboard.press("Enter")
      await page.waitForURL(/timer\?namespace=crm&id=contact-/)
      expect(await opened.troubles()).toEqual([])
    }))

  test("a click narrows the search to one cause, and back widens it", () =>
    withReceivers(async (service) => {
      await makeDead(service, twoCauses)
      await using opened = await openConsole(browser(), service, "dead-letters")
      const { page } = opened
      await page.getByRole("button", { name: /^Only this cause: crm/ }).click()
      await page.waitForURL(/q=host%3Acrm\.test%3A8080\+reason%3Arefused/)
      await page.getByText("2 dead letters", { exact: true }).waitFor()
      await causes(page).first().waitFor()
      expect(await causes(page).count()).toBe(1)
      await page.getByRole("button", { name: "All rows" }).click()
      await rows(page).first().waitFor()
      await eventually("two rows", async () => ((await rows(page).count()) === 2 ? true : undefined))
      await page.goBack()
      await page.goBack()
      await causes(page).nth(1).waitFor()
      expect(await opened.troubles()).toEqual([])
    }))

  test("asks before it replays one row, and the row stays in its place with its new state", () =>
    withReceivers(async (service, receivers) => {
      await makeDead(service, twoCauses)
      await using opened = await openConsole(browser(), service, "dead-letters?view=rows")
      const { page } = opened
      receivers.areWell = true
      const replay = page.getByRole("button", { name: "Replay billing / invoice-2" })
      await replay.click()
      // The question names the timer and its host, and the safe button has the focus.
      await dialog(page).getByText("billing / invoice-2").waitFor()
      await dialog(page).getByText("ledger.test").waitFor()
      await untilFocused(dialog(page).locator(".dialog-actions").getByRole("button", { name: "Close" }))
      await page.keyboard.press("Enter")
      await untilNoDialog(page)
      expect(await countOf(service, "dead")).toBe(5)
      await replay.click()
      await dialog(page).getByRole("button", { name: "Replay" }).click()
      await page.getByText("billing / invoice-2: replayed; due now.").waitFor()
      const row = page.getByRole("row").filter({ hasText: "invoice-2" })
      await row.getByText("replayed; due now").waitFor()
      expect([await rows(page).count(), await row.getByRole("button").count()]).toEqual([5, 0])
      await eventually("a delivery", async () =>
        (await countOf(service, "delivered", ["billing"])) === 1 ? true : undefined,
      )
      await page.getByRole("button", { name: "Show the list as it is now" }).click()
      await eventually("four rows", async () => ((await rows(page).count()) === 4 ? true : undefined))
      expect(await opened.troubles()).toEqual([])
    }))

  test("by keyboard: j and x select rows, r replays them, d asks before it discards", () =>
    withReceivers(async (service) => {
      await makeDead(service, [{ namespace: "billing", ids: numbered("t", 4) }])
      await using opened = await openConsole(browser(), service, "dead-letters?view=rows&q=id:t")
      const { page } = opened
      await rows(page).first().waitFor()
      await service.post("service/pause", { reason: "so that replays stay pending" })
      await page.keyboard.press("r")
      await page.getByText("Select a row first (x).").waitFor()
      for (const key of ["j", "x", "j", "x", "r"]) await page.keyboard.press(key)
      await page.getByRole("dialog", { name: "Replay 2 dead letters" }).waitFor()
      await dialog(page).getByRole("button", { name: "Replay" }).press("Enter")
      await page.getByText("2 replayed; due now.").waitFor()
      await untilNoDialog(page)
      expect(await countOf(service, "pending")).toBe(2)
      // Rows that were handled stay, but cannot be selected. Without a selection the keys mean the row that j reached.
      for (const key of ["x", "j", "d"]) await page.keyboard.press(key)
      await page.getByRole("dialog", { name: "Discard 1 dead letter" }).getByText("t-0002").waitFor()
      await page.keyboard.press("Escape")
      await untilNoDialog(page)
      for (const key of ["x", "d"]) await page.keyboard.press(key)
      await page.getByRole("dialog", { name: "Discard 1 dead letter" }).waitFor()
      await page.keyboard.press("Escape")
      await dialog(page).waitFor({ state: "detached" })
      expect(await countOf(service, "dead")).toBe(2)
      await page.getByText("1 selected").waitFor()
      await page.keyboard.press("Escape")
      await page.getByText("1 selected").waitFor({ state: "detached" })
      expect(await opened.troubles()).toEqual([])
    }))

  test("discards exactly the row, although its id has a later dead letter", () =>
    withReceivers(async (service) => {
      await makeDead(service, [
        { namespace: "billing", ids: ["same"], url: refusing },
        { namespace: "billing", ids: ["same"] },
      ])
      await using opened = await openConsole(browser(), service, "dead-letters?view=rows")
      const { page } = opened
      await rows(page).nth(1).waitFor()
      const older = page.getByRole("row").filter({ hasText: "answered 410" })
      await older.getByRole("button", { name: "Discard billing / same" }).click()
      await dialog(page).getByLabel("Reason").fill("a test order")
      await dialog(page).getByRole("button", { name: "Discard" }).click()
      await page.getByText("billing / same: discarded.").waitFor()
      const trail = await service.post("audit/list", { action: "timers.discard" })
      expect(trail.json.records[0].about.reason).toBe("a test order")
      const left = await service.call("list", { namespace: "billing", state: "dead" })
      expect(left.json.timers.map(({ reason }: { readonly reason: string }) => reason)).toEqual([
        "attemptsExhausted",
      ])
      expect(await opened.troubles()).toEqual([])
    }))

  test("says what is no longer there, and what is skipped", () =>
    withReceivers(async (service) => {
      await makeDead(service, [{ namespace: "billing", ids: ["a", "b", "c"] }])
      await using opened = await openConsole(browser(), service, "dead-letters?view=rows")
      const { page } = opened
      await rows(page).first().waitFor()
      await service.call("discard", { namespace: "billing", timerId: "a" })
      await service.call("create", { namespace: "billing", timerId: "b", delay: "1h", callbackUrl: failing })
      await service.post("service/pause", { reason: "so that replays stay pending" })
      await page.getByRole("checkbox", { name: "Select all rows" }).click()
      await page.getByRole("button", { name: "Replay", exact: true }).click()
      await dialog(page).getByRole("button", { name: "Replay" }).click()
      await page
        .getByText(
          "1 replayed; due now. 1 skipped, because a timer with the same id is pending. 1 no longer there.",
        )
        .waitFor()
      await page.getByRole("button", { name: "Show the list as it is now" }).click()
      await untilRows(page, ["billing / b"])
    }))

  test("new dead letters wait behind a button, and the selection stays", () =>
    withReceivers(async (service) => {
      await makeDead(service, [{ namespace: "billing", ids: ["a"] }])
      await using opened = await openConsole(browser(), service, "dead-letters?view=rows")
      const { page } = opened
      await page.getByRole("checkbox", { name: "Select billing / a" }).click()
      await makeDead(service, [{ namespace: "billing", ids: ["b"] }])
      const button = page.getByRole("button", { name: "1 new dead letter" })
      await button.waitFor({ timeout: 50_000 })
      expect(await rows(page).count()).toBe(1)
      expect(await page.getByRole("checkbox", { name: "Select billing / a" }).isChecked()).toBe(true)
      await button.click()
      await rows(page).nth(1).waitFor()
    }))

  test("empty, no match, not valid, forbidden and unreachable are different screens", () =>
    withReceivers(async (service) => {
      await using opened = await openConsole(browser(), service, "dead-letters")
      const { page } = opened
      await page.getByText("There are no dead letters").waitFor()
      await page.goto(`${service.url}/console/dead-letters?q=id:nothing`)
      await page.getByText("No dead letter matches the search").waitFor()
      await page.goto(`${service.url}/console/dead-letters?q=reason:unknown`)
      await page.getByText("The search is not valid").waitFor()
      await page.getByRole("button", { name: "Clear the search" }).click()
      await page.getByText("There are no dead letters").waitFor()
      await page.getByRole("combobox").fill("state:pending")
      await page.getByRole("combobox").press("Enter")
      await page.getByText("Dead letters cannot be searched by state.").waitFor()
      await page.route("**/api/v1/timers/list", (route) => route.abort())
      await page.goto(`${service.url}/console/dead-letters`)
      await page.getByText("The timers could not be loaded").waitFor()
      await page.getByRole("button", { name: "Try again" }).waitFor()
      // The page goes on by itself.
      await page.unroute("**/api/v1/timers/list")
      await page.getByText("There are no dead letters").waitFor()
      const make = await makeKeys(service)
      const { apiKey } = await make({ label: "namespaces only", actions: ["namespaces.read"] })
      await page.reload()
      await signIn(page, apiKey)
      await page.getByText("Your key may not see this").waitFor()
    }))

  test("a reader who may only look sees no action and no selection", () =>
    withReceivers(async (service) => {
      await makeDead(service, twoCauses)
      const { apiKey } = await (await makeKeys(service))({ label: "looker", role: "viewer" })
      await using opened = await openConsole(browser(), service, "dead-letters?open=crm.test:8080+refused")
      const { page } = opened
      await signIn(page, apiKey)
      await page.getByRole("link", { name: "crm / contact-1" }).first().waitFor()
      expect(await page.getByRole("checkbox").count()).toBe(0)
      expect(await page.getByRole("button", { name: /Replay|Discard/ }).count()).toBe(0)
    }))

  test.each(viewThemes)("all is in sight and accessible at all widths in the %s theme", (theme) =>
    withReceivers(async (service) => {
      await makeDead(service, [
        ...twoCauses,
        { namespace: "billing", ids: ["x".repeat(255)], url: `http://${"host.".repeat(40)}test/fail` },
      ])
      for (const view of views.filter((one) => one.theme === theme)) {
        await using opened = await openConsole(browser(), service, "dead-letters", view)
        const { page } = opened
        await page.getByRole("button", { name: /^crm\.test:8080/ }).click()
        await page.getByRole("table").getByRole("link").first().waitFor()
        expect([view, await opened.overflowPixels()]).toEqual([view, 0])
        if (view.width === 1024) expect([view, await opened.inaccessible()]).toEqual([view, []])
        await page.getByRole("button", { name: "All rows" }).click()
        await page.getByRole("checkbox", { name: "Select crm / contact-1" }).click()
        await page.getByRole("region", { name: "Selected dead letters" }).waitFor()
        expect([view, await opened.overflowPixels()]).toEqual([view, 0])
        if (view.width !== 1024) expect([view, await opened.inaccessible()]).toEqual([view, []])
        expect(await opened.troubles()).toEqual([])
      }
    }),
  )
})
