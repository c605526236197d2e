// The page of the status: nodes and shards, breakers, the pause of the whole service, and its settings.
import { expect, setDefaultTimeout, test } from "bun:test"
import { Effect } from "effect"
import { NamespaceDirectory } from "../../server/src/engine/namespaces/NamespaceDirectory.ts"
import { serviceRecord } from "../../server/src/engine/namespaces/SettingsRecords.ts"
import type { ClusterState } from "../../server/src/engine/ownership/ClusterView.ts"
import type { Delivery } from "../../server/src/ports/Deliverer.ts"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { eventually } from "../../server/testkit/eventually.ts"
import { type ConsoleService, openConsole, stopLiveUpdates, withConsole } from "./ConsoleFixture.ts"
import { withKeyedConsole } from "./KeyedConsole.ts"
import { openAs } from "./openAs.ts"

setDefaultTimeout(60_000)

const about = {
  build: { version: "1.2.3", commit: "4f1c2e9", builtAt: "2030-01-01T00:00:00Z" },
  settings: [
    { name: "TIMER_HTTP_PORT", value: "8080", isSet: false },
    { name: "TIMER_STORE_URL", value: "postgres://…@db/timers", isSet: true },
  ],
}

const member = (node: string, more: Partial<ClusterState["members"][number]> = {}) => ({
  node,
  address: `http://${node}:8080`,
  beatAgeMs: 120,
  isLeaving: false,
  isLive: true,
  ...more,
})

const state: ClusterState = {
  node: "north",
  members: [
    member("north"),
    member("south", { isLeaving: true }),
    member("west", { isLive: false, beatAgeMs: 90_000 }),
  ],
  shards: [
    { shard: 0, owner: "north", epoch: 4, isMine: true, lagMs: 2 },
    { shard: 1, owner: "south", epoch: 7, isMine: true, lagMs: 4_200 },
    { shard: 2, epoch: 1, isMine: false },
    { shard: 3, owner: "west", epoch: 2, isMine: false },
  ],
}

const due = (namespace: string, index: number) => ({
  namespace,
  timerId: `t-${index}`,
  delay: "0s",
  callbackUrl: "http://127.0.0.1:9/hook",
})

const pauseOf = async ({ post }: ConsoleService) => (await post("service/get", {})).json.pause

