// The pages of namespaces and of the status for every reader: on a phone and on a desk, in both themes, with axe.
import { expect, setDefaultTimeout, test } from "bun:test"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import type { Delivery } from "../../server/src/ports/Deliverer.ts"
import { describeBrowser, type View } from "../../server/testkit/Browser.ts"
import { type ConsoleService, openConsole, withConsole } from "./ConsoleFixture.ts"

setDefaultTimeout(120_000)

const failing: Delivery = { kind: "retry", error: "no answer", isHostFailure: true }
const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`
const options = {
  secretKeys: [new Uint8Array(32).fill(1)],
  deliver: () => Effect.succeed(failing),
  about: {
    build: { version: "1.2.3" },
    settings: [{ name: "TIMER_STORE_URL", value: `sqlite:${"long".repeat(40)}`, isSet: true }],
  },
}

const fill = async ({ call, post }: ConsoleService) => {
  const long =
    "a-namespace-with-a-very-long-name-that-has-to-break-somewhere-because-a-phone-is-narrow-0123456789"
  await post("namespaces/put", { namespace: long, maxPending: 1, paused: true, webhookSecrets: [secret] })
  const timers = Array.from({ length: 15 }, (_, index) => ({
    namespace: "billing",
    timerId: `t-${index}`,
    delay: "0s",
    callbackUrl: "http://127.0.0.1:9/hook",
  }))
  await call("createMany", { timers })
  await post("namespaces/put", { namespace: "billing", maxPending: 10, webhookSecrets: [secret] })
}

/** How many tables are wider than their card, apart from those that scroll. */
const cutTables = (page: Page): Promise<unknown> =>
  page.evaluate(`[...document.querySelectorAll(".card > .table")].filter((table) =>
    table.getBoundingClientRect().right > table.parentElement.getBoundingClientRect().right + 1).length`)

const click = (name: string) => (page: Page) => page.getByRole("button", { name }).first().click()

const screens: ReadonlyArray<
  readonly [place: string, shown: string, open?: (page: Page) => Promise<void>, opened?: string]
> = [
  ["namespaces", "billing"],
  ["namespaces?q=nobody", "No namespace begins with"],
  ["namespace?name=billing", "Webhook secrets"],
  ["namespace?name=billing", "Settings", click("Edit"), "Waits between attempts"],
  ["namespace?name=billing", "Settings", click("Pause …"), "No attempt starts"],
  ["namespace?name=billing", "Settings", click("Rotate"), "two signatures"],
  ["status", "each node has its own"],
  ["status", "Nodes live", click("Pause the service …"), "The pause survives restarts"],
]

const views: ReadonlyArray<View> = [
  { width: 390, theme: "dark" },
  { width: 1024, theme: "light" },
]

describeBrowser("the pages of operators", (browser) => {
  for (const view of views) {
    test(`fit ${view.width} px and have no barrier in the ${view.theme} theme`, () =>
      withConsole(options, async (service) => {
        await fill(service)
        for (const [place, shown, open, opened] of screens) {
          await using tab = await openConsole(browser(), service, place, view)
          await tab.page.getByText(shown).first().waitFor()
          await open?.(tab.page)
          if (opened !== undefined) await tab.page.getByText(opened).first().waitFor()
          const seen = [await tab.overflowPixels(), await cutTables(tab.page)]
          expect([place, opened, ...seen]).toEqual([place, opened, 0, 0])
          expect([place, opened, await tab.inaccessible(), await tab.troubles()]).toEqual([
            place,
            opened,
            [],
            [],
          ])
        }
      }))
  }
})
