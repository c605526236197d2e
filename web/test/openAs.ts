// Opens a page of the console as a reader whose key has some rights.
import type { ShownKey } from "@punctual/door/KeyDirectory"
import type { Browser, BrowserPage, View } from "../../server/testkit/Browser.ts"
import { type ConsoleService, desktop } from "./ConsoleFixture.ts"

/** Opens the page with a session of this key. */
export const openAs = async (
  browser: Browser,
  service: ConsoleService,
  { text }: Pick<ShownKey, "text">,
  place: string,
  view: View = desktop,
): Promise<BrowserPage> => {
  // The cookie is in a header, which the client library leaves to browsers.
  const begun = await service.fetch("/api/v1/sessions/create", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ apiKey: text }),
  })
  const [name = "", value = ""] = (begun.headers.get("set-cookie") ?? "").split(";")[0]?.split("=") ?? []
  // This page needs no key, so the reader is not asked for one.
  const opened = await browser.open(`${service.url}/docs/api`, view)
  await opened.page.context().addCookies([{ name, value, url: service.url }])
  await opened.page.goto(`${service.url}/console/${place}`)
  return opened
}
