// The pages of namespaces: the list with its search, and one namespace with its settings and its pause.
import { expect, setDefaultTimeout, test } from "bun:test"
import type { Page } from "playwright-core"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { eventually } from "../../server/testkit/eventually.ts"
import { type ConsoleService, openConsole, phone, stopLiveUpdates, withConsole } from "./ConsoleFixture.ts"
import { typeInto, untilFocused, untilNoDialog } from "./focused.ts"
import { withKeyedConsole } from "./KeyedConsole.ts"
import { openAs } from "./openAs.ts"

setDefaultTimeout(60_000)

const put = async ({ post }: ConsoleService, namespace: string, settings: object) =>
  expect((await post("namespaces/put", { namespace, ...settings })).status).toBe(200)

const settingsOf = async ({ post }: ConsoleService, namespace: string) =>
  (await post("namespaces/get", { namespace })).json.settings

const arm = async ({ call }: ConsoleService, namespace: string, count: number) => {
  const timers = Array.from({ length: count }, (_, index) => ({
    namespace,
    timerId: `t-${index}`,
    delay: "1h",
    callbackUrl: "http://127.0.0.1:9/hook",
  }))
  expect((await call("createMany", { timers })).status).toBe(200)
}

/** Waits until the list has these names. */
const untilNames = (page: Page, names: ReadonlyArray<string>) =>
  eventually(`the list has ${names.length} names`, async () => {
    const shown = await page.locator("tbody th").allTextContents()
    return shown.join() === names.join() ? true : undefined
  })

/** The bodies of the calls that the page makes from now on. */
const bodiesOf = (page: Page, path: string): ReadonlyArray<unknown> => {
  const bodies: Array<unknown> = []
  page.on("request", (request) => {
    if (request.url().endsWith(path)) bodies.push(request.postDataJSON())
  })
  return bodies
}

