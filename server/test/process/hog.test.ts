import { expect, test } from "bun:test"
import { eventually } from "../../testkit/eventually.ts"
import { type Delivery, silence } from "../../testkit/Receiver.ts"
import { ProcessRun } from "./ProcessRun.ts"

const hogTimers = 20_000
const goodTimers = 200
const pageTimers = 50
const shards = 4

test("one namespace's backlog at a hanging endpoint does not delay another namespace, nor fill memory", async () => {
  await using run = await ProcessRun.start({
    settings: { TIMER_BATCH_SIZE: String(pageTimers), TIMER_SHARDS: String(shards) },
  })
  const { service, receiver: good } = run
  const hanging = await run.anotherReceiver(() => silence)
  const createAll = (namespace: string, count: number, executeAtMs: number, callbackUrl: string) =>
    run.createAll(
      Array.from({ length: count }, (_, number) => ({
        key: { namespace, timerId: `${number}` },
        executeAtMs,
        callbackUrl,
        payload: `{"number":${number}}`,
        // Longer than the test, so that hanging attempts free no room.
        timeout: "300s",
      })),
    )
  const haveAllArrived = (namespace: string) => (deliveries: ReadonlyArray<Delivery>) =>
    new Set(deliveries.flatMap(({ key }) => (key.namespace === namespace ? [key.timerId] : []))).size ===
    goodTimers

  await createAll("hog", hogTimers, Date.now(), hanging.url)
  await hanging.until("the hog hangs", ({ length }) => length >= 20)
  await createAll("good", goodTimers, Date.now(), good.url)
  await good.until("all beside the hog", haveAllArrived("good"))
  expect(hanging.replies).toBe(0)

  await createAll("good-after-restart", goodTimers, Date.now() + 1_000, good.url)
  await service.kill9()
  await service.start()
  await good.until("all after a restart", haveAllArrived("good-after-restart"))
  await hanging.until("the hog hangs again", (deliveries) => deliveries.some(({ epoch }) => epoch > 1))
  expect(hanging.replies).toBe(0)

  // Only a few pages for each shard are read of a stuck namespace, however many timers it has.
  expect(await service.metric("timer_window_timers")).toBeLessThanOrEqual(shards * 6 * pageTimers)
  expect(await service.metric("timer_in_flight")).toBeLessThanOrEqual(100)
  await eventually("only the hog's timers are pending", async () =>
    (await service.metric("timer_pending")) === hogTimers ? true : undefined,
  )
  await service.kill9()
  run.expectInvariants({ dueUntilMs: 0 })
}, 90_000)
