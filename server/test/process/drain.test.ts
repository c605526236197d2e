import { expect, test } from "bun:test"
import { eventually } from "../../testkit/eventually.ts"
import { accepted, type WebhookReply } from "../../testkit/Receiver.ts"
import { ProcessRun } from "./ProcessRun.ts"

test("asked to stop, the service finishes running attempts, starts nothing more, and ends with 0", async () => {
  const reply = Promise.withResolvers<WebhookReply>()
  await using run = await ProcessRun.start({ reply: () => reply.promise })
  const { service, client, receiver } = run
  const inFlight = { namespace: "shop", timerId: "in-flight" }
  const dueWhileDraining = { namespace: "shop", timerId: "due-while-draining" }
  await client.create({ key: inFlight, executeAtMs: Date.now(), callbackUrl: receiver.url })
  await receiver.until("one in flight", ({ length }) => length === 1)
  // The drain must begin before this, also on a slow machine.
  const dueAtMs = Date.now() + 8_000
  await client.create({ key: dueWhileDraining, executeAtMs: dueAtMs, callbackUrl: receiver.url })

  const ended = service.terminate()
  await eventually("it drains", () => service.hasLogged('"draining"') || undefined)
  const refused = await fetch(`${service.url}/api/v1/timers/get`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(inFlight),
  })
  expect(refused.status).toBe(503)
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
  expect(await refused.json()).toMatchObject({ code: "ownerUnavailable" })
  expect(await service.statusOf("/health/live")).toBe(200)
  expect(await service.statusOf("/health/ready")).toBe(503)
  expect(await service.metric("timer_in_flight")).toBe(1)

  service.signal("SIGTERM")
  await eventually("the other timer is due", () => Date.now() > dueAtMs + 200 || undefined)
  expect(await service.statusOf("/health/live")).toBe(200)
  reply.resolve(accepted)
  expect(await ended).toBe(0)
  expect(run.contents().finished).toMatchObject([{ key: inFlight, state: "delivered" }])
  expect(receiver.deliveries).toHaveLength(1)

  await service.start()
  await receiver.until("the other timer, after a restart", ({ length }) => length === 2)
  expect(await service.terminate()).toBe(0)
  expect(receiver.deliveries.map(({ key }) => key)).toEqual([inFlight, dueWhileDraining])
  run.expectInvariants()
}, 60_000)