describeBrowser("the list of namespaces", (browser) => {
  test("shows counts, quotas and pauses, and leads to timers and dead letters", () =>
    withConsole({}, async (service) => {
      await arm(service, "billing", 8)
      await put(service, "billing", { maxPending: 10 })
      await put(service, "crm", { paused: true })
      await using opened = await openConsole(browser(), service, "namespaces")
      const { page } = opened
      const billing = page.getByRole("row", { name: /^billing/ })
      await billing.getByText("8 pending timers of billing of 10").waitFor()
      expect(await billing.getByRole("meter").getAttribute("aria-valuetext")).toBe("80 %")
      await page.getByRole("row", { name: /^crm/ }).getByText("paused").waitFor()
      await billing.getByRole("link", { name: /pending timers/ }).click()
      await page.waitForURL(/timers\?q=namespace%3Abilling$/)
      await page.goBack()
      await page.getByRole("button", { name: "Actions for billing" }).click()
      await page.getByRole("menuitem", { name: "Dead letters" }).click()
      await page.waitForURL(/dead-letters\?q=namespace%3Abilling$/)
      expect(await opened.troubles()).toEqual([])
    }))

  test("searches by the beginning of a name, on the service, and the address keeps the search", () =>
    withConsole({}, async (service) => {
      for (const name of ["team-a", "team-b", "zoo"]) await put(service, name, { maxPending: 1 })
      await using opened = await openConsole(browser(), service, "namespaces")
      const { page } = opened
      await untilNames(page, ["team-a", "team-b", "zoo"])
      const asked = bodiesOf(page, "/namespaces/list")
      await page.keyboard.press("/")
      await typeInto(page.getByRole("searchbox"), "team-")
      await untilNames(page, ["team-a", "team-b"])
      expect(asked.at(-1)).toEqual({ limit: 50, prefix: "team-" })
      await page.reload()
      await untilNames(page, ["team-a", "team-b"])
      await page.getByRole("searchbox").fill("team-x")
      await page.getByRole("heading", { name: "No namespace begins with “team-x”" }).waitFor()
      await page.getByRole("button", { name: "Clear the search" }).click()
      await untilNames(page, ["team-a", "team-b", "zoo"])
      expect(await opened.troubles()).toEqual([])
      await page.getByRole("searchbox").fill("no name!")
      await page.getByRole("heading", { name: "No namespace has such a name" }).waitFor()
    }))

  test("has pages, and back leads to the one before", () =>
    withConsole({}, async (service) => {
      const names = Array.from({ length: 53 }, (_, index) => `n-${String(index).padStart(2, "0")}`)
      for (const name of names) await put(service, name, { maxPending: 1 })
      await using opened = await openConsole(browser(), service, "namespaces")
      const { page } = opened
      await untilNames(page, names.slice(0, 50))
      await page.getByRole("button", { name: "Next page" }).click()
      await untilNames(page, names.slice(50))
      expect(await page.getByRole("button", { name: "Next page" }).count()).toBe(0)
      await page.goBack()
      await untilNames(page, names.slice(0, 50))
      await page.goForward()
      await page.getByRole("button", { name: "First page" }).click()
      await untilNames(page, names.slice(0, 50))
      expect(await opened.troubles()).toEqual([])
    }))

  test("is exported as a whole, as CSV", () =>
    withConsole({}, async (service) => {
      for (const name of ["-dash", "team-a", "team-b"]) await put(service, name, { maxPending: 5 })
      await using opened = await openConsole(browser(), service, "namespaces")
      const { page } = opened
      await page.getByRole("button", { name: "Export" }).click()
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("menuitem", { name: "Export as CSV" }).click(),
      ])
      const lines = (await Bun.file(await download.path()).text()).trimEnd().split("\r\n")
      expect(lines.map((line) => line.split(",").slice(0, 4).join())).toEqual([
        "namespace,paused,pending,maxPending",
        "'-dash,false,0,5",
        "team-a,false,0,5",
        "team-b,false,0,5",
      ])
      await page.getByText("3 namespaces exported.").waitFor()
      expect(await opened.troubles()).toEqual([])
    }))

  test("pauses and resumes by keyboard alone, and says what will happen", () =>
    withConsole({}, async (service) => {
      await arm(service, "billing", 1)
      await using opened = await openConsole(browser(), service, "namespaces", phone)
      const { page } = opened
      const choose = async (label: string) => {
        await untilNoDialog(page)
        await page.getByRole("button", { name: "Actions for billing" }).press("Enter")
        await page.locator("[role=menuitem]:focus", { hasText: "Timers" }).waitFor()
        await page.keyboard.press("End")
        await page.locator("[role=menuitem]:focus", { hasText: label }).waitFor()
        await page.keyboard.press("Enter")
      }
      await choose("Pause …")
      await page.getByText("No attempt starts. Attempts that run now finish.").waitFor()
      await page.keyboard.press("Escape")
      expect((await settingsOf(service, "billing")).paused).toBe(false)
      await choose("Pause …")
      await page.getByRole("button", { name: "Pause", exact: true }).press("Enter")
      await page
        .getByRole("row", { name: /^billing/ })
        .getByText("paused")
        .waitFor()
      expect((await settingsOf(service, "billing")).paused).toBe(true)
      await choose("Resume …")
      await page.getByText("Now 0 timers are waiting.").waitFor()
      await page.getByRole("button", { name: "Resume", exact: true }).press("Enter")
      await page
        .getByRole("row", { name: /^billing/ })
        .getByText("fires")
        .waitFor()
      expect((await settingsOf(service, "billing")).paused).toBe(false)
      await untilNoDialog(page)
      await page.keyboard.press("j")
      await page.locator(".row-at").waitFor()
      // The button of the menu had the focus. The key goes to the row.
      await page.keyboard.press("Enter")
      await page.waitForURL(/namespace\?name=billing$/)
      expect(await opened.troubles()).toEqual([])
    }))

  test("says that there is none yet, and that it could not be loaded", () =>
    withConsole({}, async (service) => {
      await using opened = await openConsole(browser(), service, "namespaces")
      const { page } = opened
      await page.getByRole("heading", { name: "There is no namespace yet" }).waitFor()
      expect(await opened.troubles()).toEqual([])
      await stopLiveUpdates(page)
      await page.route("**/namespaces/list", (route) =>
        route.fulfill({ status: 500, json: { code: "internal", detail: "The store has failed." } }),
      )
      await page.reload()
      const alert = page.getByRole("alert")
      await alert.getByText("The store has failed.").waitFor()
      await page.unroute("**/namespaces/list")
      await alert.getByRole("button", { name: "Try again" }).click()
      await page.getByRole("heading", { name: "There is no namespace yet" }).waitFor()
    }))
})

