// Sign-in: the console asks for a key where it is needed, says what is wrong with one, and loses nothing meanwhile.
import { expect, setDefaultTimeout, test } from "bun:test"
import type { Page, Route } from "playwright-core"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { eventually } from "../../server/testkit/eventually.ts"
import { openConsole, withConsole } from "./ConsoleFixture.ts"
import { typeInto, untilFocused } from "./focused.ts"
import { signInWith, withKeyedConsole, withoutUnauthorized } from "./KeyedConsole.ts"

setDefaultTimeout(60_000)

/**
 * Acts once, when the page makes the call and before the service gets it. If a test revokes a key earlier, another call
 * of the page may be refused first. Then the dialog covers the button that the test wants to click.
 */
const whenCalled = async (page: Page, call: string, act: () => Promise<void>): Promise<void> => {
  const actFirst = async (route: Route) => {
    await act()
    await route.continue()
  }
  await page.route(`**/api/v1/${call}`, actFirst, { times: 1 })
}

describeBrowser("sign-in", (browser) => {
  test("asks for a key, by keyboard alone, and keeps it neither in the browser nor in the address", () =>
    withKeyedConsole({}, async (service, { admin }) => {
      await service.call(
        "create",
        { namespace: "shop", timerId: "a", delay: "1h", callbackUrl: "http://h.test/" },
        { authorization: `Bearer ${admin.text}` },
      )
      await using opened = await openConsole(browser(), service, "timers?q=id%3Aa")
      const { page } = opened
      const dialog = page.getByRole("dialog", { name: "Sign in" })
      await dialog.waitFor()
      // The field has the focus, and nothing closes the dialog.
      const field = page.getByLabel("API key")
      await untilFocused(field)
      await page.keyboard.press("Escape")
      await page.keyboard.press("Escape")
      // The browser closes the dialog before the page opens it again, and keys between the two are lost.
      await eventually("the text of the key", async () => {
        await field.fill(admin.text)
        return (await field.inputValue()) === admin.text ? true : undefined
      })
      await untilFocused(field)
      await page.keyboard.press("Enter")
      await page.getByRole("link", { name: "shop / a" }).waitFor()
      await page.getByText(/^Signed in as/).waitFor()
      expect(page.url()).toEndWith("timers?q=id%3Aa")
      const kept = await page.evaluate(
        "JSON.stringify([localStorage, sessionStorage, document.cookie, location.href, history.state])",
      )
      expect(kept).not.toContain(admin.text.slice(5, 40))
      expect(withoutUnauthorized(await opened.troubles())).toEqual([])
    }))

  test("says what is wrong with a key, and where to find one", () =>
    withKeyedConsole({}, async (service, { admin, expired, revoked }) => {
      await using opened = await openConsole(browser(), service, "timers")
      const { page } = opened
      const enter = async (text: string) => {
        await page.getByLabel("API key").fill(text)
        await page.getByRole("button", { name: "Sign in" }).click()
      }
      await enter("pnct_wrong")
      await page.getByText("The key is not valid.").waitFor()
      await enter(expired.text)
      await page.getByText("The key has expired.").waitFor()
      await enter(revoked.text)
      await page.getByText("The key has been revoked.").waitFor()
      await page.getByText("Where do I find a key?").click()
      await page.getByText("npm run --silent punctual -- keys create --admin").waitFor()
      await page.getByRole("radio", { name: "Docker" }).check()
      await page.getByText("docker exec punctual punctual keys admin").waitFor()
      await page.getByRole("radio", { name: "Kubernetes" }).check()
      await page.getByText(/^kubectl exec/).waitFor()
      await enter(`  ${admin.text}\n`)
      await page.getByText(/^Signed in as/).waitFor()
    }))

  test("is accessible in both themes, and fits a phone", () =>
    withKeyedConsole({}, async (service) => {
      for (const theme of ["light", "dark"] as const) {
        await using opened = await openConsole(browser(), service, "timers", { width: 390, theme })
        await opened.page.getByText("Where do I find a key?").click()
        expect(await opened.inaccessible({ within: "dialog" })).toEqual([])
        expect(await opened.overflowPixels()).toBe(0)
      }
    }))

  test("a session that ends asks again in place, and the form goes on with what was typed", () =>
    withKeyedConsole({}, async (service, { admin, make, revoke }) => {
      const mine = await make({ label: "mine" })
      await using opened = await openConsole(browser(), service, "new")
      const { page } = opened
      await signInWith(opened, mine)
      await page.getByLabel("Namespace", { exact: true }).fill("shop")
      await page.getByLabel("Id", { exact: true }).fill("kept")
      await page.getByLabel("URL", { exact: true }).first().fill("http://h.test/")
      await page.getByLabel("Payload").fill('{"n": 12345678901234567890123}')
      await whenCalled(page, "timers/create", () => revoke(mine.id))
      await page.getByRole("button", { name: "Create the timer" }).click()
      await page.getByRole("dialog", { name: "Sign in again" }).waitFor()
      await typeInto(page.getByLabel("API key"), admin.text)
      await page.keyboard.press("Enter")
      // The create that was refused is sent again.
      await page.getByRole("heading", { name: "The timer is created" }).waitFor()
      const { text } = await service.call(
        "get",
        { namespace: "shop", timerId: "kept" },
        { authorization: `Bearer ${admin.text}` },
      )
      expect(text).toContain('"payload":{"n": 12345678901234567890123}')
    }))

  test("an open dialog survives it too", () =>
    withKeyedConsole({}, async (service, { admin, make, revoke }) => {
      const mine = await make({ label: "mine" })
      await using opened = await openConsole(browser(), service, "keys")
      const { page } = opened
      await signInWith(opened, mine)
      await page.getByRole("button", { name: "New key" }).click()
      await page.getByLabel("Label").fill("for the robot")
      await whenCalled(page, "keys/create", () => revoke(mine.id))
      await page.getByRole("button", { name: "Make the key" }).click()
      await page.getByRole("dialog", { name: "Sign in again" }).waitFor()
      await typeInto(page.getByLabel("API key"), admin.text)
      await page.keyboard.press("Enter")
      await page.getByRole("dialog", { name: "The key “for the robot”" }).waitFor()
    }))
})

