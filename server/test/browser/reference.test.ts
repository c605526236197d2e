// The reference page in a real browser: on a phone, a laptop and a wide screen, in both themes, and what its script does.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { type BrowserPage, describeBrowser, type View } from "../../testkit/Browser.ts"
import { eventually } from "../../testkit/eventually.ts"
import { proxyBelow } from "../http/proxyBelow.ts"
import { type RunningService, withService } from "../http/ServiceFixture.ts"

setDefaultTimeout(60_000)

const phone: View = { width: 390, theme: "light" }
const laptop: View = { width: 1024, theme: "light" }
const wide: View = { width: 1600, theme: "light" }
const views = [phone, laptop, wide].flatMap((view) => [view, { ...view, theme: "dark" } as const])

/**
 * The rules of accessibility that are checked in a view: all of them (an empty list), some, or none. The page is long, and one
 * check takes 10 s. The laptop has nothing that the other two widths do not have. The themes differ only in their colours, which
 * are the same at every width.
 */
const rulesFor = ({ width, theme }: View): ReadonlyArray<string> | undefined => {
  if (theme === "light") return width === laptop.width ? undefined : []
  return width === phone.width ? ["color-contrast", "link-in-text-block"] : undefined
}

const create = '[id="timers.create"]'
const copyButton = `${create} figure:has-text("curl") .copy`

const backgroundOf = async ({ page }: BrowserPage): Promise<string> =>
  String(await page.evaluate("getComputedStyle(document.body).backgroundColor"))

const dark = "rgb(16, 20, 29)"
const light = "rgb(255, 255, 255)"

/** The id of the element that has the focus. */
const focusOf = async ({ page }: BrowserPage): Promise<string> =>
  String(await page.evaluate("document.activeElement.id"))

