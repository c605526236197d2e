// The page Keys: who may call the service, and how keys are made, rotated, confirmed and revoked.
import { expect, setDefaultTimeout, test } from "bun:test"
import type { Page } from "playwright-core"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { eventually } from "../../server/testkit/eventually.ts"
import { openConsole, phone, stopLiveUpdates, withConsole } from "./ConsoleFixture.ts"
import { signInWith, withKeyedConsole, withoutUnauthorized } from "./KeyedConsole.ts"

setDefaultTimeout(60_000)

const shownText = async (page: Page) => page.locator(".key-text code").innerText()

const menuOf = async (page: Page, label: string, item: string) => {
  await page.getByRole("button", { name: `Actions for ${label}` }).click()
  await page.getByRole("menuitem", { name: item }).click()
}

const rowOf = (page: Page, label: string) => page.getByRole("row").filter({ hasText: label })

describeBrowser("the page Keys", (browser) => {
  test("without keys it explains them, and the first key signs its maker in", () =>
    withConsole({}, async (service) => {
      await using opened = await openConsole(browser(), service, "keys")
      const { page } = opened
      await page.getByRole("heading", { name: /^There are no keys/ }).waitFor()
      await page.getByText("npm run --silent punctual -- keys create --admin").waitFor()
      await page.getByRole("button", { name: "Make the first key" }).click()
      await page.getByRole("button", { name: "Make the key" }).click()
      await page.getByText("From now on every call needs a key.").waitFor()
      const text = await shownText(page)
      await page.getByRole("button", { name: "Copy the key" }).click()
      await eventually("the copy", async () =>
        (await page.evaluate("navigator.clipboard.readText()")) === text ? true : undefined,
      )
      await page.getByRole("button", { name: "I have copied it" }).click()
      await rowOf(page, "administrator").getByText("yours").waitFor()
      expect((await service.post("keys/list", {})).status).toBe(401)
      expect(withoutUnauthorized(await opened.troubles())).toEqual([])
    }))

  test("makes a key with a role, and one with single actions, and shows its text once", () =>
    withKeyedConsole({}, async (service, { admin }) => {
      await using opened = await openConsole(browser(), service, "keys")
      const { page } = opened
      await signInWith(opened, admin)
      await page.getByRole("button", { name: "New key" }).click()
      await page.getByLabel("Label").fill("billing service")
      await page.getByRole("textbox", { name: "Namespaces" }).fill("billing,")
      await page.getByRole("textbox", { name: "Namespaces" }).fill("team-*")
      await page.getByLabel("It stops working").selectOption("30d")
      await page.getByRole("button", { name: "Make the key" }).click()
      await page.getByText("Copy the key now.").waitFor()
      const text = await shownText(page)
      // Only the button closes it.
      await page.keyboard.press("Escape")
      await page.getByText("Copy the key now.").waitFor()
      await page.getByRole("button", { name: "I have copied it" }).click()
      const row = await rowOf(page, "billing service").innerText()
      for (const words of ["active", "App", "billing, team-*"]) expect(row).toContain(words)
      expect(row).toMatch(/in (29 d|30 d)/)
      expect(await page.content()).not.toContain(text)
      const self = await service.post("keys/self", {}, { authorization: `Bearer ${text}` })
      expect(self.json.namespaces).toEqual(["billing", "team-*"])

      await page.getByRole("button", { name: "New key" }).press("Enter")
      await page.getByLabel("Label").fill("exporter")
      await page.getByRole("radio", { name: /^Single actions/ }).press("Space")
      await page.getByRole("checkbox", { name: /^see timers/ }).press("Space")
      await page.getByRole("checkbox", { name: /^see the state of the service/ }).press("Space")
      await page.getByRole("textbox", { name: "Namespaces" }).fill("shop")
      await page.getByLabel("Label").press("Enter")
      // The service refuses a right that the key could not use, and says which.
      await page.getByText("concerns the whole service").first().waitFor()
      await page.getByRole("checkbox", { name: /^see the state of the service/ }).press("Space")
      await page.getByLabel("Label").press("Enter")
      await page.getByText("Copy the key now.").waitFor()
      await page.getByRole("button", { name: "I have copied it" }).press("Enter")
      expect(await rowOf(page, "exporter").innerText()).toContain("see timers")
    }))

  test("rotates the reader's own key without signing the reader out", () =>
    withKeyedConsole({}, async (service, { admin }) => {
      await using opened = await openConsole(browser(), service, "keys")
      const { page } = opened
      await signInWith(opened, admin)
      await menuOf(page, "anna", "Rotate")
      await page.getByLabel("How long the old text still works").selectOption("0s")
      await page.getByRole("button", { name: "Rotate" }).click()
      await page.getByText("The old text does not work any more.").waitFor()
      const text = await shownText(page)
      await page.getByRole("button", { name: "I have copied it" }).click()
      await rowOf(page, "anna").waitFor()
      const statusOf = async (key: string) =>
        (await service.post("keys/self", {}, { authorization: `Bearer ${key}` })).status
      expect([await statusOf(text), await statusOf(admin.text)]).toEqual([200, 401])
      expect(await page.getByRole("dialog").count()).toBe(0)
    }))

  test("revokes a key after a question, which warns about the reader's own and the last administrator's", () =>
    withKeyedConsole({}, async (service, { admin, make }) => {
      await make({ label: "robot", actions: ["timers.read"] })
      await using opened = await openConsole(browser(), service, "keys")
      const { page } = opened
      await signInWith(opened, admin)
      await menuOf(page, "robot", "Revoke")
      expect(await page.getByText("This is your own key.").count()).toBe(0)
      await page.getByRole("button", { name: "Revoke the key" }).click()
      await page.getByText("The key “robot” is revoked.").waitFor()
      // Keys that have ended are out of sight, until the reader wants to see them.
      await page.getByRole("button", { name: "Show 3 that have ended" }).click()
      expect(await rowOf(page, "robot").innerText()).toContain("revoked")
      expect(await rowOf(page, "old").innerText()).toContain("expired")
      expect(page.url()).toContain("ended=1")
      await menuOf(page, "anna", "Revoke")
      await page.getByText("This is your own key.").waitFor()
      await page.getByText("This is the last administrator's key.").waitFor()
      await page.getByRole("button", { name: "Close" }).last().click()
      expect(await rowOf(page, "anna").innerText()).toContain("active")
    }))

  test("a reader without the right sees the own rights, and can revoke a leaked key by its text", () =>
    withKeyedConsole({}, async (service, { make }) => {
      const [viewer, leaked] = [
        await make({ label: "looker", actions: ["timers.read"], namespaces: ["shop"] }),
        await make({ label: "leaked" }),
      ]
      await using opened = await openConsole(browser(), service, "keys")
      const { page } = opened
      await signInWith(opened, viewer)
      await page.getByRole("heading", { name: "Your key may not manage keys" }).waitFor()
      await page.getByText("see timers").waitFor()
      expect(await page.getByRole("button", { name: "New key" }).count()).toBe(0)
      const revoke = async (text: string) => {
        await page.getByRole("button", { name: "Revoke a leaked key" }).click()
        await page.getByLabel("Text of the key").fill(text)
        await page.keyboard.press("Enter")
      }
      await revoke("pnct_no_such")
      await page.getByText("There is no key with this text.").waitFor()
      await page.keyboard.press("Escape")
      await revoke(leaked.text)
      await page.getByText("The key is revoked.").waitFor()
      await revoke(leaked.text)
      await page.getByText("The key had been revoked already.").waitFor()
    }))

  test("after a restore, it asks to confirm the keys of the backup", () =>
    withKeyedConsole({}, async (service, { admin }) => {
      await using opened = await openConsole(browser(), service, "keys")
      const { page } = opened
      await signInWith(opened, admin)
      await rowOf(page, "anna").waitFor()
      let isConfirmed = false
      await page.route("**/keys/list", async (route) => {
        const response = await route.fetch()
        const body = await response.json().catch(() => undefined)
        // The page was left before the answer had arrived. It asks again when it is back.
        if (body === undefined) return route.abort().catch(() => {})
        const { keys } = body
        const state = isConfirmed ? "active" : "unconfirmed"
        const changed = keys.map((key: { id: string }) => (key.id === admin.id ? key : { ...key, state }))
        await route.fulfill({ response, json: { keys: changed } })
      })
      await page.route("**/keys/confirm", async (route) => {
        isConfirmed = true
        await route.fulfill({ json: { confirmed: ["a", "b"] } })
      })
      await page.reload()
      await page.getByText("The store was restored from a backup. 2 keys do not work").waitFor()
      await page.getByRole("button", { name: "Confirm all" }).click()
      await page.getByText("2 keys work again.").waitFor()
    }))

  test("says that the list failed, and tries again", () =>
    withConsole({}, async (service) => {
      await using opened = await openConsole(browser(), service, "keys")
      const { page } = opened
      await stopLiveUpdates(page)
      await page.route("**/keys/list", (route) =>
        route.fulfill({ status: 500, json: { code: "internal", detail: "The service failed." } }),
      )
      await page.reload()
      await page.getByRole("heading", { name: "The keys could not be loaded" }).waitFor()
      await page.unroute("**/keys/list")
      await page.getByRole("button", { name: "Try again" }).click()
      await page.getByRole("heading", { name: /^There are no keys/ }).waitFor()
    }))

  test("is accessible in both themes, and fits a phone", () =>
    withKeyedConsole({}, async (service, { admin }) => {
      for (const view of [phone, { width: 1024, theme: "dark" } as const]) {
        await using opened = await openConsole(browser(), service, "keys?ended=1", view)
        const { page } = opened
        await signInWith(opened, admin)
        await rowOf(page, "old").waitFor()
        expect([view, await opened.inaccessible()]).toEqual([view, []])
        expect([view, await opened.overflowPixels()]).toEqual([view, 0])
        await page.getByRole("button", { name: "New key" }).click()
        await page.getByRole("radio", { name: /^Single actions/ }).check()
        expect([view, await opened.inaccessible({ within: "dialog" })]).toEqual([view, []])
      }
    }))
})
