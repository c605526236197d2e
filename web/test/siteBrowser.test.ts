// The documentation in a real browser: on a phone and a wide screen, in both themes, by keyboard, without scripts, below
// a path of a proxy, and from a folder.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { writeSite } from "../../scripts/site.ts"
import { proxyBelow } from "../../server/test/http/proxyBelow.ts"
import type { RunningService } from "../../server/test/http/ServiceFixture.ts"
import { type BrowserPage, colourRules, describeBrowser, type View } from "../../server/testkit/Browser.ts"
import { eventually } from "../../server/testkit/eventually.ts"
import { TemporaryFolder } from "../../server/testkit/TemporaryFolder.ts"
import { withSite } from "./SiteFixture.ts"

setDefaultTimeout(60_000)

const phone: View = { width: 390, theme: "light" }
const laptop: View = { width: 1024, theme: "light" }
const wide: View = { width: 1600, theme: "light" }

/** A page with long tables, one with charts, one with a diagram, and the longest. */
const wideContents = ["limits", "benchmarks", "architecture", "guides/operate"]
/** A page with pictures and code, and a short guide. Together they have everything that has a colour. */
const colourful = ["index", "guides/tune"]

const searchBox = ({ page }: BrowserPage) => page.getByRole("searchbox", { name: "Search the documentation" })

/** How far parts of the page have moved without the reader's doing. */
const layoutShift = ({ page }: BrowserPage): Promise<number> =>
  page.evaluate(
    `new Promise((resolve) => {
      let sum = 0
      new PerformanceObserver((list) => { for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value })
        .observe({ type: "layout-shift", buffered: true })
      requestAnimationFrame(() => requestAnimationFrame(() => resolve(sum)))
    })`,
  )

