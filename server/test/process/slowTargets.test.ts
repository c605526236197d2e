// Endpoints that hang and names that do not resolve make only their own timers wait.
import { expect, test } from "bun:test"
import { eventually } from "../../testkit/eventually.ts"
import { type Delivery, silence } from "../../testkit/Receiver.ts"
import { SlowNameServer } from "../../testkit/SlowNameServer.ts"
import { ProcessRun } from "./ProcessRun.ts"

const haveAllArrived = (namespace: string, count: number) => (deliveries: ReadonlyArray<Delivery>) =>
  new Set(deliveries.flatMap(({ key }) => (key.namespace === namespace ? [key.timerId] : []))).size === count

const timers = (namespace: string, count: number, callbackUrl: (number: number) => string) =>
  Array.from({ length: count }, (_, number) => ({
    key: { namespace, timerId: `${number}` },
    executeAtMs: Date.now(),
    callbackUrl: callbackUrl(number),
  }))

test("400 namespaces with a hanging endpoint each delay no new namespace, also after a restart", async () => {
  await using run = await ProcessRun.start()
  const { receiver: good, service } = run
  const hanging = await run.anotherReceiver(() => silence)
  const namespaces = 400
  const haveAllBegun = (times: number) => (deliveries: ReadonlyArray<Delivery>) =>
    deliveries.length >= times * namespaces
  await run.createAll(
    Array.from({ length: namespaces }, (_, number) => ({
      key: { namespace: `hang${number}`, timerId: "t" },
      executeAtMs: Date.now(),
      callbackUrl: hanging.url,
      // Longer than the test, so that hanging attempts free no room.
      timeout: "300s",
    })),
  )
  await hanging.until("they all hang", haveAllBegun(1))
  await run.createAll(timers("good", 200, () => good.url))
  await good.until("all while they hang", haveAllArrived("good", 200))
  await service.kill9()
  await service.start()
  await hanging.until("they all hang again", haveAllBegun(2))
  await run.createAll(timers("later", 200, () => good.url))
  await good.until("all after a restart", haveAllArrived("later", 200))
  expect(hanging.replies).toBe(0)
  // Nothing needed their places, so no attempt was repeated.
  expect(hanging.deliveries.length).toBe(2 * namespaces)
  await service.kill9()
  run.expectInvariants({ dueUntilMs: 0 })
}, 90_000)

test("if hanging endpoints fill all places, some are called again later, and a new namespace is served", async () => {
  await using run = await ProcessRun.start({
    // The runtime has no request more than there are places: 20 normal ones, 4 slow ones and 6 for new hosts.
    settings: { TIMER_MAX_IN_FLIGHT: "20", BUN_CONFIG_MAX_HTTP_REQUESTS: "30" },
  })
  const { receiver: good, service } = run
  const hanging = await run.anotherReceiver(() => silence)
  await run.createAll(
    Array.from({ length: 30 }, (_, number) => ({
      key: { namespace: `hang${number}`, timerId: "t" },
      executeAtMs: Date.now(),
      callbackUrl: hanging.url,
      timeout: "300s",
    })),
  )
  await hanging.until("they fill the places", ({ length }) => length >= 16)
  await run.createAll(timers("good", 20, () => good.url))
  await good.until("all while they hang", haveAllArrived("good", 20))
  const abandoned = 'timer_deliveries_total{outcome="abandoned"}'
  await eventually("attempts ended early", async () => (await service.metric(abandoned)) > 0 || undefined)
  await service.kill9()
  run.expectInvariants({ dueUntilMs: 0 })
}, 90_000)

for (const egress of ["open", "127.0.0.0/8"]) {
  test(`100 names that do not resolve do not delay names of another namespace, with egress ${egress}`, async () => {
    await using names = await SlowNameServer.listening()
    await using run = await ProcessRun.start({
      settings: { TIMER_DNS_SERVERS: names.address, TIMER_EGRESS: egress, TIMER_LOOKUP_TIMEOUT: "1s" },
    })
    const { receiver: good, service } = run
    const port = new URL(good.url).port
    await run.createAll(timers("attacker", 100, (number) => `http://slow${number}.test:${port}/`))
    await eventually("lookups hang", () => names.hanging.size >= 16 || undefined)
    await run.createAll(timers("good", 20, (number) => `http://fast${number}.test:${port}/`))
    await good.until("all while lookups hang", haveAllArrived("good", 20))
    // A lookup that nobody waits for any more still counts, so no further name is asked for.
    expect(names.hanging.size).toBe(16)
    const failed = await eventually("an attempt fails", async () => {
      const answer = await fetch(`${service.url}/api/v1/timers/list`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ namespace: "attacker", limit: 100 }),
      })
      return (
        /no address in time for slow\d+\.test: it did not resolve within 1s"/.exec(await answer.text()) ??
        undefined
      )
    })
    expect(failed).toHaveLength(1)
    expect(good.deliveries.every(({ key }) => key.namespace === "good")).toBe(true)
  }, 90_000)
}