describeBrowser("the status", (browser) => {
  test("shows nodes and shards by owner with their lag, also as a table", () =>
    withConsole({ about, engine: { cluster: () => state } }, async (service) => {
      await service.post("namespaces/put", { namespace: "crm", paused: true })
      await using opened = await openConsole(browser(), service, "status")
      const { page } = opened
      await page.getByText("2 of 3").waitFor()
      await page.getByText("3 of 4").waitFor()
      await page.getByText("Paused namespaces").waitFor()
      await page.getByRole("link", { name: "crm" }).waitFor()
      const nodes = page.getByRole("region", { name: "Nodes" })
      await nodes.getByRole("row", { name: /^north .*live/ }).waitFor()
      await nodes.getByRole("row", { name: /^south .*leaving/ }).waitFor()
      await nodes.getByRole("row", { name: /^west .*silent.*1 m 30 s ago/ }).waitFor()
      const words = "4 shards, north owns 1, south owns 1, west owns 1, 1 have no owner"
      await page.getByRole("img", { name: words }).waitFor()
      await page.getByText("late by more than a second: 1").waitFor()
      await page.getByText("As a table").focus()
      await page.keyboard.press("Enter")
      const shards = page.getByRole("region", { name: "Shards" })
      expect(await shards.getByRole("row").allTextContents()).toEqual([
        "ShardOwnerEpochLag",
        "0north42 ms",
        "1south74.2 s",
        "2no owner1not known",
        "3west2not known",
      ])
      expect(await opened.troubles()).toEqual([])
    }))

  test("shows the program and its settings, and the address keeps the choice", () =>
    withConsole({ about }, async (service) => {
      await using opened = await openConsole(browser(), service, "status")
      const { page } = opened
      const program = page.getByRole("region", { name: "Program and settings" })
      await program.getByText("Punctual 1.2.3, commit 4f1c2e9, built 2030-01-01T00:00:00Z").waitFor()
      await program.getByText("postgres://…@db/timers").waitFor()
      expect(await program.getByText("TIMER_HTTP_PORT").count()).toBe(0)
      await program.getByRole("button", { name: "Show all" }).click()
      await program.getByText("TIMER_HTTP_PORT").waitFor()
      await page.reload()
      await program.getByText("TIMER_HTTP_PORT").waitFor()
      await page.getByRole("region", { name: "Bus" }).getByText("Every message could be handled.").waitFor()
      expect(await opened.troubles()).toEqual([])
    }))

  test("shows open breakers, and closes them", () => {
    let delivery: Delivery = { kind: "retry", error: "no answer", isHostFailure: true }
    return withConsole({ deliver: () => Effect.succeed(delivery) }, async (service) => {
      const timers = Array.from({ length: 15 }, (_, index) => due("shop", index))
      await service.call("createMany", { timers })
      await using opened = await openConsole(browser(), service, "status")
      const { page } = opened
      const breakers = page.getByRole("region", { name: "Open breakers" })
      await breakers.getByRole("row", { name: /^host shop/ }).waitFor()
      delivery = { kind: "delivered", status: 200 }
      await breakers.getByRole("button", { name: "Reset the breakers of host" }).click()
      await page.getByText(/tries host again/).waitFor()
      await breakers.getByText("None. A breaker opens when").waitFor()
      expect((await service.post("breakers/list", {})).json.breakers).toEqual([])
      expect(await opened.troubles()).toEqual([])
    })
  })

  test("pauses the service with a reason that every page shows, and resumes it", () =>
    withConsole({}, async (service) => {
      await using opened = await openConsole(browser(), service, "status")
      const { page } = opened
      await page.getByRole("button", { name: "Pause the service …" }).focus()
      await page.keyboard.press("Enter")
      await page.getByLabel("Reason").fill("a hidden \u200b character")
      await page.keyboard.press("Enter")
      await page
        .getByRole("alert")
        .getByText("must not contain control, invisible or formatting characters")
        .waitFor()
      await page.getByLabel("Reason").fill("the ledger moves")
      await page.keyboard.press("Enter")
      await page.getByText("The service is paused: the ledger moves").waitFor()
      expect(await pauseOf(service)).toMatchObject({ kind: "asked", reason: "the ledger moves" })
      await service.call("create", due("shop", 1))
      await page.getByRole("button", { name: "Resume …" }).click()
      await page.getByText(/as the limits allow\. Now 1 timer is overdue\./).waitFor()
      await page.getByRole("button", { name: "Resume", exact: true }).click()
      await page.getByText("timers fire", { exact: true }).waitFor()
      expect(await pauseOf(service)).toBeUndefined()
      expect((await opened.troubles()).filter((trouble) => !trouble.includes("400"))).toEqual([])
    }))

  test("after a restore resumes only if the reader agrees that overdue timers fire", () => {
    const pause = { sinceMs: 1_000, kind: "restored" } as const
    const restore = Effect.flatMap(NamespaceDirectory, (directory) =>
      directory.change(serviceRecord, 1_000, () => Effect.succeed({ pause })),
    )
    let fired = 0
    const deliver = () =>
      Effect.sync((): Delivery => {
        fired++
        return { kind: "delivered", status: 200 }
      })
    return withConsole({ deliver, before: Effect.orDie(restore) }, async (service) => {
      await service.call("create", due("shop", 1))
      await using opened = await openConsole(browser(), service, "status")
      const { page } = opened
      await page.getByRole("button", { name: "Resume …" }).click()
      await page.getByText("some of them for the second time").waitFor()
      await page.getByText("Now 1 timer is overdue.").waitFor()
      const resume = page.getByRole("button", { name: "Resume and fire overdue timers" })
      expect([await resume.isDisabled(), fired]).toEqual([true, 0])
      await page.getByRole("checkbox").focus()
      await page.keyboard.press("Space")
      await resume.click()
      await page.getByText("Timers fire again.").waitFor()
      await eventually("it has fired", () => (fired === 1 ? true : undefined))
      expect(await opened.troubles()).toEqual([])
    })
  })

  test("says that it could not be loaded, and tries again", () =>
    withConsole({}, async (service) => {
      await using opened = await openConsole(browser(), service, "timers")
      const { page } = opened
      await stopLiveUpdates(page)
      await page.route("**/api/v1/cluster", (route) =>
        route.fulfill({ status: 500, json: { code: "internal", detail: "The store has failed." } }),
      )
      await page.getByRole("link", { name: "Status" }).click()
      await page.getByRole("heading", { name: "The status could not be loaded" }).waitFor()
      await page.unroute("**/api/v1/cluster")
      await page.getByRole("button", { name: "Try again" }).click()
      await page.getByRole("region", { name: "Nodes" }).waitFor()
    }))

  test("shows a viewer everything and no button that the service would refuse", () =>
    withKeyedConsole({ about }, async (service, keys) => {
      const viewer = await keys.make({ actions: ["service.read"] })
      await using opened = await openAs(browser(), service, viewer, "status")
      const { page } = opened
      await page.getByRole("region", { name: "Program and settings" }).getByText("Punctual 1.2.3").waitFor()
      await page.getByText("Your key may not see the messages of the bus.").waitFor()
      expect(await page.getByRole("button", { name: "Pause the service …" }).count()).toBe(0)
      const tenant = await keys.make({ actions: ["service.read"], namespaces: ["team-*"] })
      await using other = await openAs(browser(), service, tenant, "status")
      await other.page.getByRole("heading", { name: "Your key may not see this" }).waitFor()
      expect([await opened.troubles(), await other.troubles()]).toEqual([[], []])
    }))
})
