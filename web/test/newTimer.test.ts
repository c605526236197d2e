// The form for a new timer: what it sends, how it shows what is wrong, and what it says about the result.
import { expect, setDefaultTimeout, test } from "bun:test"
import type { Page } from "playwright-core"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { eventually } from "../../server/testkit/eventually.ts"
import { openConsole, phone, withConsole } from "./ConsoleFixture.ts"
import { typeInto, untilFocused } from "./focused.ts"
import { signInWith, withKeyedConsole } from "./KeyedConsole.ts"

setDefaultTimeout(60_000)

const hook = "http://hook.test/x"
const big = '{"n": 12345678901234567890123, "x": 1.10, "note": "it\'s"}'

/** Fills in what every timer needs. */
const fill = async (page: Page, { namespace = "shop", id = "a", url = hook } = {}) => {
  await page.getByLabel("Namespace", { exact: true }).fill(namespace)
  await page.getByLabel("Id", { exact: true }).fill(id)
  await page.getByLabel("URL", { exact: true }).first().fill(url)
}

const create = (page: Page) => page.getByRole("button", { name: "Create the timer" }).click()

/** Times of the pages are in this zone from now on. */
const chooseBerlin = async (page: Page) => {
  await page.evaluate(`localStorage.setItem("punctual.zone", '"Europe/Berlin"')`)
  await page.reload()
}

