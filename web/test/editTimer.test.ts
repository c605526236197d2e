// The dialog that changes a timer: it sends only what changed, and overwrites nothing that the reader has not seen.
import { expect, setDefaultTimeout, test } from "bun:test"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import type { Delivery } from "../../server/src/ports/Deliverer.ts"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { type ConsoleService, openConsole, phone, withConsole } from "./ConsoleFixture.ts"
import { untilNoDialog } from "./focused.ts"
import { signInWith, withKeyedConsole } from "./KeyedConsole.ts"

setDefaultTimeout(60_000)

const key = { namespace: "shop", timerId: "a" }
const place = "timer?namespace=shop&id=a"
const big = '{"n": 12345678901234567890123, "x": 1.10}'
const body = `{"namespace":"shop","timerId":"a","executeAt":"2030-01-01T09:00:00.123Z","target":{"type":"webhook","url":"http://h.test/?q=1","headers":{"x-a":"1"}},"payload":${big},"tags":["a,b"],"retryPolicy":{"waits":["1m"]}}`

const timerIn = async (service: ConsoleService) => (await service.call("get", key)).json.timer

const openEdit = async (page: Page) => {
  await page.getByRole("button", { name: "Edit", exact: true }).click()
  await page.getByRole("dialog", { name: "Edit a" }).waitFor()
}

const save = (page: Page) => page.getByRole("button", { name: "Save", exact: true }).click()

/** The bodies of the changes that the page sends. */
const sentBy = (page: Page): Array<string> => {
  const sent: Array<string> = []
  page.on("request", (request) => {
    if (request.url().endsWith("/timers/update")) sent.push(request.postData() ?? "")
  })
  return sent
}

