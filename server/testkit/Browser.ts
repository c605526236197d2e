// A real Chromium for the tests of pages. A page that it opens records everything that goes wrong in it: errors on its
// console, refusals by its security policy, failed requests, and requests to other hosts.
import { afterAll, beforeAll } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import axe from "axe-core"
import { type BrowserContext, type Browser as Chromium, chromium, type Page } from "playwright-core"
import { chromiumBinary, environmentOf, fontSettingsOf } from "./ChromiumBinary.ts"
import { describeNeeding } from "./describeUnless.ts"
import { TemporaryFolder } from "./TemporaryFolder.ts"

export interface View {
  readonly width: number
  /** What the reader's system prefers. */
  readonly theme: "light" | "dark"
  /** False for a browser without scripts. */
  readonly hasScript?: boolean
  /** The reader's time zone; by default that of the machine. */
  readonly zone?: string
  /** For hosts with a certificate of a test authority. */
  readonly trustsAllCertificates?: boolean
}

export interface AxeScope {
  /** A selector. */
  readonly within?: string
  /** The names of some of its rules, such as `color-contrast`. */
  readonly rules?: ReadonlyArray<string>
}

/** The themes differ only in their colours. So a page has all rules in the light theme, and these in the dark one. */
export const colourRules: ReadonlyArray<string> = ["color-contrast", "link-in-text-block"]

const height = 900
const startWithinMs = 60_000

const flags = [
  // Root cannot use the sandbox, and every page of the tests is our own.
  "--no-sandbox",
  "--disable-gpu",
  // In containers /dev/shm is often too small.
  "--disable-dev-shm-usage",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-proxy-server",
  // Only this machine is reachable. Names that end in .test lead to it, as hosts without HTTPS.
  "--host-resolver-rules=MAP *.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]

/** The tests that need a browser. They share one. Without one, they are skipped by name, or fail in CI. */
export const describeBrowser = (name: string, body: (browser: () => Browser) => void): void => {
  const binary = chromiumBinary()
  describeNeeding("missing" in binary ? binary.missing : undefined, name, () => {
    let browser: Browser | undefined
    beforeAll(async () => {
      browser = await Browser.start()
    }, startWithinMs)
    afterAll(() => browser?.[Symbol.asyncDispose]())
    body(() => {
      if (browser === undefined) throw new Error("the browser has not started")
      return browser
    })
  })
}

export class Browser implements AsyncDisposable {
  readonly #chromium: Chromium
  readonly #home: TemporaryFolder

  private constructor(running: Chromium, home: TemporaryFolder) {
    this.#chromium = running
    this.#home = home
  }

  static async start(): Promise<Browser> {
    const binary = chromiumBinary()
    if ("missing" in binary) throw new Error(binary.missing)
    const home = new TemporaryFolder()
    try {
      const fontSettings = join(home.path, "fonts.conf")
      writeFileSync(fontSettings, fontSettingsOf(binary))
      const running = await chromium.launch({
        executablePath: binary.path,
        args: flags,
        timeout: startWithinMs,
        env: { PATH: process.env["PATH"] ?? "", HOME: home.path, ...environmentOf(binary, fontSettings) },
      })
      return new Browser(running, home)
    } catch (cause) {
      home[Symbol.dispose]()
      throw cause
    }
  }

  /** Opens a page as a new reader, who has no storage from earlier pages and may use the clipboard. */
  async open(url: string, view: View): Promise<BrowserPage> {
    const { width, theme, hasScript = true, zone, trustsAllCertificates = false } = view
    const context = await this.#chromium.newContext({
      viewport: { width, height },
      colorScheme: theme,
      javaScriptEnabled: hasScript,
      ignoreHTTPSErrors: trustsAllCertificates,
      ...(zone === undefined ? {} : { timezoneId: zone }),
    })
    try {
      await context.grantPermissions(["clipboard-read", "clipboard-write"])
      const opened = new BrowserPage(context, await context.newPage(), new URL(url).origin, theme)
      await opened.page.goto(url)
      return opened
    } catch (cause) {
      await context.close()
      throw cause
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#chromium.close()
    this.#home[Symbol.dispose]()
  }
}

export class BrowserPage implements AsyncDisposable {
  readonly page: Page
  readonly #context: BrowserContext
  readonly #usualRules: ReadonlyArray<string>
  readonly #troubles: Array<string> = []
  #hasAxe = false

  constructor(context: BrowserContext, page: Page, origin: string, theme: View["theme"]) {
    this.page = page
    this.#context = context
    this.#usualRules = theme === "dark" ? colourRules : []
    const note = (trouble: string) => void this.#troubles.push(trouble)
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) note(`${message.type()}: ${message.text()}`)
    })
    // A new document does not have axe yet.
    page.on("framenavigated", () => {
      this.#hasAxe = false
    })
    page.on("pageerror", (error) => note(`uncaught: ${error.message}`))
    page.on("request", (request) => {
      if (new URL(request.url()).origin !== origin) note(`asked another host: ${request.url()}`)
    })
    page.on("requestfailed", (request) => {
      // A page gives up a request itself when it no longer needs the answer.
      const why = request.failure()?.errorText
      if (why !== "net::ERR_ABORTED") note(`failed: ${request.url()} ${why}`)
    })
    page.on("response", (response) => {
      if (response.status() >= 400) note(`${response.status()}: ${response.url()}`)
    })
  }

  /** Everything that has gone wrong so far. */
  async troubles(): Promise<ReadonlyArray<string>> {
    // The browser reports in order. When it answers this, its earlier reports have arrived.
    await this.page.evaluate("new Promise(requestAnimationFrame)")
    return this.#troubles
  }

  /** How many pixels of the page are out of sight at its right. */
  async overflowPixels(): Promise<number> {
    return Number(
      await this.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"),
    )
  }

  /** What axe finds wrong for readers with disabilities. By default it looks at the whole page, with all rules of the theme. */
  async inaccessible({
    within = "html",
    rules = this.#usualRules,
  }: AxeScope = {}): Promise<ReadonlyArray<string>> {
    if (!this.#hasAxe) await this.page.evaluate(axe.source)
    this.#hasAxe = true
    const options = { resultTypes: ["violations"], ...(rules.length === 0 ? {} : { runOnly: rules }) }
    const found = await this.page.evaluate(
      `axe.run(${JSON.stringify(within)}, ${JSON.stringify(options)}).then(({ violations }) =>
        violations.flatMap(({ id, nodes }) =>
          nodes.map(({ target, failureSummary }) => id + ": " + target.join(" ") + ": " + failureSummary)))`,
    )
    return found as ReadonlyArray<string>
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close()
  }
}