describeBrowser("the form for a new timer", (browser) => {
  test("creates a timer with all its fields, exactly as they were typed, and leads to it", () =>
    withConsole({}, async (service) => {
      await using opened = await openConsole(browser(), service, "new")
      const { page } = opened
      await fill(page)
      await page.getByLabel("Delay", { exact: true }).fill("1h30m")
      await page.getByText("1 h 30 m after you create it").waitFor()
      await page.getByLabel("Payload").fill(big)
      await page.getByLabel("Tags").fill("trial,")
      await page.getByLabel("Tags").fill("vip")
      await page.getByLabel("Correlation id").fill("order-1")
      await page.getByText("Method, headers, timeout and body").first().click()
      await page.getByLabel("Method").first().selectOption("PUT")
      await page.getByRole("button", { name: "Add a header" }).click()
      await page.getByLabel("Name of header 1").fill("x-team")
      await page.getByLabel("Value of header 1").fill("billing")
      await page.locator("summary", { hasText: "Retries" }).click()
      await page.getByRole("radio", { name: "A list of waits" }).check()
      await page.getByLabel("Waits", { exact: true }).fill("1m, 5m")
      await page.getByRole("paragraph").filter({ hasText: "3 attempts. Waits: 1 m, 5 m." }).waitFor()
      await page.locator("summary", { hasText: "Expiry" }).click()
      await page.getByLabel("Expires after").fill("2h")
      await page.getByLabel("What happens then").selectOption("drop")
      await page.locator("summary", { hasText: "If it becomes a dead letter" }).click()
      await page.getByRole("radio", { name: "Event", exact: true }).check()
      await create(page)
      // This service has no bus, and says so beside the choice.
      await page.getByRole("alert").filter({ hasText: "onDead" }).waitFor()
      await page.getByRole("group").filter({ hasText: "Who is called" }).getByRole("alert").waitFor()
      await page.getByRole("radio", { name: "Webhook" }).last().check()
      await page.getByLabel("URL", { exact: true }).last().fill("http://dead.test/")
      await create(page)
      await page.getByRole("heading", { name: "The timer is created" }).waitFor()
      const made = await service.call("get", { namespace: "shop", timerId: "a" })
      expect(made.text).toContain(`"payload":${big}`)
      expect(made.json.timer).toMatchObject({
        target: { url: hook, method: "PUT", headers: { "x-team": "billing" } },
        tags: ["trial", "vip"],
        correlationId: "order-1",
        retryPolicy: { waits: ["1m", "5m"] },
        expireAfter: "2h",
        onExpire: "drop",
        onDead: { type: "webhook", url: "http://dead.test/" },
      })
      await page.getByRole("link", { name: "Open the timer" }).click()
      await page.getByRole("heading", { name: "a", level: 1 }).waitFor()
    }))

  test("works by keyboard alone", () =>
    withConsole({}, async (service) => {
      await using opened = await openConsole(browser(), service, "timers")
      const { page } = opened
      await page.getByRole("heading", { name: "Timers", level: 1 }).waitFor()
      await page.keyboard.press("n")
      const namespace = page.getByLabel("Namespace", { exact: true })
      await namespace.focus()
      await typeInto(namespace, "shop")
      await page.keyboard.press("Tab")
      await page.keyboard.type("by-keys")
      // Past the choice of what to do with an existing timer, to the delay, its target and its URL.
      for (let step = 0; step < 3; step++) await page.keyboard.press("Tab")
      expect(await page.evaluate("document.activeElement.value")).toBe("1h")
      await page.keyboard.press("Tab")
      await page.keyboard.press("Tab")
      await page.keyboard.type(hook)
      await page.keyboard.press("Control+Enter")
      await page.getByRole("heading", { name: "The timer is created" }).waitFor()
      await untilFocused(page.getByRole("heading", { name: "The timer is created" }))
      expect((await service.call("get", { namespace: "shop", timerId: "by-keys" })).status).toBe(200)
    }))

  test("says in words what became of the request", () =>
    withConsole({}, async (service) => {
      await using opened = await openConsole(browser(), service, "new")
      const { page } = opened
      await fill(page)
      await page.getByRole("radio", { name: "At a time" }).check()
      await page.getByRole("button", { name: "Tomorrow 9:00" }).click()
      await create(page)
      await page.getByRole("heading", { name: "The timer is created" }).waitFor()
      await create(page)
      await page.getByText("A timer with this id is pending already.").waitFor()
      await page.getByLabel("Payload").fill("1")
      await create(page)
      await page.getByRole("heading", { name: "The timer is replaced" }).waitFor()
      await page.getByLabel("If a timer with this id is pending").selectOption("fail")
      await page.getByLabel("Payload").fill("2")
      await create(page)
      await page.getByRole("alert").filter({ hasText: "is pending" }).waitFor()
      // A time in the past is allowed, with a warning.
      await page.getByLabel("If a timer with this id is pending").selectOption("replace")
      await page.getByLabel("Day").fill("2020-01-01")
      await page.getByText("This time has passed").waitFor()
      await create(page)
      await page.getByRole("heading", { name: "The timer is replaced" }).waitFor()
      await page.getByText(/in the past/).waitFor()
    }))

  test("a double click makes one timer, also without an id", () =>
    withConsole({}, async (service) => {
      await using opened = await openConsole(browser(), service, "new?namespace=shop")
      const { page } = opened
      await page.getByLabel("URL", { exact: true }).first().fill(hook)
      await page.getByRole("button", { name: "Create the timer" }).dblclick()
      await page.getByRole("heading", { name: "The timer is created" }).waitFor()
      await page.keyboard.press("Control+Enter")
      expect(await service.pendingIn("shop")).toBe(1)
      await page.getByRole("button", { name: "Create another" }).click()
      await create(page)
      await page.getByRole("heading", { name: "The timer is created" }).waitFor()
      expect(await service.pendingIn("shop")).toBe(2)
    }))

  test("shows what is wrong beside the field, before and after it is sent", () =>
    withConsole({ egress: "public" }, async (service) => {
      await using opened = await openConsole(browser(), service, "new")
      const { page } = opened
      const errorOf = async (label: string) => {
        const field = page.getByLabel(label, { exact: true }).first()
        const id = (await field.getAttribute("aria-describedby"))?.split(" ").at(-1)
        return page.locator(`[id="${id}"]`).innerText()
      }
      await create(page)
      await page.getByText("The namespace is needed.").waitFor()
      await page.getByText("The URL is needed.").waitFor()
      await untilFocused(page.getByLabel("Namespace", { exact: true }))
      await page.getByLabel("Payload").fill('{"n": }')
      expect(await errorOf("Payload")).toContain("is not JSON")
      await page.getByLabel("Payload").fill("")
      await page.getByLabel("Delay", { exact: true }).fill("soon")
      expect(await errorOf("Delay")).toContain("must be a duration")
      await page.getByLabel("Delay", { exact: true }).fill("1h")
      // The service alone knows these two rules.
      await fill(page, { id: "_dead.x", url: "http://127.0.0.1/hook" })
      await create(page)
      await page.getByText("The service did not accept the request.").waitFor()
      expect(await errorOf("Id")).toContain("reserved")
      await page.getByLabel("Id", { exact: true }).fill("a")
      await create(page)
      await page.getByText("The egress rules of the service do not allow this address").waitFor()
      expect(await errorOf("URL")).toContain("127.0.0.1")
      // An error disappears when its field changes.
      await page.getByLabel("URL", { exact: true }).first().fill("https://example.com/x")
      expect(await page.getByLabel("URL", { exact: true }).first().getAttribute("aria-invalid")).toBeNull()
    }))

  test("says when clocks show a time twice or never, and keeps milliseconds", () =>
    withConsole({}, async (service) => {
      await using opened = await openConsole(browser(), service, "new")
      const { page } = opened
      await chooseBerlin(page)
      await fill(page)
      await page.getByRole("radio", { name: "At a time" }).check()
      await page.getByLabel("Day").fill("2027-03-28")
      await page.getByLabel("Time", { exact: true }).fill("02:30")
      await page.getByText("skip this time. The timer fires at 03:30:00 (+02:00)").waitFor()
      await page.getByLabel("Day").fill("2027-10-31")
      await page.getByLabel("Time", { exact: true }).fill("02:30:00.123")
      await page.getByText("show this time twice").waitFor()
      await page.getByRole("radio", { name: "The second (+01:00)" }).check()
      await page.getByText("Sunday, 31 October 2027, 02:30:00.123 Europe/Berlin").waitFor()
      // Another zone shows the same instant in other words.
      await page.getByRole("button", { name: "Berlin", exact: true }).click()
      await page.getByLabel("Search a time zone").fill("UTC")
      await page.keyboard.press("Enter")
      expect(await page.getByLabel("Time", { exact: true }).inputValue()).toBe("01:30:00.123")
      await create(page)
      await page.getByRole("heading", { name: "The timer is created" }).waitFor()
      const { json } = await service.call("get", { namespace: "shop", timerId: "a" })
      expect(json.timer.executeAt).toBe("2027-10-31T01:30:00.123Z")
    }))

  test("shows the request as JSON, as curl, as a command and as TypeScript, to copy", () =>
    withConsole({}, async (service) => {
      await using opened = await openConsole(browser(), service, "new?namespace=shop")
      const { page } = opened
      await page.getByLabel("URL", { exact: true }).first().fill(hook)
      await page.getByLabel("Payload").fill(big)
      const copies = async (form: string, text: string) => {
        await page.getByRole("radio", { name: form, exact: true }).check()
        await page.getByRole("button", { name: /^(Copy the request|Copied)$/ }).click()
        await eventually(`the copy as ${form}`, async () =>
          String(await page.evaluate("navigator.clipboard.readText()")).includes(text) ? true : undefined,
        )
      }
      await copies("JSON", `"payload": ${big}`)
      await copies("curl", `curl -s ${service.url}/api/v1/timers/create`)
      await copies("CLI", "punctual timers create shop")
      await copies("TypeScript", "await punctual.timers.create({")
    }))

  test("knows the namespace: its name, its retries, and that it is paused", () =>
    withConsole({}, async (service) => {
      await service.post("namespaces/put", {
        namespace: "billing",
        paused: true,
        retryPolicy: { waits: ["7m"] },
      })
      await using opened = await openConsole(browser(), service, "new")
      const { page } = opened
      await page.getByLabel("Namespace", { exact: true }).fill("bill")
      await page.locator('datalist option[value="billing"]').waitFor({ state: "attached" })
      await page.getByLabel("Namespace", { exact: true }).fill("billing")
      await page.getByText("is paused: it accepts the timer, but the timer will wait").waitFor()
      await page.getByText("The policy of the namespace: 2 attempts. Waits: 7 m.").first().waitFor()
      expect(await opened.troubles()).toEqual([])
    }))

  test("begins as a copy of another timer, without its id", () =>
    withConsole({}, async (service) => {
      const target = { type: "webhook", url: hook, headers: { "x-a": "1" }, timeout: "20s" }
      const body = `{"namespace":"shop","timerId":"a/b?c","executeAt":"2030-01-01T09:00:00.123Z","target":${JSON.stringify(target)},"payload":${big},"tags":["x"]}`
      expect((await service.call("create", body)).status).toBe(200)
      await using opened = await openConsole(browser(), service, "timer?namespace=shop&id=a%2Fb%3Fc")
      const { page } = opened
      await page.getByRole("button", { name: "More" }).click()
      await page.getByRole("menuitem", { name: "Duplicate" }).click()
      await page.getByText("This is a copy of shop / a/b?c.").waitFor()
      expect(await page.getByLabel("Payload").inputValue()).toBe(big)
      expect(await page.getByLabel("Id", { exact: true }).inputValue()).toBe("")
      // The service made the correlation id of the first timer for that timer alone.
      expect(await page.getByLabel("Correlation id").inputValue()).toBe("")
      await page.getByLabel("Id", { exact: true }).fill("copy")
      await create(page)
      await page.getByRole("heading", { name: "The timer is created" }).waitFor()
      const { text, json } = await service.call("get", { namespace: "shop", timerId: "copy" })
      expect(text).toContain(`"payload":${big}`)
      expect(json.timer).toMatchObject({ executeAt: "2030-01-01T09:00:00.123Z", target, tags: ["x"] })
    }))

  test("a copy of a timer that does not exist says so", () =>
    withConsole({}, async (service) => {
      await using opened = await openConsole(browser(), service, "new?from=shop&id=none")
      await opened.page.getByRole("heading", { name: "The timer to copy could not be loaded" }).waitFor()
    }))

  test("a reader who may only look sees no form", () =>
    withKeyedConsole({}, async (service, { make }) => {
      const viewer = await make({ label: "looker", actions: ["timers.read"] })
      await using opened = await openConsole(browser(), service, "new")
      await signInWith(opened, viewer)
      await opened.page.getByRole("heading", { name: "Your key may not create timers" }).waitFor()
      expect(await opened.page.getByRole("button", { name: "Create the timer" }).count()).toBe(0)
    }))

  test("a key for some namespaces is told so beside the namespace", () =>
    withKeyedConsole({}, async (service, { make }) => {
      const app = await make({ label: "app", actions: ["timers.write"], namespaces: ["shop", "team-*"] })
      await using opened = await openConsole(browser(), service, "new")
      const { page } = opened
      await signInWith(opened, app)
      await fill(page, { namespace: "billing" })
      await page.getByText("is one in which your key may not create timers").waitFor()
      await page.getByLabel("Namespace", { exact: true }).fill("team-a")
      await create(page)
      await page.getByRole("heading", { name: "The timer is created" }).waitFor()
    }))

  test("is accessible in both themes, and fits a phone, also with errors", () =>
    withConsole({}, async (service) => {
      for (const view of [phone, { width: 1024, theme: "dark" } as const]) {
        await using opened = await openConsole(browser(), service, "new", view)
        const { page } = opened
        await page.getByRole("radio", { name: "At a time" }).check()
        await page.locator("summary", { hasText: "Retries" }).click()
        await page.getByRole("radio", { name: "Growing waits" }).check()
        await create(page)
        await page.getByText("The URL is needed.").waitFor()
        expect([view, await opened.inaccessible()]).toEqual([view, []])
        expect([view, await opened.overflowPixels()]).toEqual([view, 0])
      }
    }))
})