describeBrowser("the dialog that changes a timer", (browser) => {
  test("moves a timer to a quick choice, and leaves everything else as it was", () =>
    withConsole({}, async (service) => {
      await service.call("create", body)
      const before = await timerIn(service)
      await using opened = await openConsole(browser(), service, place)
      const { page } = opened
      const sent = sentBy(page)
      await openEdit(page)
      expect(await page.getByRole("button", { name: "Save", exact: true }).isDisabled()).toBe(true)
      await page.getByRole("button", { name: "+1 h" }).click()
      await page.getByText("Changed: the time.").waitFor()
      await save(page)
      await page.getByText("The timer is changed.").waitFor()
      expect(Object.keys(JSON.parse(sent[0] ?? ""))).toEqual([
        "namespace",
        "timerId",
        "executeAt",
        "ifRevision",
      ])
      const { executeAt, ...after } = await timerIn(service)
      expect(executeAt).toBe("2030-01-01T10:00:00.123Z")
      expect(after).toMatchObject({
        target: before.target,
        tags: before.tags,
        retryPolicy: before.retryPolicy,
        correlationId: before.correlationId,
      })
      expect((await service.call("get", key)).text).toContain(`"payload":${big}`)
      expect(await opened.troubles()).toEqual([])
    }))

  test("changes the payload by keyboard, with every digit", () =>
    withConsole({}, async (service) => {
      await service.call("create", body)
      await using opened = await openConsole(browser(), service, place)
      const { page } = opened
      await page.getByRole("button", { name: "Edit", exact: true }).press("Enter")
      await page.getByRole("textbox", { name: "Payload" }).press("Control+End")
      await page.keyboard.press("ArrowLeft")
      await page.keyboard.type(', "m": 98765432109876543210')
      await page.keyboard.press("Control+Enter")
      await page.getByText("The timer is changed.").waitFor()
      const { text, json } = await service.call("get", key)
      expect(text).toContain('"payload":{"n": 12345678901234567890123, "x": 1.10, "m": 98765432109876543210}')
      expect(json.timer.executeAt).toBe("2030-01-01T09:00:00.123Z")
    }))

  test("closing it with changes asks first, and live updates do not touch it", () =>
    withConsole({}, async (service) => {
      await service.call("create", body)
      await using opened = await openConsole(browser(), service, place)
      const { page } = opened
      await openEdit(page)
      await page.getByRole("textbox", { name: "Correlation id" }).fill("mine")
      const read = page.waitForResponse((response) => response.url().endsWith("/timers/get"))
      await service.call("update", { ...key, correlationId: "theirs" })
      await read
      expect(await page.getByRole("textbox", { name: "Correlation id" }).inputValue()).toBe("mine")
      await page.keyboard.press("Escape")
      await page.getByText("Your changes are not saved.").waitFor()
      await page.getByRole("button", { name: "Go on editing" }).click()
      expect(await page.getByRole("textbox", { name: "Correlation id" }).inputValue()).toBe("mine")
      await page.keyboard.press("Escape")
      await page.getByRole("button", { name: "Discard the changes" }).click()
      await untilNoDialog(page)
      expect((await timerIn(service)).correlationId).toBe("theirs")
    }))

  test("says in which zone the time is, and the reader can choose another zone for it", () =>
    withConsole({}, async (service) => {
      await service.call("create", body)
      await using opened = await openConsole(browser(), service, place, {
        width: 1024,
        theme: "light",
        zone: "UTC",
      })
      const { page } = opened
      const sent = sentBy(page)
      await openEdit(page)
      const time = page.getByLabel("Time", { exact: true })
      const choose = async (from: string, zone: string) => {
        await page.getByRole("button", { name: `Time zone: ${from}`, exact: true }).click()
        const search = page.getByLabel("Search a time zone")
        await search.fill(zone)
        await search.press("Enter")
        await page.getByRole("button", { name: `Time zone: ${zone}`, exact: true }).waitFor()
      }
      // A time that nobody has typed stays the same instant.
      await choose("UTC", "Europe/Berlin")
      expect(await time.inputValue()).toBe("10:00:00.123")
      await page.getByText("Nothing is changed.").waitFor()
      await page.getByText("It is still the same moment. In Europe/Berlin it is 10:00:00.123.").waitFor()
      // A typed time is meant in the zone that the reader chooses.
      await page.getByLabel("Day").fill("2030-01-02")
      await time.fill("9:00")
      await choose("Europe/Berlin", "Asia/Tokyo")
      expect(await time.inputValue()).toBe("9:00")
      await page.getByText("The time is still 9:00, now in Asia/Tokyo.").waitFor()
      await page.getByText("Wednesday, 2 January 2030, 09:00:00 Asia/Tokyo").waitFor()
      // Escape closes only the dialog that is on top.
      await page.getByRole("button", { name: "Time zone: Asia/Tokyo" }).click()
      await page.getByLabel("Search a time zone").press("Escape")
      await page.getByLabel("Search a time zone").waitFor({ state: "detached" })
      await save(page)
      await page.getByText("The timer is changed.").waitFor()
      expect(JSON.parse(sent[0] ?? "").executeAt).toBe("2030-01-02T09:00:00+09:00")
      expect((await timerIn(service)).executeAt).toBe("2030-01-02T00:00:00.000Z")
      // The form opens in the zone that was used last. The zone of the page is as before.
      await untilNoDialog(page)
      await openEdit(page)
      await page.getByRole("button", { name: "Time zone: Asia/Tokyo" }).waitFor()
      await page.keyboard.press("Escape")
      await page.getByRole("button", { name: "Local time", exact: true }).waitFor()
      expect(await opened.troubles()).toEqual([])
    }))

  test("somebody else's change is shown beside the reader's, and the reader decides", () =>
    withConsole({}, async (service) => {
      await service.call("create", body)
      await using opened = await openConsole(browser(), service, place)
      const { page } = opened
      await openEdit(page)
      await page.getByRole("textbox", { name: "Correlation id" }).fill("mine")
      await service.call("update", `{"namespace":"shop","timerId":"a","tags":["theirs"],"payload":1.0}`)
      await save(page)
      await page.getByText("Somebody else changed this timer while you were editing.").waitFor()
      const row = (name: string) =>
        page.getByRole("row").filter({ has: page.getByRole("rowheader", { name }) })
      expect(await row("tags").innerText()).toContain('["theirs"]')
      expect(await row("payload").innerText()).toContain("1.0")
      expect(await row("correlation id").innerText()).toContain('"mine"')
      // Nothing was overwritten.
      expect((await timerIn(service)).tags).toEqual(["theirs"])
      await page.getByRole("button", { name: "Put my changes on top" }).click()
      await save(page)
      await page.getByText("The timer is changed.").waitFor()
      expect(await timerIn(service)).toMatchObject({ tags: ["theirs"], correlationId: "mine" })
      expect((await service.call("get", key)).text).toContain('"payload":1.0')
    }))

  test("a timer in flight, and one that has ended, cannot be changed, in words", async () => {
    const started = Promise.withResolvers<void>()
    const delivery = Promise.withResolvers<Delivery>()
    const deliver = () =>
      Effect.promise(() => {
        started.resolve()
        return delivery.promise
      })
    await withConsole({ deliver, clockStartMs: Date.parse("2030-01-01T00:00:00Z") }, async (service) => {
      await service.call("create", body)
      await using opened = await openConsole(browser(), service, place)
      const { page } = opened
      await openEdit(page)
      await page.getByRole("textbox", { name: "Correlation id" }).fill("mine")
      const advanced = service.post("clock/advance", { to: "2030-01-01T10:00:00Z" })
      await started.promise
      await save(page)
      await page.getByText("An attempt is running right now").waitFor()
      delivery.resolve({ kind: "delivered", status: 200 })
      await advanced
      await save(page)
      await page.getByText("The timer is no longer pending").waitFor()
      expect(await page.getByRole("textbox", { name: "Correlation id" }).inputValue()).toBe("mine")
    })
  })

  test("without the right to see payloads, a reader can move a timer, and no more", () =>
    withKeyedConsole({}, async (service, { admin, make }) => {
      await service.call("create", body, { authorization: `Bearer ${admin.text}` })
      const mover = await make({ label: "mover", actions: ["timers.read", "timers.write"] })
      await using opened = await openConsole(browser(), service, place)
      const { page } = opened
      await signInWith(opened, mover)
      await openEdit(page)
      expect(await page.getByRole("textbox", { name: "Payload" }).count()).toBe(0)
      await page.getByRole("button", { name: "+1 d" }).click()
      await save(page)
      await page.getByText("The timer is changed.").waitFor()
      const { text } = await service.call("get", key, { authorization: `Bearer ${admin.text}` })
      expect(text).toContain(`"payload":${big}`)
      expect(text).toContain("http://h.test/?q=1")
    }))

  test("is accessible in both themes, also when it shows two versions", () =>
    withConsole({}, async (service) => {
      for (const view of [phone, { width: 1024, theme: "dark" } as const]) {
        await service.call("create", body)
        await using opened = await openConsole(browser(), service, place, view)
        const { page } = opened
        await openEdit(page)
        await page.getByRole("textbox", { name: "Correlation id" }).fill("mine")
        expect(await opened.inaccessible({ within: "dialog" })).toEqual([])
        await service.call("update", { ...key, tags: ["theirs"] })
        await save(page)
        await page.getByRole("button", { name: "Drop my changes" }).waitFor()
        expect(await opened.inaccessible({ within: "dialog" })).toEqual([])
        expect(await opened.overflowPixels()).toBe(0)
      }
    }))
})
