// The console on a real service with a memory store, in a real browser.
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { readPagePack } from "@punctual/http/pages/PagePack"
import type { Locator, Page } from "playwright-core"
import {
  type RunningService,
  type ServiceOptions,
  withService,
} from "../../server/test/http/ServiceFixture.ts"
import type { Browser, BrowserPage, View } from "../../server/testkit/Browser.ts"
import { type CallAnswer, callsOf } from "./callsOf.ts"

const packFile = fileURLToPath(new URL("../dist/console.pack", import.meta.url))

export const desktop: View = { width: 1440, theme: "light" }
export const phone: View = { width: 390, theme: "light" }
export const viewThemes = ["light", "dark"] as const
export const views: ReadonlyArray<View> = [390, 1024, 1600].flatMap((width) =>
  viewThemes.map((theme) => ({ width, theme })),
)

/** A service whose calls go through the client library. */
export interface ConsoleService extends Omit<RunningService, "call" | "post"> {
  /** A call of the timers group. A text is sent as it is, without the client. */
  call(name: string, body: object | string, headers?: Record<string, string>): Promise<CallAnswer>
  /** The same for calls outside the timers group, by group and name. */
  post(path: `${string}/${string}`, body: object, headers?: Record<string, string>): Promise<CallAnswer>
}

export const withConsole = (
  options: ServiceOptions,
  use: (service: ConsoleService) => Promise<void>,
): Promise<void> =>
  withService({ pages: readPagePack(readFileSync(packFile)), ...options }, (service) => {
    const send = callsOf(() => service.url)
    return use({
      ...service,
      call: (name, body, headers) =>
        typeof body === "string" ? service.call(name, body, headers) : send(`timers/${name}`, body, headers),
      post: send,
    })
  })

/** The message of every page while the service cannot be reached. */
export const lostContact = (page: Page): Locator =>
  page.locator(".toasts").getByText("The service cannot be reached.")

/** Stops live updates, so that the page loads something again only if the reader asks for it. */
export const stopLiveUpdates = (page: Page): Promise<void> =>
  page.getByRole("button", { name: "Live", exact: true }).click()

/** Opens a page of the console, such as `timers?q=state:dead`. */
export const openConsole = (
  browser: Browser,
  service: Pick<ConsoleService, "url">,
  place: string,
  view: View = desktop,
): Promise<BrowserPage> => browser.open(`${service.url}/console/${place}`, view)
