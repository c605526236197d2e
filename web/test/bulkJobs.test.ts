// Jobs on all timers that match a search: the dialog that starts one, its progress, and the page Bulk jobs.
import { expect, setDefaultTimeout, test } from "bun:test"
import type { Page } from "playwright-core"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { eventually } from "../../server/testkit/eventually.ts"
import { type ConsoleService, openConsole, views, viewThemes } from "./ConsoleFixture.ts"
import { countOf, makeDead, makeKeys, numbered, refusing, signIn, withReceivers } from "./DeadFixture.ts"
import { typeInto, untilNoDialog } from "./focused.ts"

setDefaultTimeout(60_000)

const dialog = (page: Page) => page.getByRole("dialog")
const panel = (page: Page) => page.getByRole("region", { name: "Bulk job", exact: true })

const startJob = async (service: ConsoleService, job: object, headers: Record<string, string> = {}) => {
  const asked = { do: "replay", reason: "the ledger works again", expect: 1_000, ...job }
  return (await service.post("bulk/start", asked, headers)).json.job.jobId as string
}

describeBrowser("jobs on many timers", (browser) => {
  test("replays all that match: preview, reason, pace, progress, result", () =>
    withReceivers(async (service, receivers) => {
      await makeDead(service, [
        { namespace: "billing", ids: numbered("invoice", 25) },
        { namespace: "crm", ids: ["contact"], url: refusing },
      ])
      await using opened = await openConsole(browser(), service, "dead-letters?q=namespace:billing")
      const { page } = opened
      receivers.areWell = true
      await page.getByRole("button", { name: "Replay all that match" }).click()
      await dialog(page).getByText("25 dead letters match.").waitFor()
      await dialog(page).getByRole("listitem").nth(19).waitFor()
      expect(await dialog(page).getByRole("listitem").count()).toBe(20)
      await dialog(page).getByText("namespace:billing").waitFor()
      // The reason is required. The field that is wrong gets the focus, and Enter sends.
      await dialog(page).getByRole("button", { name: "Replay 25 dead letters" }).click()
      await dialog(page).getByText("Say why.").waitFor()
      await typeInto(page.getByLabel("Reason"), "the ledger works again")
      await page.keyboard.press("Enter")
      await panel(page).getByText("25 replayed").waitFor()
      await panel(page).getByText("done").waitFor()
      await eventually("the deliveries", async () =>
        (await countOf(service, "delivered", ["billing"])) === 25 ? true : undefined,
      )
      expect(await countOf(service, "dead")).toBe(1)
      // The panel says what became of the timers, and the list shows by itself that they are gone.
      await panel(page).getByText("25 replayed: 25 delivered").waitFor()
      await page.getByText("No dead letter matches the search").waitFor()
      await panel(page).getByRole("button", { name: "Close" }).click()
      await panel(page).waitFor({ state: "detached" })
      expect(await opened.troubles()).toEqual([])
    }))

  test("a job can be aborted, and what it has done stays done", () =>
    withReceivers(async (service) => {
      await makeDead(service, [{ namespace: "billing", ids: numbered("invoice", 90) }])
      await using opened = await openConsole(browser(), service, "dead-letters")
      const { page } = opened
      await page.getByRole("button", { name: "Discard all", exact: true }).click()
      await page.getByLabel("Reason").fill("test data")
      await page.getByLabel("Most per second").fill("1")
      await dialog(page).getByText("It takes about 1 m 30 s.").waitFor()
      await dialog(page).getByRole("button", { name: "Discard 90 dead letters" }).click()
      await panel(page).getByText("running").waitFor()
      await panel(page).getByRole("button", { name: "Abort" }).click()
      await panel(page).getByText("aborted").waitFor()
      expect(await countOf(service, "dead")).toBeGreaterThan(0)
      expect(await opened.troubles()).toEqual([])
    }))

  test("select all: the page says what the limit cut, and a job takes the rest", () =>
    withReceivers(async (service) => {
      await makeDead(service, [{ namespace: "billing", ids: numbered("invoice", 2_100) }])
      await using opened = await openConsole(browser(), service, "dead-letters?view=rows")
      const { page } = opened
      await page.getByText("the latest 2,000 of 2,100. Narrow the search to see others.").waitFor()
      await page.getByRole("checkbox", { name: "Select all rows" }).click()
      await page.getByText("2,000 selected").waitFor()
      await page.getByRole("button", { name: "Select all 2,100 that match" }).click()
      await page.getByText("All 2,100 that match are selected").waitFor()
      await page.keyboard.press("d")
      await page.getByLabel("Reason").fill("test data")
      await page.getByLabel("Most per second").fill("5000")
      // Many need the typed count.
      const send = dialog(page).getByRole("button", { name: "Discard 2,100 dead letters" })
      await send.click()
      await dialog(page).getByText("Type the number 2,100.").waitFor()
      await typeInto(page.getByLabel("Type 2,100 to confirm"), "2,100")
      await send.click()
      await panel(page).getByText("2,100 discarded").waitFor()
      expect(await countOf(service, "dead")).toBe(0)
      expect(await opened.troubles()).toEqual([])
    }))

  test("a group is replayed as a job with its host and reason", () =>
    withReceivers(async (service) => {
      await makeDead(service, [
        { namespace: "billing", ids: ["a", "b"] },
        { namespace: "crm", ids: ["c"], url: refusing },
        { namespace: "crm", ids: ["d"], url: refusing.replace("8080", "8081") },
      ])
      await using opened = await openConsole(browser(), service, "dead-letters")
      const { page } = opened
      await page.getByRole("button", { name: /^Replay all: crm\.test:8080,/ }).click()
      await dialog(page).getByText("1 dead letter matches.").waitFor()
      await dialog(page).getByText("host:crm.test:8080").waitFor()
      await dialog(page).getByText("reason:refused").waitFor()
      await page.keyboard.press("Escape")
      await dialog(page).waitFor({ state: "detached" })
      expect(await opened.troubles()).toEqual([])
    }))

  test("a start is refused if there are more now, and the reader counts again", () =>
    withReceivers(async (service) => {
      await makeDead(service, [{ namespace: "billing", ids: numbered("a", 5) }])
      await using opened = await openConsole(browser(), service, "dead-letters")
      const { page } = opened
      await page.getByRole("button", { name: "Discard all", exact: true }).click()
      await dialog(page).getByText("5 dead letters match.").waitFor()
      await makeDead(service, [{ namespace: "billing", ids: numbered("b", 5) }])
      await page.getByLabel("Reason").fill("test data")
      await dialog(page).getByRole("button", { name: "Discard 5 dead letters" }).click()
      await dialog(page).getByText("The filter matches 10 timers now").waitFor()
      await dialog(page).getByRole("button", { name: "Count again" }).click()
      await dialog(page).getByRole("button", { name: "Discard 10 dead letters" }).click()
      await panel(page).getByText("10 discarded").waitFor()
    }))

  test("the job of a key acts in the namespaces of the key", () =>
    withReceivers(async (service) => {
      await makeDead(service, [
        { namespace: "billing", ids: ["a", "b"] },
        { namespace: "crm", ids: ["c"], url: refusing },
      ])
      const make = await makeKeys(service)
      const { apiKey } = await make({ label: "billing team", role: "operator", namespaces: ["billing"] })
      await using opened = await openConsole(browser(), service, "dead-letters")
      const { page } = opened
      await signIn(page, apiKey)
      await page.getByRole("button", { name: "Discard all", exact: true }).click()
      await dialog(page).getByText("2 dead letters match.").waitFor()
      await dialog(page).getByText("namespace:billing").waitFor()
      await page.getByLabel("Reason").fill("test data")
      await dialog(page).getByRole("button", { name: "Discard 2 dead letters" }).click()
      await panel(page).getByText("2 discarded").waitFor()
      await panel(page).getByRole("link", { name: "Details" }).click()
      await page.getByText("by billing team").waitFor()
      // The page Timers opens with the namespaces of the key too.
      await page.getByRole("link", { name: "Timers", exact: true }).click()
      await page.getByText("Nothing is pending").waitFor()
    }))

  test("cancels all timers that match, from the page Timers", () =>
    withReceivers(async (service) => {
      const timers = numbered("t", 120).map((timerId) => ({
        namespace: "shop",
        timerId,
        delay: "1h",
        callbackUrl: "http://h/",
      }))
      await service.call("createMany", { timers })
      await service.call("create", {
        namespace: "crm",
        timerId: "stays",
        delay: "1h",
        callbackUrl: "http://h/",
      })
      await using opened = await openConsole(browser(), service, "timers?q=namespace:shop")
      const { page } = opened
      await page.getByRole("button", { name: "More", exact: true }).press("Enter")
      await page.locator("[role=menuitem]:focus").press("Enter")
      await dialog(page).getByText("120 timers match.").waitFor()
      await page.getByLabel("Reason").fill("a campaign was stopped")
      await page.getByLabel("Type 120 to confirm").fill("120")
      await page.keyboard.press("Enter")
      await page.waitForURL(/jobs\?id=/)
      await page.getByText("120 cancelled. 120 examined.").waitFor()
      expect(await countOf(service, "pending")).toBe(1)
      expect(await opened.troubles()).toEqual([])
    }))
})

