// A service with a manual clock, as a program under test uses it: next month's reminders in a second, with real
// webhooks, retries and re-armings on the way.
import { describe, expect, test } from "bun:test"
import { accepted, type Delivery, Receiver, type WebhookReply } from "../../testkit/Receiver.ts"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

const start = "2020-01-01T00:00:00.000Z"
const startMs = Date.parse(start)
const dayMs = 86_400_000

const failed: WebhookReply = { status: 500, meaning: { result: "retry", notBeforeMs: 0 } }

/** Fails the first two attempts of the retried timer, and arms the daily timer for the next day, five times. */
const reply = ({ key, attempt, executeAtMs }: Delivery): WebhookReply => {
  if (key.timerId === "retried" && attempt < 3) return failed
  if (key.timerId !== "daily" || executeAtMs >= startMs + 5 * dayMs) return accepted
  return {
    status: 200,
    body: JSON.stringify({ ok: true, nextDelay: "1d" }),
    headers: { "content-type": "application/json" },
    meaning: { result: "delivered" },
  }
}

const callOf = (service: ServiceProcess) => async (path: string, body: unknown) => {
  const response = await fetch(`${service.url}/api/v1/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  return { status: response.status, json: JSON.parse(await response.text()) }
}

const settings = { TIMER_CLOCK: `manual:${start}`, TIMER_HISTORY_RETENTION: "365d" }

/** When each timer fired, in days from the start, as the sender says. */
const firedIn = ({ deliveries }: Receiver) =>
  deliveries.map(({ key, attempt, firedAtMs }) => [key.timerId, attempt, (firedAtMs - startMs) / dayMs])

describe("a service with a manual clock", () => {
  test("fires next month's reminder in a second: retried, re-armed, in order, and stored when it is answered", async () => {
    using folder = new TemporaryFolder()
    await using receiver = await Receiver.listening({ reply })
    await using service = await ServiceProcess.ready({ folder: folder.path, settings })
    const call = callOf(service)
    const create = async (timerId: string, executeAt: string) => {
      const retryPolicy = { initialInterval: "1d", backoffMultiplier: 1, jitter: 0 }
      const timer = { namespace: "n", timerId, executeAt, callbackUrl: `${receiver.url}/hook`, retryPolicy }
      expect((await call("timers/create", timer)).json.result).toBe("created")
    }
    await create("monthly", "2020-01-31T00:00:00Z")
    await create("daily", "2020-01-02T00:00:00Z")
    await create("retried", "2020-01-02T12:00:00Z")
    await create("later", "2020-02-02T00:00:00Z")

    const advanced = await call("clock/advance", { by: "31d" })
    expect(advanced.json).toEqual({ now: "2020-02-01T00:00:00.000Z", fired: 9 })
    expect(firedIn(receiver)).toEqual([
      ["daily", 1, 1],
      ["retried", 1, 1.5],
      ["daily", 1, 2],
      ["retried", 2, 2.5],
      ["daily", 1, 3],
      ["retried", 3, 3.5],
      ["daily", 1, 4],
      ["daily", 1, 5],
      ["monthly", 1, 30],
    ])
    const states = await Promise.all(
      ["monthly", "daily", "retried", "later"].map(
        async (timerId) => (await call("timers/get", { namespace: "n", timerId })).json.timer,
      ),
    )
    expect(states.map(({ state }) => state)).toEqual(["delivered", "delivered", "delivered", "pending"])
    expect(states[2]).toMatchObject({ attempts: 3, finishedAt: "2020-01-04T12:00:00.000Z" })
    await service.untilLogged(`the clock is manual and stands at ${start}`)
  }, 30_000)

  test("begins at the given instant after a restart, and timers that are overdue by then fire at once", async () => {
    using folder = new TemporaryFolder()
    await using receiver = await Receiver.listening({ reply })
    await using first = await ServiceProcess.ready({ folder: folder.path, settings })
    const timer = { namespace: "n", delay: "10d", callbackUrl: `${receiver.url}/hook` }
    await callOf(first)("timers/create", { ...timer, timerId: "a" })
    expect((await callOf(first)("clock/advance", { by: "9d" })).json.fired).toBe(0)
    expect(await first.terminate()).toBe(0)
    const later = { ...settings, TIMER_CLOCK: "manual:2020-01-12T00:00:00Z" }
    await using second = await ServiceProcess.ready({ folder: folder.path, settings: later })
    expect((await callOf(second)("clock/advance", { by: "0s" })).json.now).toBe("2020-01-12T00:00:00.000Z")
    expect(firedIn(receiver)).toEqual([["a", 1, 11]])
  }, 30_000)

  test("cannot be one of several nodes that share a store", async () => {
    const { code, stderr } = await ServiceProcess.command(["serve"], {
      TIMER_CLOCK: "manual",
      TIMER_STORE_URL: "postgres://127.0.0.1:1/none",
      TIMER_CLUSTER_SECRET: "s".repeat(64),
    })
    expect(code).toBe(1)
    expect(stderr).toContain("TIMER_CLOCK is manual")
  }, 30_000)
})

test("a service with the system's clock refuses to move it", async () => {
  using folder = new TemporaryFolder()
  await using service = await ServiceProcess.ready({ folder: folder.path })
  const { status, json } = await callOf(service)("clock/advance", { by: "1d" })
  expect([status, json.code]).toEqual([409, "clockNotManual"])
}, 30_000)