describeBrowser("the documentation in a browser", (browser) => {
  const stop = Promise.withResolvers<void>()
  let service: RunningService
  let stopped: Promise<void>
  beforeAll(async () => {
    const started = Promise.withResolvers<void>()
    stopped = withSite((running) => {
      service = running
      started.resolve()
      return stop.promise
    })
    await Promise.race([started.promise, stopped])
  })
  afterAll(() => {
    stop.resolve()
    return stopped
  })

  const withPage = async (
    name: string,
    view: View,
    use: (opened: BrowserPage) => Promise<void>,
    base = `${service.url}/docs/`,
  ): Promise<void> => {
    await using opened = await browser().open(base + name, view)
    await use(opened)
  }

  describe("looks right", () => {
    for (const view of [phone, wide]) {
      test(`at ${view.width} pixels, in both themes: nothing is out of sight, refused, moving or inaccessible`, () =>
        withPage("index.html", view, async (opened) => {
          for (const name of [...wideContents, ...colourful]) {
            await opened.page.goto(`${service.url}/docs/${name}.html`)
            expect([name, await opened.overflowPixels()]).toEqual([name, 0])
            expect([name, await layoutShift(opened)]).toEqual([name, 0])
          }
          for (const name of colourful) {
            await opened.page.goto(`${service.url}/docs/${name}.html`)
            await opened.page.emulateMedia({ colorScheme: "light" })
            expect([name, await opened.inaccessible()]).toEqual([name, []])
            await opened.page.emulateMedia({ colorScheme: "dark" })
            expect([name, await opened.inaccessible({ rules: colourRules })]).toEqual([name, []])
          }
          expect(await opened.troubles()).toEqual([])
        }))
    }
  })

  describe("the search", () => {
    test("opens with /, loads its index only then, and works by keyboard alone", () =>
      withPage("guides/webhooks.html", wide, async (opened) => {
        const { page } = opened
        const asked: Array<string> = []
        page.on("request", (request) => void asked.push(request.url()))
        await page.keyboard.press("/")
        await searchBox(opened).waitFor()
        await page.keyboard.type("timer_egress")
        await page.getByText("sections, the best first").waitFor()
        expect(asked.filter((url) => url.includes("/search-")).length).toBe(1)
        expect(await opened.inaccessible({ within: "dialog" })).toEqual([])
        const first = page.locator("dialog a").first()
        await page.keyboard.press("ArrowDown")
        expect(await first.evaluate((link) => link === document.activeElement)).toBe(true)
        await page.keyboard.press("ArrowUp")
        expect(await searchBox(opened).evaluate((box) => box === document.activeElement)).toBe(true)
        const address = await first.getAttribute("href")
        await page.keyboard.press("Enter")
        await page.waitForURL(
          (url) => url.href === new URL(address ?? "", `${service.url}/docs/guides/`).href,
        )
        expect(await opened.troubles()).toEqual([])
      }))

    test("says so if nothing matches, closes with Escape, and shows text of a query as text", () =>
      withPage("index.html", phone, async (opened) => {
        const { page } = opened
        await page.getByRole("button", { name: "Search" }).click()
        await searchBox(opened).fill("<img src=x onerror=alert(1)> (unbalanced[")
        await page.getByText("Nothing has all of these words.").waitFor()
        await searchBox(opened).fill("<file>")
        expect(await page.locator("dialog mark").first().textContent()).toContain("<file>")
        expect(await opened.overflowPixels()).toBe(0)
        await page.keyboard.press("Escape")
        expect(await page.locator("dialog").isVisible()).toBe(false)
        expect(await opened.troubles()).toEqual([])
      }))
  })

  test("the theme follows the system, can be changed, is remembered, and pictures change with it", () =>
    withPage("index.html", wide, async ({ page }) => {
      const shown = (theme: string) => page.locator(`.only-${theme}`).first().isVisible()
      expect([await shown("light"), await shown("dark")]).toEqual([true, false])
      await page.getByRole("button", { name: "Use the dark theme" }).click()
      expect([await shown("light"), await shown("dark")]).toEqual([false, true])
      await page.goto(`${service.url}/docs/api`)
      expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark")
      await page.goto(`${service.url}/docs/`)
      await page.getByRole("button", { name: "Use the light theme" }).click()
      await page.reload()
      expect([await shown("light"), await shown("dark")]).toEqual([true, false])
    }))

  test("code can be copied, as it is written", () =>
    withPage("index.html", laptop, async ({ page }) => {
      const block = page.locator(".code[data-language=sh]").nth(1)
      await block.hover()
      await block.getByRole("button", { name: "Copy" }).click()
      await block.getByRole("button", { name: "Copied" }).waitFor()
      const copied = String(await page.evaluate("navigator.clipboard.readText()"))
      expect(copied).toStartWith(
        "curl -s localhost:8080/api/v1/timers/create -H 'content-type: application/json' -d '{\n",
      )
    }))

  test("the list of sections marks the one that is being read, and a heading has a link to itself", () =>
    withPage("guides/operate.html", wide, async ({ page }) => {
      const current = page.locator("#sections [aria-current]")
      await page.locator("#sections").getByRole("link", { name: "Metrics", exact: true }).click()
      await eventually("the section is marked", async () => (await current.textContent()) === "Metrics")
      await page.getByRole("heading", { name: "Metrics" }).hover()
      await page.getByRole("link", { name: "Link to the section: Metrics" }).click()
      expect(page.url()).toEndWith("#metrics")
    }))

  test("without scripts: menu and sections open on a phone, and no dead control shows", () =>
    withPage("guides/operate.html", { ...phone, hasScript: false }, async (opened) => {
      const { page } = opened
      for (const control of ["#search-open", "#theme", ".copy"]) {
        expect([control, await page.locator(control).first().isVisible()]).toEqual([control, false])
      }
      await page.getByRole("button", { name: "On this page" }).click()
      expect(await page.locator("#sections a").first().isVisible()).toBe(true)
      await page.keyboard.press("Escape")
      await page.getByRole("button", { name: "Menu" }).click()
      await page.locator("#menu").getByRole("link", { name: "Kafka" }).click()
      await page.waitForURL(/\/docs\/guides\/kafka\.html$/)
    }))

  test("works below a path that a proxy adds, and from a folder without a server", async () => {
    using proxy = proxyBelow("/tools/timers", service.url)
    using folder = new TemporaryFolder()
    const place = join(folder.path, "site")
    await writeSite(place)
    for (const base of [`http://127.0.0.1:${proxy.port}/tools/timers/docs/`, `${pathToFileURL(place)}/`]) {
      await withPage(
        "index.html",
        wide,
        async (opened) => {
          const { page } = opened
          await page.locator("#menu").getByRole("link", { name: "Cassandra" }).click()
          await page.getByRole("heading", { name: "Timers in Cassandra" }).waitFor()
          await page.keyboard.press("/")
          await searchBox(opened).fill("rabbitmq")
          await page.getByText("sections, the best first").waitFor()
          await page.keyboard.press("Enter")
          await page.getByRole("heading", { name: "Timers over RabbitMQ", level: 1 }).waitFor()
          await page.getByRole("link", { name: "API reference" }).first().click()
          await page.getByRole("heading", { name: "Punctual API reference" }).waitFor()
          expect(await opened.troubles()).toEqual([])
        },
        base,
      )
    }
  })
})
