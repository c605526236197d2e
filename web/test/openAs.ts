// Opens a page of the console as a reader whose key has some rights.
import type { ShownKey } from "@punctual/door/KeyDirectory"
import type { RunningService } from "../../server/test/http/ServiceFixture.ts"
import type { Browser, BrowserPage, View } from "../../server/testkit/Browser.ts"
import { desktop } from "./ConsoleFixture.ts"

/** Opens the page with a session of this key. */
export const openAs = async (
  browser: Browser,
  service: RunningService,
  { text }: Pick<ShownKey, "text">,
  place: string,
  view: View = desktop,
): Promise<BrowserPage> => {
  const begun = await service.post("sessions/create", { apiKey: text })
  const [name = "", value = ""] = (begun.headers.get("set-cookie") ?? "").split(";")[0]?.split("=") ?? []
  // This page needs no key, so the reader is not asked for one.
  const opened = await browser.open(`${service.url}/docs/api`, view)
  await opened.page.context().addCookies([{ name, value, url: service.url }])
  await opened.page.goto(`${service.url}/console/${place}`)
  return opened
}