describeBrowser("the page of a namespace", (browser) => {
  test("changes only the fields that the reader changed", () =>
    withConsole({}, async (service) => {
      const headers = { "x-team": "billing" }
      await put(service, "billing", {
        maxPending: 10,
        maxInFlight: 5,
        onDead: { type: "webhook", url: "http://127.0.0.1:9/dead", headers, method: "PUT" },
      })
      await using opened = await openConsole(browser(), service, "namespace?name=billing")
      const { page } = opened
      const sent = bodiesOf(page, "/namespaces/put")
      await page.getByRole("button", { name: "Edit" }).click()
      const save = page.getByRole("button", { name: /^Save/ })
      expect(await save.isDisabled()).toBe(true)
      await page.getByLabel("Pending timers, at most").fill("25")
      // Somebody else changes other settings in the meantime.
      await put(service, "billing", { maxInFlight: 6, createsPerSecond: 7 })
      await save.click()
      await page.getByText("at most 25", { exact: true }).waitFor()
      await page.getByText("at most 6", { exact: true }).waitFor()
      expect(sent).toEqual([{ namespace: "billing", maxPending: 25 }])
      await page.getByRole("button", { name: "Edit" }).click()
      await page.getByLabel("Attempts at once, at most").fill("")
      await page.getByLabel("URL").fill("http://127.0.0.1:9/other")
      await page.getByRole("radio", { name: "A list of waits" }).check()
      await page.getByLabel("Waits", { exact: true }).fill("1m, 1h")
      await page.getByRole("button", { name: "Save 3 changes" }).click()
      await page.getByText("up to 3 attempts, waits 1m, 1h").waitFor()
      expect(await settingsOf(service, "billing")).toMatchObject({
        maxPending: 25,
        createsPerSecond: 7,
        retryPolicy: { waits: ["1m", "1h"] },
        onDead: { url: "http://127.0.0.1:9/other", method: "PUT", headers },
      })
      expect(await settingsOf(service, "billing")).not.toHaveProperty("maxInFlight")
      expect(await opened.troubles()).toEqual([])
    }))

  test("shows what the service says about each field, and keeps what was typed", () =>
    withConsole({}, async (service) => {
      await using opened = await openConsole(browser(), service, "namespace?name=billing")
      const { page } = opened
      await page.getByRole("button", { name: "Edit" }).focus()
      await page.keyboard.press("Enter")
      await page.getByLabel("Pending timers, at most").fill("many")
      await page.getByRole("radio", { name: "As the service" }).focus()
      await page.keyboard.press("ArrowRight")
      await page.getByLabel("First wait").fill("soon")
      await page.keyboard.press("Enter")
      await page.getByText("must be a whole number from 0 to 100000000, or empty").waitFor()
      await page.getByText(/must be a duration from 1ms/).waitFor()
      const wrong = page.getByLabel("Pending timers, at most")
      expect([await wrong.getAttribute("aria-invalid"), await wrong.inputValue()]).toEqual(["true", "many"])
      await untilFocused(wrong)
      await wrong.fill("5")
      await page.getByLabel("First wait").fill("2s")
      await page.keyboard.press("Enter")
      await page.getByText("at most 5", { exact: true }).waitFor()
      expect(await settingsOf(service, "billing")).toMatchObject({
        maxPending: 5,
        retryPolicy: { initialInterval: "2s" },
      })
    }))

  test("does not touch an open form when somebody else changes the settings", () =>
    withConsole({}, async (service) => {
      await put(service, "billing", { maxPending: 10 })
      await using opened = await openConsole(browser(), service, "namespace?name=billing")
      const { page } = opened
      await page.getByRole("button", { name: "Edit" }).click()
      const input = page.getByLabel("Pending timers, at most")
      await input.fill("1")
      await put(service, "billing", { maxPending: 99, paused: true })
      await page.getByText("paused").first().waitFor()
      await page.keyboard.type("2")
      expect(await input.inputValue()).toBe("12")
      await page.getByRole("button", { name: "Discard the changes" }).click()
      await page.getByText("at most 99").waitFor()
      expect(await opened.troubles()).toEqual([])
    }))

  test("pauses with a mouse, and tells a namespace that nobody has used yet", () =>
    withConsole({}, async (service) => {
      await using opened = await openConsole(browser(), service, "namespace?name=fresh")
      const { page } = opened
      await page.getByText("never").waitFor()
      await page.getByRole("button", { name: "Pause …" }).click()
      await page.getByLabel("Reason").fill("the receiver moves")
      await page.getByRole("button", { name: "Pause", exact: true }).click()
      await page.getByText("fresh is paused.").waitFor()
      await page.getByText("Paused: the receiver moves").waitFor()
      expect(await settingsOf(service, "fresh")).toMatchObject({
        paused: true,
        pauseReason: "the receiver moves",
      })
      expect(await opened.troubles()).toEqual([])
    }))
})