describeBrowser("the first call of a page", (browser) => {
  test("if it is refused by the rules about hosts, the page says so", () =>
    withConsole({}, async (service) => {
      await using opened = await openConsole(browser(), service, "timers")
      const { page } = opened
      await page.route("**/api/v1/**", (route) =>
        route.fulfill({
          status: 403,
          contentType: "application/problem+json",
          body: JSON.stringify({ code: "forbidden", detail: "The request is for the host x.test." }),
        }),
      )
      await page.reload()
      await page.getByRole("heading", { name: "The service refuses this page" }).waitFor()
      await page.getByText("The request is for the host x.test.").waitFor()
      await page.getByRole("button", { name: "Try again" }).waitFor()
      // The page goes on by itself.
      await page.unroute("**/api/v1/**")
      await page.getByRole("heading", { name: "Nothing is pending" }).waitFor()
    }))

  test("if the service does not answer, the page says so and goes on trying", () =>
    withConsole({}, async (service) => {
      await using opened = await openConsole(browser(), service, "timers")
      const { page } = opened
      let isDown = true
      await page.clock.install()
      await page.route("**/api/v1/**", (route) => (isDown ? route.abort() : route.continue()))
      await page.reload()
      const problem = page.getByRole("heading", { name: "The service does not answer" })
      for (let second = 0; second < 30 && !(await problem.isVisible()); second++) {
        await page.clock.runFor(1_000)
      }
      await problem.waitFor()
      isDown = false
      await page.clock.runFor(6_000)
      await page.getByRole("heading", { name: "Timers", level: 1 }).waitFor()
    }))
})
