// Takes a picture of every page, at the widths of a phone, a laptop and a large screen, in both themes. The manual in
// docs/console and the README show some of them. `PUNCTUAL_PICTURES=write npm test -- web/test/pictures` renews those.
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import type { Delivery, Fire } from "../../server/src/ports/Deliverer.ts"
import { describeBrowser } from "../../server/testkit/Browser.ts"
import { eventually } from "../../server/testkit/eventually.ts"
import { type ConsoleService, openConsole, views, withConsole } from "./ConsoleFixture.ts"

setDefaultTimeout(240_000)

const folder = fileURLToPath(new URL("../../docs/console/pictures", import.meta.url))
const isWriting = process.env["PUNCTUAL_PICTURES"] === "write"

/** The pictures that the documents show. More would only make the repository larger. */
const isShown = (width: number, theme: string): boolean =>
  (width === 1600 && theme === "light") || (width === 390 && theme === "dark")

const startMs = Date.parse("2026-11-17T08:59:00Z")
const minuteMs = 60_000

/** What the receivers of the demonstration answer, by the path of their address. The ledger takes most transfers later. */
const answer = ({ target, timerId, executeAt }: Fire): Effect.Effect<Delivery> => {
  const url = target.type === "webhook" ? target.url : ""
  if (/^transfer-90[0-4]$/.test(timerId) && executeAt >= startMs + minuteMs) {
    return Effect.succeed({ kind: "delivered", status: 200 })
  }
  if (url.includes("/gone")) {
    return Effect.succeed({
      kind: "dead",
      reason: "refused",
      status: 410,
      error: "answered 410: not to be repeated",
      answer: '{"error":"customer 4711 was deleted"}',
    })
  }
  return Effect.succeed(
    url.includes("/busy")
      ? {
          kind: "retry",
          status: 503,
          error: "answered 503",
          answer: '{"error":"the ledger is in maintenance until 09:30"}',
          isHostFailure: false,
        }
      : { kind: "delivered", status: 200 },
  )
}

const namespaces = ["billing", "shop", "crm", "onboarding", "eu-payments"]
const kinds = ["invoice", "trial", "order", "reminder"]

/** A day of a small company: many timers ahead, some that fail, some dead letters, and a paused namespace. */
const seed = async ({ call, post }: ConsoleService): Promise<string> => {
  // The same numbers at every run.
  let state = 7
  const random = () => {
    state = (state * 16_807) % 2_147_483_647
    return state / 2_147_483_647
  }
  const timers = Array.from({ length: 900 }, (_, at) => {
    const namespace = namespaces[Math.floor(random() * random() * namespaces.length)] ?? "billing"
    // Most are due during the day, and fewer at night.
    const hour = 8 + 10 * ((random() + random() + random()) / 3) + 24 * Math.floor(random() * random() * 6)
    return {
      namespace,
      timerId: `${kinds[at % kinds.length]}-${4_000 + at}`,
      executeAt: new Date(startMs + 2 * minuteMs + hour * 3_600_000 - 8 * 3_600_000).toISOString(),
      callbackUrl: `https://${namespace}.example.com/hooks/timer`,
      payload: { customer: 1_000 + at, amount: 12.5 },
      ...(at % 5 === 0 ? { tags: ["trial"] } : {}),
    }
  })
  const soon = (id: string, namespace: string, path: string, more: object = {}) => ({
    namespace,
    timerId: id,
    delay: "20s",
    callbackUrl: `https://${path}`,
    ...more,
  })
  const gone = Array.from({ length: 14 }, (_, at) =>
    soon(`welcome-${at}`, "crm", "crm.example.com/gone", { payload: { contact: at } }),
  )
  const exhausted = Array.from({ length: 6 }, (_, at) =>
    soon(`transfer-${900 + at}`, "eu-payments", "ledger.example.com/busy", {
      payload: { transfer: 900 + at },
      retryPolicy: { maxAttempts: 2, initialInterval: "5s", jitter: 0 },
    }),
  )
  const late = Array.from({ length: 4 }, (_, at) =>
    soon(`newsletter-${at}`, "shop", "mail.example.com/busy", { retryPolicy: { maxAttempts: 1 } }),
  )
  const invoice = soon("invoice-4711", "billing", "ledger.example.com/busy", {
    payload: {
      invoice: 4711,
      customer: { id: 9007199254740991, name: "Ada" },
      lines: [{ sku: "A-1", n: 2 }],
    },
    tags: ["vip"],
    retryPolicy: { maxAttempts: 8, initialInterval: "8s", backoffMultiplier: 3, jitter: 0 },
  })
  const sent = Array.from({ length: 12 }, (_, at) => soon(`sent-${at}`, "shop", "shop.example.com/hooks"))
  for (const batch of [timers, [...gone, ...exhausted, ...late, invoice, ...sent]]) {
    expect((await call("createMany", { timers: batch })).status).toBe(200)
  }
  const done = async (path: `${string}/${string}`, body: object) => {
    const { status, text, json } = await post(path, body)
    expect([path, status, status === 200 ? "" : text]).toEqual([path, 200, ""])
    return json
  }
  await done("namespaces/put", { namespace: "billing", maxPending: 1_000, maxInFlight: 40 })
  await done("clock/advance", { by: "1m" })
  await done("namespaces/put", { namespace: "onboarding", paused: true })
  const { job } = await done("bulk/start", {
    do: "replay",
    filter: { namespaces: ["eu-payments"] },
    reason: "The ledger works again",
    expect: 6,
  })
  await eventually("the end of the job", async () =>
    (await done("bulk/get", { jobId: job.jobId })).job.state === "done" ? true : undefined,
  )
  await done("clock/advance", { by: "1s" })
  return job.jobId
}