describeBrowser("the page Bulk jobs", (browser) => {
  test("lists jobs with filter, reason, starter, progress and result, and one job has a page", () =>
    withReceivers(async (service) => {
      await using opened = await openConsole(browser(), service, "jobs")
      const { page } = opened
      await page.getByText("There are no jobs").waitFor()
      expect(await opened.inaccessible()).toEqual([])
      await makeDead(service, [{ namespace: "billing", ids: numbered("invoice", 3) }])
      await startJob(service, { filter: { namespaces: ["billing"], host: "ledger.test" } })
      await page.getByRole("button", { name: "1 new job" }).click()
      const row = page.getByRole("row").filter({ hasText: "Replay dead letters" })
      await row.getByText("3 replayed: 0 delivered, 3 dead again").waitFor()
      // That is no success.
      expect(await row.locator(".badge-good, .progress-good").count()).toBe(0)
      for (const text of [
        "done",
        "namespace:billing",
        "host:ledger.test",
        "the ledger works again",
        "by anonymous",
      ])
        expect(await row.innerText()).toContain(text)
      await row.getByRole("link", { name: "Replay dead letters" }).click()
      await page.getByText("at most 500 a second").waitFor()
      await page.getByRole("link", { name: "Show what matches now" }).click()
      await page.waitForURL(/dead-letters\?q=namespace%3Abilling\+host%3Aledger\.test$/)
      expect(await opened.troubles()).toEqual([])
    }))

  test("a job shows exactly the timers that it replayed, and what became of them", () =>
    withReceivers(async (service, receivers) => {
      await makeDead(service, [
        { namespace: "billing", ids: numbered("invoice", 3) },
        { namespace: "crm", ids: ["contact"], url: refusing },
      ])
      // These are none of the job's: one is pending, one was delivered, and one dies later.
      const other = { namespace: "billing", callbackUrl: "http://ledger.test/fail" }
      await service.call("create", { ...other, timerId: "later", delay: "1h" })
      const jobId = await startJob(service, { filter: { namespaces: ["billing", "crm"] } })
      await using opened = await openConsole(browser(), service, `jobs?id=${jobId}`)
      const { page } = opened
      const card = page.getByRole("region", { name: "What became of the replayed timers" })
      await card.getByText("4 replayed: 0 delivered, 4 dead again.").waitFor()
      expect(await card.getByRole("link").allInnerTexts()).toHaveLength(4)
      await makeDead(service, [{ namespace: "billing", ids: ["another"] }])
      receivers.areWell = true
      const second = await startJob(service, { filter: { namespaces: ["billing"], idPrefix: "invoice" } })
      await service.call("create", { ...other, timerId: "well", delay: "0s" })
      await eventually("the other delivery", async () =>
        (await countOf(service, "delivered", ["billing"])) === 4 ? true : undefined,
      )
      await page.goto(`${service.url}/console/jobs?id=${second}`)
      await card.getByText("3 replayed: 3 delivered.").waitFor()
      // Over all namespaces too, as long as there are few.
      const third = await startJob(service, { filter: { namespaces: ["*"], host: "crm.test" } })
      await page.goto(`${service.url}/console/jobs?id=${third}`)
      await card.getByText("1 replayed: 1 delivered.").waitFor()
      expect(await opened.troubles()).toEqual([])
      await page.goto(`${service.url}/console/jobs?id=${second}`)
      await card.getByRole("link", { name: "billing / invoice-0001" }).click()
      await page.getByRole("heading", { name: "Delivered" }).waitFor()
      await page.getByText("It had become a dead letter.").waitFor()
    }))

  test("progress is live, new jobs wait behind a button, and a job is aborted from the list", () =>
    withReceivers(async (service) => {
      // The job takes longer than a slow machine needs to abort it.
      await makeDead(service, [{ namespace: "billing", ids: numbered("invoice", 150) }])
      await service.post("service/pause", { reason: "so that replays stay pending" })
      await startJob(service, { filter: { namespaces: ["billing"] }, perSecond: 1 })
      await using opened = await openConsole(browser(), service, "jobs")
      const { page } = opened
      const rows = page.getByRole("row").filter({ hasText: "Replay dead letters" })
      await rows.getByText(/^[1-9]\d* of 1,000/).waitFor()
      await startJob(service, { filter: { namespaces: ["other"] }, expect: 0 })
      await page.getByRole("button", { name: "1 new job" }).waitFor()
      expect(await rows.count()).toBe(1)
      await rows.getByRole("button", { name: "Abort" }).press("Enter")
      await rows.getByText("aborted").waitFor()
      expect(await countOf(service, "dead")).toBeGreaterThan(0)
      await page.getByRole("button", { name: "1 new job" }).click()
      await eventually("two jobs", async () => ((await rows.count()) === 2 ? true : undefined))
      expect(await opened.troubles()).toEqual([])
    }))

  test("no such job, not loaded and forbidden are different screens, and a viewer cannot abort", () =>
    withReceivers(async (service) => {
      await makeDead(service, [{ namespace: "billing", ids: numbered("invoice", 40) }])
      const make = await makeKeys(service)
      const operator = await make({ label: "operator", role: "operator" })
      const viewer = await make({ label: "viewer", role: "viewer" })
      const other = await make({ label: "other", actions: ["namespaces.read"] })
      await startJob(service, { filter: { namespaces: ["billing"] }, perSecond: 1 }, operator.headers)
      await using opened = await openConsole(browser(), service, "jobs")
      const { page } = opened
      await signIn(page, viewer.apiKey)
      await page.getByText("by operator").waitFor()
      expect(await page.getByRole("button", { name: "Abort" }).count()).toBe(0)
      await page.goto(`${service.url}/console/jobs?id=nothing`)
      await page.getByText("There is no such job").waitFor()
      await page.route("**/api/v1/bulk/list", (route) => route.fulfill({ status: 500, body: "{}" }))
      await page.getByRole("link", { name: "All bulk jobs" }).first().click()
      await page.getByText("The jobs could not be loaded").waitFor()
      await page.unroute("**/api/v1/bulk/list")
      await page.getByRole("button", { name: "Try again" }).click()
      await page.getByText("by operator").waitFor()
      await page.getByRole("button", { name: "Sign out" }).click()
      await signIn(page, other.apiKey)
      await page.getByText("Your key may not see this").waitFor()
    }))

  test.each(viewThemes)(
    "dialog, panel, list and details are in sight and accessible in the %s theme",
    (theme) =>
      withReceivers(async (service) => {
        await makeDead(service, [
          { namespace: "billing", ids: [...numbered("invoice", 150), "x".repeat(255)] },
        ])
        const jobId = await startJob(service, { filter: { namespaces: ["crm", "y".repeat(100)], tag: "t" } })
        for (const view of views.filter((one) => one.theme === theme)) {
          await using opened = await openConsole(browser(), service, `dead-letters?job=${jobId}`, view)
          const { page } = opened
          const isSound = async (withAxe: boolean) => {
            expect([view, await opened.overflowPixels()]).toEqual([view, 0])
            if (withAxe) expect([view, await opened.inaccessible()]).toEqual([view, []])
          }
          await panel(page).getByText("0 replayed").waitFor()
          await page.getByRole("button", { name: "Discard all", exact: true }).click()
          await dialog(page).getByText("151 dead letters match.").waitFor()
          await dialog(page).getByRole("button", { name: "Discard 151 dead letters" }).click()
          await isSound(view.width === 390)
          await page.keyboard.press("Escape")
          await untilNoDialog(page)
          await page.getByRole("link", { name: "Bulk jobs" }).click()
          await page.getByText("0 replayed").waitFor()
          await isSound(view.width === 1024)
          await page.getByRole("link", { name: "Replay dead letters" }).click()
          await page.getByText("Job id").waitFor()
          await isSound(view.width === 1600)
          expect(await opened.troubles()).toEqual([])
        }
      }),
  )
})
