// The console of a cluster: three real nodes on PostgreSQL, with keys in force. Every node shows everything, also what
// happens on others, and the reader's session is good on all of them. A node is killed under an open list.
import { expect, setDefaultTimeout, test } from "bun:test"
import type { Locator, Page } from "playwright-core"
import { type Browser, type BrowserPage, describeBrowser } from "../../server/testkit/Browser.ts"
import { ClusterHarness, type ClusterNode } from "../../server/testkit/ClusterHarness.ts"
import { eventually } from "../../server/testkit/eventually.ts"
import { describePostgres } from "../../server/testkit/PostgresBinaries.ts"
import { lostContact, openConsole } from "./ConsoleFixture.ts"
import { callsOf, goodCallsOf, type SendCall } from "./callsOf.ts"
import { signInWith, withoutUnauthorized } from "./KeyedConsole.ts"

setDefaultTimeout(120_000)

const count = 40
const idOf = (number: number): string => `order-${String(number).padStart(2, "0")}`

/** Shorter than the time after which a list with an open stream asks by itself. */
const byStream = { timeout: 20_000 }

const rows = (page: Page): Locator => page.getByRole("table", { name: "Timers" }).getByRole("link")
const rowOf = (page: Page, timerId: string): Locator => page.getByRole("row").filter({ hasText: timerId })
const tile = (page: Page, name: string): Locator => page.locator(".tile").filter({ hasText: name })

class KeyedCluster implements AsyncDisposable {
  readonly cluster: ClusterHarness
  readonly apiKey: string

  private constructor(cluster: ClusterHarness, apiKey: string) {
    this.cluster = cluster
    this.apiKey = apiKey
  }

  /** Returns when every node knows the key, and with timers that are due in an hour. */
  static async start(): Promise<KeyedCluster> {
    const cluster = await ClusterHarness.start()
    try {
      const first = goodCallsOf(() => cluster.node(1).url)
      const { apiKey } = (await first("keys/create", { label: "anna", role: "admin" })).json
      for (const { name, url } of cluster.nodes) {
        await eventually(`${name} knows the key`, async () =>
          (await callsOf(() => url, apiKey)("keys/self", {})).status === 200 ? true : undefined,
        )
      }
      const keyed = new KeyedCluster(cluster, apiKey)
      await keyed.on(cluster.node(1))("timers/createMany", {
        timers: Array.from({ length: count }, (_, number) => ({
          namespace: "shop",
          timerId: idOf(number),
          delay: `${3_600 + number}s`,
          callbackUrl: cluster.receiver.url,
        })),
      })
      return keyed
    } catch (error) {
      await cluster[Symbol.asyncDispose]()
      throw error
    }
  }

  /** Calls this node. */
  on({ url }: ClusterNode): SendCall {
    return goodCallsOf(() => url, this.apiKey)
  }

  /**
   * Opens a page of this node, signs in, and presents the session to the other nodes too. A browser does so by itself if
   * the nodes have the same port, as behind a proxy. The name of the cookie has the port.
   */
  async open(browser: Browser, node: ClusterNode, place: string): Promise<BrowserPage> {
    const opened = await openConsole(browser, node, place)
    await signInWith(opened, { text: this.apiKey })
    const context = opened.page.context()
    for (const { name, value } of await context.cookies()) {
      const named = this.cluster.nodes.map(({ url }) => ({
        name: name.replace(/\d+$/, new URL(url).port),
        value,
        url,
      }))
      await context.addCookies(named)
    }
    return opened
  }

  async ownerOf(shard: number): Promise<string | undefined> {
    const leases = await this.cluster.leases()
    return leases.find((lease) => lease.shard === shard)?.node ?? undefined
  }

