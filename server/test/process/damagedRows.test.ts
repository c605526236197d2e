// A real service on a store with damaged rows.
import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { eventually } from "../../testkit/eventually.ts"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { ProcessRun } from "./ProcessRun.ts"

test("a service on a store with a damaged row fires all others, and doctor names the row", async () => {
  await using run = await ProcessRun.start()
  const { service, receiver, folder } = run
  const executeAtMs = Date.now()
  await run.setPaused(true)
  const keys = Array.from({ length: 50 }, (_, index) => ({ namespace: "shop", timerId: `t-${index}` }))
  await run.createAll(keys.map((key) => ({ key, executeAtMs, callbackUrl: receiver.url })))
  expect(await service.terminate()).toBe(0)
  const path = ServiceProcess.databaseIn(folder)
  const edit = (sql: string) => {
    using database = new Database(path)
    database.run(sql)
  }
  const row = "id = (SELECT id FROM timers WHERE timer_id = 't-7')"
  edit(`UPDATE bodies SET spec = substr(spec, 1, 20) WHERE ${row}`)

  await service.start()
  await run.setPaused(false)
  await receiver.until("all others", ({ length }) => length === 49)
  expect(receiver.deliveries.some(({ key }) => key.timerId === "t-7")).toBe(false)
  await eventually("the row is counted", async () =>
    (await service.metric('timer_store_unreadable{what="timers"}')) === 1 ? true : undefined,
  )
  await eventually(
    "the row is in the log",
    () => service.hasLogged("a timer cannot be read and does not fire: its spec is not JSON") || undefined,
  )
  const answer = await fetch(`${service.url}/api/v1/timers/get`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(keys[7]),
  })
  expect(answer.status).toBe(500)
  expect(await answer.json()).toMatchObject({ code: "internal", detail: expect.stringContaining("doctor") })
  const store = `sqlite:${path}`
  const doctor = await ServiceProcess.command(["doctor", "--store", store])
  expect([doctor.code, doctor.stdout]).toEqual([
    1,
    expect.stringContaining("1 pending timer cannot be read: shop/t-7 (its spec is not JSON)"),
  ])
  const exported = await ServiceProcess.command(["export", "--store", store])
  expect([exported.code, exported.stdout.includes('"t-7"')]).toEqual([1, false])
  expect(exported.stderr).toContain("1 timer (shop/t-7)")

  // After the repair of the guide, the timer fires, late.
  expect(await service.terminate()).toBe(0)
  edit(`UPDATE bodies SET spec = (SELECT spec FROM history WHERE timer_id = 't-8') WHERE ${row}`)
  await service.start()
  await eventually("the repaired timer", () =>
    receiver.deliveries.some(({ key }) => key.timerId === "t-7") ? true : undefined,
  )
  await service.terminate()
  expect((await ServiceProcess.command(["doctor", "--store", store])).code).toBe(0)
  run.expectInvariants()
}, 60_000)
