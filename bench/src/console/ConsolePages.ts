// Real pages of the console in Chromium, each as a reader of its own, so that each has its own stream of events. Chromium
// gets only the processor time that others leave over, as if it ran on another machine.
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { Browser } from "@punctual/server/testkit/Browser"
import type { Tally } from "../Tally.ts"

export class ConsolePages implements AsyncDisposable {
  readonly #browser: Browser

  private constructor(browser: Browser) {
    this.#browser = browser
  }

  static async prepare(): Promise<ConsolePages> {
    const browser = await Browser.start()
    for (const pid of childrenOf(process.pid)) lowerGroup(pid)
    return new ConsolePages(browser)
  }

  /** Opens the page Timers. Counts its answers and what goes wrong in it. */
  async open(url: string, tally: Tally): Promise<void> {
    const { page } = await this.#browser.open(`${url}/console/`, { width: 1_400, theme: "light" })
    page.on("response", (answer) => {
      if (answer.url().includes("/api/")) tally.add(`page ${answer.status()}`)
    })
    page.on("pageerror", () => tally.add("error in a page"))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser[Symbol.asyncDispose]()
  }
}

const childrenOf = (pid: number): ReadonlyArray<string> =>
  readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" ").filter(Boolean),
  )

/**
 * Chromium has a session of its own. Where Linux shares the processors between sessions first (autogroup), the niceness
 * of a process does not matter outside its session, so the session gets the lowest priority too.
 */
const lowerGroup = (pid: string): void => {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, "19")
  } catch (error) {
    // A Linux without these groups has no such file, and then the niceness of the processes is enough.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
  }
}