describeBrowser("a key with fewer rights", (browser) => {
  test("sees namespaces, and no button that the service would refuse", () =>
    withKeyedConsole({}, async (service, keys) => {
      const viewer = await keys.make({ actions: ["namespaces.read"], namespaces: ["team-*"] })
      await using opened = await openAs(browser(), service, viewer, "namespaces")
      const { page } = opened
      await page.getByRole("heading", { name: "There is no namespace yet" }).waitFor()
      await page.goto(`${service.url}/console/namespace?name=team-a`)
      await page.getByText("Webhooks of this namespace are not signed.").waitFor()
      for (const name of ["Edit", "Pause …", "Make a secret"]) {
        expect([name, await page.getByRole("button", { name }).count()]).toEqual([name, 0])
      }
      await page.goto(`${service.url}/console/namespace?name=billing`)
      await page.getByRole("heading", { name: "Your key may not see this" }).waitFor()
      expect(await opened.troubles()).toEqual([])
    }))

  test("may change quotas without payload.read, but not who is told of dead timers", () =>
    withKeyedConsole({}, async (service, keys) => {
      const key = await keys.make({ actions: ["namespaces.read", "namespaces.write"] })
      await using opened = await openAs(browser(), service, key, "namespace?name=billing")
      const { page } = opened
      await page.getByRole("button", { name: "Edit" }).click()
      expect(await page.getByRole("radio", { name: "Webhook" }).isDisabled()).toBe(true)
      await page.getByLabel("Pending timers, at most").fill("5")
      await page.keyboard.press("Enter")
      await page.getByText("at most 5", { exact: true }).waitFor()
      expect(await opened.troubles()).toEqual([])
    }))

  test("without namespaces.read sees why the list is not shown", () =>
    withKeyedConsole({}, async (service, keys) => {
      const key = await keys.make({ actions: ["timers.read"] })
      await using opened = await openAs(browser(), service, key, "namespaces")
      await opened.page.getByRole("heading", { name: "Your key may not see this" }).waitFor()
      expect(await opened.troubles()).toEqual([])
    }))
})