  /** One of the timers that this node fires. */
  async timerOf({ name }: ClusterNode): Promise<string> {
    for (let number = 0; number < count; number++) {
      const shard = this.cluster.shardOf({ namespace: "shop", timerId: idOf(number) })
      if ((await this.ownerOf(shard)) === name) return idOf(number)
    }
    throw new Error(`${name} fires none of the timers`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster[Symbol.asyncDispose]()
  }
}

describePostgres("installed", "on PostgreSQL", () => {
  describeBrowser("the console of three nodes", (browser) => {
    test("a list shows what other nodes do, a session is good on all nodes, and the status shows them", async () => {
      await using keyed = await KeyedCluster.start()
      const { cluster } = keyed
      const [one, two, three] = [cluster.node(1), cluster.node(2), cluster.node(3)]
      await using list = await keyed.open(browser(), one, "timers")
      await rowOf(list.page, idOf(0)).waitFor()
      await eventually("the stream", async () =>
        (await metricOf(one, keyed.apiKey, "timer_event_readers")) === 1 ? true : undefined,
      )
      await keyed.on(two)("timers/create", {
        namespace: "shop",
        timerId: "new-on-two",
        delay: "30m",
        callbackUrl: cluster.receiver.url,
      })
      await list.page.getByRole("button", { name: "1 new timer" }).waitFor(byStream)
      await list.page.getByRole("button", { name: "1 new timer" }).click()
      await rowOf(list.page, "new-on-two").waitFor()

      // The reader goes to another node without a new sign-in, and fires a timer there that belongs to the third.
      const fired = await keyed.timerOf(three)
      const other = await list.page.context().newPage()
      await other.goto(`${two.url}/console/timer?namespace=shop&id=${fired}`)
      await other.getByText("Signed in as anna").waitFor()
      await other.getByRole("button", { name: "Fire now" }).click()
      await other.getByRole("dialog").getByRole("button", { name: "Fire now" }).click()
      await cluster.receiver.until("the webhook", ({ length }) => length === 1)
      await other.getByRole("heading", { name: "Delivered" }).waitFor(byStream)
      await rowOf(list.page, fired).getByText("no longer here").waitFor(byStream)
      expect(cluster.receiver.deliveries.map(({ key }) => key.timerId)).toEqual([fired])

      await other.goto(`${three.url}/console/status`)
      await tile(other, "Nodes live").getByText("3 of 3").waitFor()
      await tile(other, "Shards with an owner").getByText("16 of 16").waitFor()
      await other.getByRole("img", { name: /^16 shards(, node-[123] owns [56]){3}$/ }).waitFor()
      expect(withoutUnauthorized(await list.troubles())).toEqual([])
    })

    test("a node is killed under an open list: the page says so, other nodes show everything, and a job goes on", async () => {
      await using keyed = await KeyedCluster.start()
      const { cluster } = keyed
      // The owner of the first shard also runs the jobs.
      const runner = await keyed.ownerOf(0)
      const served = cluster.nodes.find(({ name }) => name === runner) ?? cluster.node(1)
      const [other, third] = cluster.nodes.filter((node) => node !== served)
      if (other === undefined || third === undefined) throw new Error("there are not three nodes")
      await using list = await keyed.open(browser(), served, "timers")
      await rowOf(list.page, idOf(0)).waitFor()

      const job = await list.page.context().newPage()
      await job.goto(`${served.url}/console/timers?q=id:order-1`)
      await job.getByRole("button", { name: "More" }).click()
      await job.getByRole("menuitem", { name: "Cancel all that match" }).click()
      await job.getByLabel("Reason").fill("a test")
      await job.getByLabel("Most per second").fill("1")
      await job.getByRole("button", { name: "Cancel 10 timers" }).click()
      // On a slow machine the job may have ended already.
      await job
        .getByText(/^(running|done)$/)
        .first()
        .waitFor()
      const place = new URL(job.url())

      await served.kill()
      await lostContact(list.page).waitFor()
      expect(await rows(list.page).count()).toBeGreaterThan(0)

      await job.goto(`${other.url}${place.pathname}${place.search}`)
      await job.getByText("done", { exact: true }).waitFor({ timeout: 60_000 })

      await job.goto(`${other.url}/console/timers`)
      await job.getByText(`${count - 10} timers`, { exact: true }).waitFor()
      await cluster.spread([other, third])
      await job.goto(`${other.url}/console/status`)
      await tile(job, "Nodes live")
        .getByText(/^2 of [23]$/)
        .waitFor()
      await tile(job, "Shards with an owner").getByText("16 of 16").waitFor()
      await job.getByRole("img", { name: /^16 shards(, node-[123] owns 8){2}$/ }).waitFor()
    })
  })
})

const metricOf = async ({ url }: ClusterNode, apiKey: string, name: string): Promise<number> => {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${apiKey}` } })
  const line = (await response.text()).split("\n").find((each) => each.startsWith(`${name} `))
  return Number(line?.slice(name.length) ?? 0)
}