const about = {
  build: { version: "0.1.0" },
  settings: [
    { name: "TIMER_STORE_URL", value: "sqlite:data/punctual.db", isSet: true },
    { name: "TIMER_HISTORY_RETENTION", value: "30d", isSet: true },
    { name: "TIMER_HTTP_PORT", value: "8080", isSet: false },
  ],
}

describeBrowser("pictures", (browser) => {
  /** Pictures of what the page shows now. */
  const take = async (page: Page, name: string): Promise<void> => {
    if (isWriting) mkdirSync(folder, { recursive: true })
    for (const { width, theme } of views) {
      await page.setViewportSize({ width, height: width < 500 ? 844 : 1000 })
      await page.emulateMedia({ colorScheme: theme })
      await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
      const picture = await page.screenshot({ animations: "disabled" })
      // A blank page is much smaller.
      expect([name, width, theme, picture.length > 15_000]).toEqual([name, width, theme, true])
      const isReadme = name === "timers" && width === 1600
      if (isWriting && (isShown(width, theme) || isReadme)) {
        writeFileSync(join(folder, `${name}-${width}-${theme}.png`), picture)
      }
    }
  }

  test("of every page, on a service with a day's work", () =>
    withConsole({ clockStartMs: startMs, deliver: answer, about }, async (service) => {
      const jobId = await seed(service)
      const places: ReadonlyArray<readonly [name: string, place: string, shown: string]> = [
        ["timers", "timers", "in this chart"],
        ["timer", "timer?namespace=billing&id=invoice-4711", "The beginning of the answer"],
        ["new-timer", "new?namespace=billing", "Fires about"],
        ["dead-letters", "dead-letters", "the receiver refused it"],
        ["jobs", "jobs", "The ledger works again"],
        ["job", `jobs?id=${jobId}`, "transfer-903"],
        ["namespaces", "namespaces", "eu-payments"],
        ["namespace", "namespace?name=billing", "Retries"],
        ["status", "status", "Open breakers"],
      ]
      for (const [name, place, shown] of places) {
        await using opened = await openConsole(browser(), service, place, {
          width: 1600,
          theme: "light",
          zone: "Europe/Berlin",
        })
        await opened.page.getByText(shown).first().waitFor()
        await take(opened.page, name)
      }
    }))

  test("of keys and sign-in, on a service with keys", () =>
    withConsole({ clockStartMs: startMs }, async (service) => {
      const made = await service.post("keys/create", { label: "operations", role: "admin" })
      const { apiKey } = made.json
      const create = (body: object) =>
        service.post("keys/create", body, { authorization: `Bearer ${apiKey}` })
      await create({
        label: "billing service",
        actions: ["timers.write", "timers.cancel"],
        namespaces: ["billing"],
      })
      await create({ label: "support desk", role: "viewer", expiresIn: "90d" })
      await using opened = await openConsole(browser(), service, "keys")
      const { page } = opened
      await page.getByRole("heading", { name: "Sign in" }).waitFor()
      await take(page, "sign-in")
      await page.getByLabel("API key", { exact: true }).fill(apiKey)
      await page.keyboard.press("Enter")
      await page.getByText("support desk").first().waitFor()
      await take(page, "keys")
    }))
})
