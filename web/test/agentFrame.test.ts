// What holds for all pages of the agent: how they are served, sign-in, rights, streams, keyboard, themes.
import { expect, setDefaultTimeout, test } from "bun:test"
import type { Page } from "playwright-core"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { eventually } from "../../server/testkit/eventually.ts"
import { openAgent } from "./AgentFixture.ts"
import { withAgentKeys } from "./AgentKeys.ts"
import { desktop } from "./ConsoleFixture.ts"
import { type LiveRun, whenStreaming, withLiveAgent } from "./LiveCalls.ts"

setDefaultTimeout(240_000)

const signIn = async (page: Page, key: string): Promise<void> => {
  await page.getByLabel("API key").fill(key)
  await page.keyboard.press("Enter")
  await page.getByText(/^Signed in as/).waitFor()
}

/** The browser reports each refusal as an error. The page asks for a key, or says what is missing. */
const withoutRefusals = (troubles: ReadonlyArray<string>): ReadonlyArray<string> =>
  troubles.filter((trouble) => !/40[13]/.test(trouble))

/** The service holds its request until the test ends. */
const heldInAnHour = ({ agent }: LiveRun) => ({
  serviceCallId: "a",
  name: "One",
  inMs: 3_600_000,
  request: { url: `${agent.target.url}/hold` },
})

