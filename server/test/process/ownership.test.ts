import { expect, test } from "bun:test"
import { eventually } from "../../testkit/eventually.ts"
import { ProcessRun } from "./ProcessRun.ts"

const timers = 40

/** Creates timers that are all due at one instant. */
const createAll = (run: ProcessRun, prefix: string, executeAtMs: number) =>
  run.createAll(
    Array.from({ length: timers }, (_, number) => ({
      key: { namespace: "shop", timerId: `${prefix}-${number}` },
      executeAtMs,
      callbackUrl: run.receiver.url,
    })),
  )

test("when two processes use one file, one fires, and the other says that it waits, and takes over", async () => {
  await using run = await ProcessRun.start()
  const { service: first, receiver } = run
  const second = run.another("second")
  await second.launch()
  await eventually("the second says that it waits", () => second.hasLogged("waiting:") || undefined)
  const ready = await fetch(`${second.url}/health/ready`)
  expect(ready.status).toBe(503)
  expect(await ready.text()).toContain("waits")
  expect(await second.statusOf("/health/live")).toBe(200)
  const refused = await fetch(`${second.url}/api/v1/timers/get`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"namespace":"shop","timerId":"t"}',
  })
  expect(refused.status).toBe(503)
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)

  await createAll(run, "by-the-first", Date.now())
  await receiver.until("all of the first's", ({ length }) => length === timers)
  // The second process would repeat deliveries that are not stored yet.
  await eventually("all of the first's are stored", async () =>
    (await first.metric('timer_deliveries_total{outcome="delivered"}')) === timers ? true : undefined,
  )
  await run.setPaused(true)
  await createAll(run, "by-the-second", Date.now())
  await first.kill9()
  await eventually("the second is ready", async () =>
    (await second.statusOf("/health/ready")) === 200 ? true : undefined,
  )
  await second.untilLogged("the wait is over")
  await run.setPaused(false, second)
  const bySecond = ({ key }: { key: { timerId: string } }) => key.timerId.startsWith("by-the-second")
  await receiver.until(
    "all of the second's",
    (deliveries) => new Set(deliveries.filter(bySecond).map(({ fireId }) => fireId)).size === timers,
  )
  expect(await second.terminate()).toBe(0)
  // Each claim raises the epoch, so that a receiver can distinguish owners.
  const epochsOf = (isSecond: boolean) =>
    receiver.deliveries.filter((delivery) => bySecond(delivery) === isSecond).map(({ epoch }) => epoch)
  expect(Math.max(...epochsOf(false))).toBeLessThan(Math.min(...epochsOf(true)))
  run.expectInvariants()
}, 60_000)

test("a restart after a kill claims at once, without waiting for the leases of the dead process", async () => {
  await using run = await ProcessRun.start()
  const { service, receiver } = run
  await run.setPaused(true)
  await createAll(run, "overdue", Date.now())
  await service.kill9()
  await service.start()
  await run.setPaused(false)
  await receiver.until("all of them", ({ length }) => length >= timers)
  // A process that finds held leases says that it waits. This one never waited.
  expect(service.hasLogged("waiting:")).toBe(false)
  expect(receiver.deliveries.every(({ epoch }) => epoch > 1)).toBe(true)
  expect(await service.terminate()).toBe(0)
  run.expectInvariants()
}, 60_000)