describeBrowser("the reference page in a browser", (browser) => {
  const stop = Promise.withResolvers<void>()
  let service: RunningService
  let stopped: Promise<void>
  beforeAll(async () => {
    const started = Promise.withResolvers<void>()
    stopped = withService({}, (running) => {
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
    view: View,
    use: (opened: BrowserPage) => Promise<void>,
    base = service.url,
    path = "/docs/api",
  ): Promise<void> => {
    await using opened = await browser().open(base + path, view)
    await use(opened)
  }

  describe("looks right", () => {
    for (const view of views) {
      const rules = rulesFor(view)
      const law = `nothing is out of sight${rules === undefined ? " or refused" : ", refused or inaccessible"}`
      test(`at ${view.width} pixels, ${view.theme}: ${law}`, () =>
        withPage(view, async (opened) => {
          await opened.page.evaluate(
            "document.querySelectorAll('details').forEach((it) => { it.open = true })",
          )
          expect(await backgroundOf(opened)).toBe(view.theme === "dark" ? dark : light)
          expect(await opened.overflowPixels()).toBe(0)
          expect(await opened.troubles()).toEqual([])
          if (rules !== undefined) expect(await opened.inaccessible({ rules })).toEqual([])
        }))
    }

    test("without its script: the navigation is on the page, also on a phone, and no dead control shows", () =>
      withPage({ ...phone, hasScript: false }, async ({ page }) => {
        expect(await page.locator("#nav a").first().isVisible()).toBe(true)
        for (const control of ["#menu", "#theme", "#filter"]) {
          expect([control, await page.locator(control).isVisible()]).toEqual([control, false])
        }
      }))
  })

  describe("the filter", () => {
    test("leaves only the links with all its words, says so if there is none, and brings them back", () =>
      withPage(laptop, async ({ page }) => {
        const links = page.locator("#nav a:visible")
        const all = await links.allTextContents()
        await page.locator("#filter").fill("CREATE many")
        const found = await links.evaluateAll((shown) =>
          shown.map((link) => `${link.textContent} ${link.getAttribute("href")}`),
        )
        expect(found.filter((link) => link.endsWith("#timers.createMany")).length).toBe(1)
        expect(found.filter((link) => !/create/i.test(link) || !/many/i.test(link))).toEqual([])
        expect(await page.locator("#nothing").isVisible()).toBe(false)
        await page.locator("#filter").fill("no call has this name")
        expect(await links.count()).toBe(0)
        expect(await page.locator("#nav h2:visible").count()).toBe(0)
        expect(await page.locator("#nothing").isVisible()).toBe(true)
        await page.locator("#filter").fill("")
        expect(await links.allTextContents()).toEqual(all)
      }))
  })

  describe("the theme", () => {
    test("follows the system until the reader chooses one, and the choice is remembered", () =>
      withPage(laptop, async (opened) => {
        const { page } = opened
        expect(await backgroundOf(opened)).toBe(light)
        await page.getByRole("button", { name: "Use the dark theme" }).click()
        expect(await backgroundOf(opened)).toBe(dark)
        expect(await page.locator("#theme").textContent()).toBe("Light")
        await page.reload()
        expect(await backgroundOf(opened)).toBe(dark)
        await page.getByRole("button", { name: "Use the light theme" }).click()
        expect(await backgroundOf(opened)).toBe(light)
        await page.emulateMedia({ colorScheme: "dark" })
        expect(await backgroundOf(opened)).toBe(light)
        expect(await opened.troubles()).toEqual([])
      }))
  })

  describe("the menu of a phone", () => {
    test("opens and closes by keyboard, and Escape gives the focus back", () =>
      withPage(phone, async (opened) => {
        const { page } = opened
        const menu = page.locator("#menu")
        const nav = page.locator("#nav")
        expect(await nav.isVisible()).toBe(false)
        // The first stop is the link that skips to the content.
        await page.keyboard.press("Tab")
        await page.keyboard.press("Tab")
        expect(await focusOf(opened)).toBe("menu")
        await page.keyboard.press("Enter")
        expect([await nav.isVisible(), await menu.getAttribute("aria-expanded")]).toEqual([true, "true"])
        expect(await opened.overflowPixels()).toBe(0)
        expect(await opened.inaccessible({ within: "#nav" })).toEqual([])
        // Past the name of the page and the theme.
        for (let stop = 0; stop < 3; stop++) await page.keyboard.press("Tab")
        expect(await focusOf(opened)).toBe("filter")
        await page.keyboard.press("Escape")
        expect([await nav.isVisible(), await menu.getAttribute("aria-expanded")]).toEqual([false, "false"])
        expect(await focusOf(opened)).toBe("menu")
        await page.keyboard.press("Space")
        expect(await nav.isVisible()).toBe(true)
        await page.keyboard.press("Space")
        expect(await nav.isVisible()).toBe(false)
      }))

    test("closes when the reader follows a link, which leads to its call", () =>
      withPage(phone, async ({ page }) => {
        await page.locator("#menu").press("Enter")
        await page.locator('#nav a[href="#timers.create"]').press("Enter")
        expect(await page.locator("#nav").isVisible()).toBe(false)
        await eventually("the call is at the top", async () => {
          const top = (await page.locator(create).boundingBox())?.y
          return top !== undefined && top >= 0 && top < 200 ? true : undefined
        })
      }))
  })

  describe("the navigation of a laptop", () => {
    test("marks the call that is being read, and a link to a problem opens it", () =>
      withPage(
        laptop,
        async ({ page }) => {
          await page.locator('#nav a[href="#timers.create"][aria-current="true"]').waitFor()
          expect(await page.locator("#nav a[aria-current]").count()).toBe(1)
          const problem = page.locator('[id="problem.timerNotFound"] details')
          expect(await problem.getAttribute("open")).toBeNull()
          await page.locator('main a[href="#problem.timerNotFound"]').first().click()
          await page.locator('[id="problem.timerNotFound"] details[open]').waitFor()
        },
        service.url,
        "/docs/api#timers.create",
      ))
  })

  describe("a copy button", () => {
    test("copies a command that reaches this very service", () =>
      withPage(wide, async ({ page }) => {
        await page.locator(copyButton).click()
        await page.locator(copyButton, { hasText: "Copied" }).waitFor()
        const command = String(await page.evaluate("navigator.clipboard.readText()"))
        const [, address = "", body = ""] = /^curl (\S+) \\\n.* -d '(.*)'$/s.exec(command) ?? []
        const answer = await fetch(address, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body,
        })
        expect([command, answer.status]).toEqual([command, 200])
      }))

    test("marks the command where the browser forbids to copy, as on another host without HTTPS", () =>
      withPage(
        wide,
        async (opened) => {
          const { page } = opened
          await page.locator(copyButton).click()
          await page.locator(copyButton, { hasText: "Press Ctrl+C" }).waitFor()
          const marked = String(await page.evaluate("getSelection().toString()"))
          expect(marked).toStartWith(`curl http://punctual.test:${service.port}/api/v1/`)
          expect(await opened.troubles()).toEqual([])
        },
        `http://punctual.test:${service.port}`,
      ))
  })

  describe("behind a proxy that serves it below a path", () => {
    test("the page has its style and script, and its examples name the proxy", async () => {
      using proxy = proxyBelow("/tools/punctual", service.url)
      const base = `http://127.0.0.1:${proxy.port}/tools/punctual`
      const check = async (opened: BrowserPage) => {
        const { page } = opened
        expect(page.url()).toBe(`${base}/docs/api`)
        expect(await backgroundOf(opened)).toBe(dark)
        expect(await page.locator(`${create} .base`).first().textContent()).toBe(base)
        expect(await opened.troubles()).toEqual([])
        await page.locator('header a[href="../openapi.json"]').click()
        await page.waitForURL(`${base}/openapi.json`)
      }
      await withPage({ ...wide, theme: "dark" }, check, base, "/")
    })
  })
})