describeBrowser("the agent's pages", (browser) => {
  test("have an address of their own each, strict rules, and files that browsers keep", () =>
    withLiveAgent(async (agent) => {
      for (const [place, heading] of [
        ["calls", "Calls"],
        ["request", "Request"],
      ] as const) {
        await using opened = await openAgent(browser(), agent, place)
        await opened.page.getByRole("heading", { name: heading, level: 1 }).waitFor()
        expect(await opened.troubles()).toEqual([])
      }
      const index = await fetch(`${agent.url}/calls`)
      expect(index.headers.get("content-security-policy")).toContain("default-src 'none'")
      const [, script = ""] = /src="\.\/(main-[^"]+\.js)"/.exec(await index.text()) ?? []
      const file = await fetch(`${agent.url}/${script}`)
      expect(file.headers.get("cache-control")).toContain("immutable")
    }))

  test("work below a path that a proxy adds, with live updates", () =>
    withLiveAgent(async (agent) => {
      using proxy = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        idleTimeout: 0,
        fetch: (request) => {
          const { pathname, search } = new URL(request.url)
          if (!pathname.startsWith("/tools/agent/")) return new Response("not here", { status: 404 })
          return fetch(`${agent.url}${pathname.slice("/tools/agent".length)}${search}`, {
            method: request.method,
            headers: request.headers,
            body: request.body,
            redirect: "manual",
            // The proxy passes compressed bytes on as they are.
            decompress: false,
          })
        },
      })
      await agent.calls.submit(heldInAnHour(agent))
      await using opened = await browser().open(
        `http://127.0.0.1:${proxy.port}/tools/agent/?tenant=shop`,
        desktop,
      )
      const { page } = opened
      await page.getByRole("link", { name: "One" }).click()
      await page.waitForURL(/\/tools\/agent\/call\?/)
      await page.getByText("It is due in").waitFor()
      await whenStreaming(agent)
      await agent.calls.run("a")
      await page.getByText("The request is on its way").waitFor()
      expect(await opened.troubles()).toEqual([])
    }))

  test("of one browser share one stream, and it ends when they are closed", () =>
    withLiveAgent(async (agent) => {
      await agent.calls.submit(heldInAnHour(agent))
      await using opened = await openAgent(browser(), agent, "call?id=a")
      const tabs = [opened.page]
      // Browsers open at most six connections to a service, so a stream for each tab would block the seventh.
      while (tabs.length < 7) {
        const tab = await opened.page.context().newPage()
        await tab.goto(opened.page.url())
        tabs.push(tab)
      }
      for (const tab of tabs) await tab.getByText("It is due in").waitFor()
      await eventually("one stream", async () => ((await agent.readers()) === 1 ? true : undefined))
      await agent.calls.run("a")
      for (const tab of tabs) await tab.getByText("The request is on its way").waitFor()
      for (const tab of tabs) await tab.close()
      await eventually("the end of the stream", async () =>
        (await agent.readers()) === 0 ? true : undefined,
      )
    }))

  test("ask for a key in place, and open the tenant of the key", () =>
    withAgentKeys(async ({ keys, make }) => {
      const writer = await make("anna", { namespaces: ["shop"] })
      await withLiveAgent(
        async (agent) => {
          await agent.calls.submit({ name: "One" })
          await using opened = await browser().open(`${agent.url}/`, desktop)
          const { page } = opened
          await page.getByRole("heading", { name: "Sign in" }).waitFor()
          await signIn(page, writer)
          await page.getByText("anna").waitFor()
          await page.getByRole("link", { name: "One" }).waitFor()
          expect(page.url()).toContain("tenant=shop")
          expect(await page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage })")).not.toContain(
            writer,
          )
          await page.getByRole("button", { name: "Sign out" }).click()
          await page.getByRole("heading", { name: "Sign in" }).waitFor()
          expect(withoutRefusals(await opened.troubles())).toEqual([])
        },
        { keys },
      )
    }))

  test("a reader who may only look sees no way to change anything, and no contents without the right", () =>
    withAgentKeys(async ({ keys, make }) => {
      const reader = await make("paul", { actions: ["calls.read"], namespaces: ["shop"] })
      await withLiveAgent(
        async (agent) => {
          await agent.calls.submit({
            serviceCallId: "a",
            name: "One",
            inMs: 3_600_000,
            request: { method: "POST", body: "secret" },
          })
          await using opened = await openAgent(browser(), agent, "calls")
          const { page } = opened
          await page.getByRole("heading", { name: "Sign in" }).waitFor()
          await signIn(page, reader)
          await page.getByText("may only look").waitFor()
          await page.getByRole("link", { name: "One" }).waitFor()
          expect(await page.getByRole("link", { name: "New request" }).count()).toBe(0)
          expect(await page.getByRole("button", { name: "Change all calls of the list" }).count()).toBe(0)
          expect(await page.getByRole("button", { name: "Star One" }).isDisabled()).toBe(true)
          await page.getByRole("link", { name: "One" }).click()
          await page.getByText("it lacks the action payload.read").waitFor()
          expect(await page.getByRole("button", { name: "Run again" }).count()).toBe(0)
          await page.getByRole("link", { name: "Request" }).click()
          await page.getByRole("heading", { name: "Your key may only look" }).waitFor()
          await page.goto(`${agent.url}/calls?tenant=billing`)
          await page.getByRole("heading", { name: "Your key may not see this" }).waitFor()
          await page.getByText("calls.read in the tenant billing").waitFor()
          expect(withoutRefusals(await opened.troubles())).toEqual([])
        },
        { keys },
      )
    }))

  test("a session that ends in a form loses nothing that was typed", () =>
    withAgentKeys(async ({ keys, make }) => {
      const writer = await make("anna", { namespaces: ["shop"] })
      await withLiveAgent(
        async (agent) => {
          await using opened = await openAgent(browser(), agent, "request")
          const { page } = opened
          await page.getByRole("heading", { name: "Sign in" }).waitFor()
          await signIn(page, writer)
          await page.getByLabel("URL", { exact: true }).fill(`${agent.agent.target.url}/x`)
          await page.context().clearCookies()
          await page.getByRole("button", { name: "Send now" }).click()
          await page.getByRole("heading", { name: "Sign in again" }).waitFor()
          await signIn(page, writer)
          await page.waitForURL(/shown=/)
          await page.getByText("It succeeded with 200").waitFor()
          expect(agent.agent.target.times("/x")).toBe(1)
        },
        { keys },
      )
    }))

  test("a tenant hides headers of its own, at once and for everyone, and a reader without the right sees which", () =>
    withAgentKeys(async ({ keys, make }) => {
      const owner = await make("anna", { namespaces: ["shop"] })
      const app = await make("paul", {
        actions: ["calls.read", "calls.write", "payload.read"],
        namespaces: ["shop"],
      })
      await withLiveAgent(
        async (agent) => {
          const request = {
            url: `${agent.agent.target.url}/x`,
            headers: { "x-customer-token": "secret-mine" },
          }
          await agent.calls.submit({ serviceCallId: "a", name: "One", request })
          await using opened = await openAgent(browser(), agent, "call?id=a")
          const { page } = opened
          await page.getByRole("heading", { name: "Sign in" }).waitFor()
          await signIn(page, owner)
          await page.getByText("secret-mine").waitFor()
          const openSettings = async (of: Page) => {
            await of.locator(".tenant-switch").click()
            await of.getByRole("button", { name: "Settings of shop" }).click()
            return of.getByRole("dialog", { name: "Settings of shop" })
          }
          const dialog = await openSettings(page)
          await dialog.getByLabel("Hidden headers").fill("not a name,")
          await dialog.getByRole("button", { name: "Save" }).click()
          await dialog.getByText("must be an HTTP header name").waitFor()
          await dialog.getByRole("button", { name: "Remove not a name" }).click()
          await dialog.getByLabel("Hidden headers").fill("X-Customer-Token,")
          expect(await opened.inaccessible()).toEqual([])
          await dialog.getByRole("button", { name: "Save" }).click()
          await dialog.waitFor({ state: "detached" })
          await page.getByText("secret-mine").waitFor({ state: "detached" })
          await page.getByRole("button", { name: "Sign out" }).click()
          await page.getByRole("heading", { name: "Sign in" }).waitFor()
          await signIn(page, app)
          const look = await openSettings(page)
          await look.getByText("x-customer-token").waitFor()
          await look.getByText("namespaces.write").waitFor()
          expect(await look.getByRole("button", { name: "Save" }).count()).toBe(0)
        },
        { keys },
      )
    }))

  test("are led by keyboard, and keep the theme and the zone", () =>
    withLiveAgent(async (agent) => {
      await agent.calls.submit({ name: "One" })
      await using opened = await openAgent(browser(), agent, "calls")
      const { page } = opened
      await page.getByRole("link", { name: "One" }).waitFor()
      await page.keyboard.press("n")
      await page.getByRole("heading", { name: "Request", level: 1 }).waitFor()
      await page.locator("main").focus()
      await page.keyboard.press("g")
      await page.getByRole("heading", { name: "Calls", level: 1 }).waitFor()
      await page.keyboard.press("?")
      await page.getByRole("dialog", { name: "Help" }).waitFor()
      await page.keyboard.press("Escape")
      await page.getByRole("dialog").waitFor({ state: "detached" })
      await page.keyboard.press("z")
      await page.getByRole("searchbox", { name: "Search a time zone" }).fill("Tokyo")
      await page.keyboard.press("Enter")
      await page.getByRole("button", { name: "Tokyo" }).waitFor()
      await page.getByRole("button", { name: "Theme" }).click()
      await page.getByRole("menuitem", { name: "Dark" }).click()
      await page.reload()
      await page.getByRole("button", { name: "Tokyo" }).waitFor()
      expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark")
      expect(await opened.troubles()).toEqual([])
    }))
})
