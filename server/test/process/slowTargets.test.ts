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

test("400 namespaces with a hanging endpoint each do not keep another namespace from being served", async () => {
  await using run = await ProcessRun.start()
  const { receiver: good, service } = run
  const hanging = await run.anotherReceiver(() => silence)
  const namespaces = 400
  await run.createAll(
    Array.from({ length: namespaces }, (_, number) => ({
      key: { namespace: `hang${number}`, timerId: "t" },
      executeAtMs: Date.now(),
      callbackUrl: hanging.url,
      // Longer than the test, so that hanging attempts free no room.
      timeout: "300s",
    })),
  )
  await hanging.until("they hang", ({ length }) => length >= 40)
  await run.createAll(timers("good", 200, () => good.url))
  await good.until("all while they hang", haveAllArrived("good", 200))
  // Silent attempts move to slow slots, so more of them hang now.
  await hanging.until("more of them hang", ({ length }) => length >= 80)
  await run.createAll(timers("later", 200, () => good.url))
  await good.until("all while more of them hang", haveAllArrived("later", 200))
  expect(hanging.replies).toBe(0)
  expect(hanging.deliveries.length).toBe(80)
  expect(await service.metric("timer_slow_in_flight")).toBeGreaterThanOrEqual(40)
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
