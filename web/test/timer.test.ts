// The page of one timer: what is the matter with it, its timeline and payload, and what can be done with it.
import { expect, setDefaultTimeout, test } from "bun:test"
import { Effect } from "effect"
import type { Delivery } from "../../server/src/ports/Deliverer.ts"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { eventually } from "../../server/testkit/eventually.ts"
import { openConsole, views, withConsole } from "./ConsoleFixture.ts"
import { untilFocused, untilNoDialog } from "./focused.ts"

setDefaultTimeout(60_000)

const hook = "http://hook.test/x"
const place = (id: string, namespace = "shop") => `timer?namespace=${namespace}&id=${encodeURIComponent(id)}`
const failing = (): Effect.Effect<Delivery> =>
  Effect.succeed({
    kind: "retry",
    error: "answered 503",
    status: 503,
    answer: "ledger is down",
    isHostFailure: false,
  })
const refusing = (): Effect.Effect<Delivery> =>
  Effect.succeed({ kind: "dead", reason: "refused", error: "answered 410", status: 410 })

describeBrowser("the page of a timer", (browser) => {
  test("a timer that is not due says when it is, and shows its payload exactly", () =>
    withConsole({}, async (service) => {
      const body = `{"namespace":"shop","timerId":"a","delay":"2h","callbackUrl":"${hook}","payload":{"n":9007199254740993123,"x":1.10}}`
      expect((await service.call("create", body)).status).toBe(200)
      await using opened = await openConsole(browser(), service, place("a"))
      const { page } = opened
      await page.getByRole("heading", { name: /^It is due in 1 h/ }).waitFor()
      await page.getByText("9007199254740993123").waitFor()
      await page.getByRole("button", { name: "Raw" }).click()
      await page.getByText('{"n":9007199254740993123,"x":1.10}').waitFor()
      await page.getByRole("button", { name: "Copy the payload" }).click()
      await eventually("the copy", async () =>
        (await page.evaluate("navigator.clipboard.readText()")) === '{"n":9007199254740993123,"x":1.10}'
          ? true
          : undefined,
      )
      expect(await opened.troubles()).toEqual([])
    }))

  test("a failed attempt shows its answer, and when the next one is due", () =>
    withConsole({ deliver: failing }, async (service) => {
      await service.call("create", {
        namespace: "shop",
        timerId: "a",
        delay: "0s",
        callbackUrl: hook,
        retryPolicy: { maxAttempts: 3, initialInterval: "1h", jitter: 0 },
      })
      await using opened = await openConsole(browser(), service, place("a"))
      const { page } = opened
      await page.getByRole("heading", { name: /^Attempt 1 failed, the next is due in/ }).waitFor()
      await page.getByText("Attempt 2 is due").waitFor()
      expect(await page.getByRole("listitem").filter({ hasText: "Attempt 1" }).innerText()).toContain(
        "Answer 503 Service Unavailable",
      )
    }))

  test("a paused namespace is named as the reason why it has not fired", () =>
    withConsole({}, async (service) => {
      await service.post("namespaces/put", { namespace: "shop", paused: true })
      await service.call("create", { namespace: "shop", timerId: "a", delay: "0s", callbackUrl: hook })
      await using opened = await openConsole(browser(), service, place("a"))
      await opened.page.getByRole("heading", { name: "Its namespace is paused" }).waitFor()
      // A timer that is not due yet says it too, and so do its list and the question before it fires.
      await service.call("create", { namespace: "shop", timerId: "later", delay: "2h", callbackUrl: hook })
      const { page } = opened
      await page.goto(`${service.url}/console/${place("later")}`)
      await page.getByText("shop is paused: the timer will wait until somebody resumes it.").waitFor()
      await page.getByRole("button", { name: "Fire now" }).click()
      const dialog = page.getByRole("dialog")
      await dialog.getByText("shop / later").waitFor()
      await dialog.getByText("shop is paused: the timer will wait").waitFor()
      await page.goto(`${service.url}/console/timers`)
      await page.getByRole("row").filter({ hasText: "later" }).getByText("paused").waitFor()
      await opened.page.getByText("waiting", { exact: true }).waitFor()
    }))

  test("fires now, and then shows that it was delivered and that its payload is gone", () =>
    withConsole({}, async (service) => {
      await service.call("create", {
        namespace: "shop",
        timerId: "a",
        delay: "2h",
        callbackUrl: hook,
        payload: 1,
      })
      await using opened = await openConsole(browser(), service, place("a"))
      const { page } = opened
      await page.getByRole("button", { name: "Fire now" }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Fire now" }).click()
      await page.getByRole("heading", { name: "Delivered" }).waitFor()
      await page.getByText("The payload is no longer kept").waitFor()
      expect(await page.getByRole("button", { name: "Fire now" }).count()).toBe(0)
    }))

  test("cancels by keyboard, and a change by somebody else in the meantime is not lost", () =>
    withConsole({}, async (service) => {
      const key = { namespace: "shop", timerId: "a" }
      await service.call("create", { ...key, delay: "2h", callbackUrl: hook })
      await using opened = await openConsole(browser(), service, place("a"))
      const { page } = opened
      const openCancel = async () => {
        await untilNoDialog(page)
        await page.getByRole("button", { name: "More" }).press("Enter")
        await untilFocused(page.getByRole("menuitem").first())
        await page.keyboard.press("End")
        await untilFocused(page.getByRole("menuitem", { name: "Cancel the timer" }))
        await page.keyboard.press("Enter")
        await page.getByRole("dialog").waitFor()
      }
      // The page must not learn of the change by itself.
      await page.getByRole("button", { name: "Live" }).press("Enter")
      await page.getByRole("button", { name: "Updates stopped" }).waitFor()
      await openCancel()
      await service.call("update", { ...key, delay: "5h" })
      const dialog = page.getByRole("dialog")
      await dialog.getByRole("button", { name: "Cancel the timer" }).press("Enter")
      await dialog.getByText("Somebody changed the timer in the meantime").waitFor()
      expect((await service.call("get", key)).json.timer.state).toBe("pending")
      await page.keyboard.press("Escape")
      await page.getByRole("heading", { name: /^It is due in 4 h/ }).waitFor()
      await openCancel()
      await dialog.getByRole("button", { name: "Cancel the timer" }).press("Enter")
      await page.getByRole("heading", { name: "Cancelled" }).waitFor()
    }))

  test("a dead letter can be replayed and discarded, and earlier lives stay in sight", () =>
    withConsole({ deliver: refusing }, async (service) => {
      const key = { namespace: "shop", timerId: "a" }
      await service.call("create", { ...key, delay: "0s", callbackUrl: hook, payload: { n: 1 } })
      await using opened = await openConsole(browser(), service, place("a"))
      const { page } = opened
      await page.getByRole("heading", { name: "The receiver refused it" }).waitFor()
      await page.getByRole("button", { name: "Replay" }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Replay" }).click()
      await page.getByText("Replayed: the timer is due now.").waitFor()
      // The timeline of the new life says how it began.
      const replayed = page.getByRole("listitem").filter({ hasText: "Replayed" })
      await replayed.getByText("It had become a dead letter.").waitFor()
      await page.getByRole("heading", { name: "The receiver refused it" }).waitFor()
      await page.getByRole("button", { name: "More" }).click()
      await page.getByRole("menuitem", { name: "Discard" }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click()
      await page.getByText("The dead letter is discarded.").waitFor()
    }))

  test("an id that does not exist has a screen of its own, and odd ids work", () =>
    withConsole({}, async (service) => {
      const odd = `a/b?c=d&e #%"'<b>ä`
      await service.call("create", { namespace: "shop", timerId: odd, delay: "2h", callbackUrl: hook })
      await using opened = await openConsole(browser(), service, place(odd))
      await opened.page.getByRole("heading", { name: odd, exact: true }).waitFor()
      await opened.page.goto(`${service.url}/console/${place("none")}`)
      await opened.page.getByText("There is no such timer").waitFor()
    }))

  test("nothing is out of sight or inaccessible, at all widths and in both themes", () =>
    withConsole({ deliver: failing }, async (service) => {
      await service.call("create", {
        namespace: "shop",
        timerId: `long-${"x".repeat(200)}`,
        delay: "0s",
        callbackUrl: `${hook}?${"q".repeat(300)}`,
        payload: { list: [1, "two", { three: null }], long: "y".repeat(400) },
        tags: ["trial", "a".repeat(64)],
        retryPolicy: { maxAttempts: 3, initialInterval: "1h" },
      })
      for (const view of views) {
        await using opened = await openConsole(browser(), service, place(`long-${"x".repeat(200)}`), view)
        await opened.page.getByText("Attempt 2 is due").waitFor()
        expect([view, await opened.overflowPixels()]).toEqual([view, 0])
        expect([view, await opened.inaccessible()]).toEqual([view, []])
        expect(await opened.troubles()).toEqual([])
      }
    }))
})
