// The demo's targets answer as they say, and its sample calls are submitted once.
import { expect, test } from "bun:test"
import { Effect } from "effect"
import { startDemoTargets } from "../../src/demo/demoTargets.ts"
import { demoTenant, sampleCalls, submitSamples } from "../../src/demo/sampleCalls.ts"
import { MemoryServiceCalls } from "../../testkit/MemoryServiceCalls.ts"

test("the targets echo, are slow, fail, and fail every second time", () =>
  Effect.gen(function* () {
    const { url } = yield* startDemoTargets(0)
    yield* Effect.promise(async () => {
      const echoed = await fetch(`${url}/echo?a=1`, { method: "PUT", body: "hello" })
      expect(await echoed.json()).toMatchObject({ method: "PUT", url: "/echo?a=1", body: "hello" })
      expect((await fetch(`${url}/failing`)).status).toBe(503)
      expect((await fetch(`${url}/nothing`)).status).toBe(404)
      const statuses = [(await fetch(`${url}/flaky`)).status, (await fetch(`${url}/flaky`)).status]
      expect(statuses).toEqual([500, 200])
      const slow = fetch(`${url}/slow`)
      const first = await Promise.race([slow.then(() => "slow"), fetch(`${url}/echo`).then(() => "echo")])
      expect(first).toBe("echo")
      expect((await slow).status).toBe(200)
    })
  }).pipe(Effect.scoped, Effect.runPromise))

test("there are 30 sample calls, some of them later, and a store gets them once", async () => {
  const nowMs = 1_000_000
  const samples = sampleCalls("http://127.0.0.1:1", nowMs)
  expect(samples).toHaveLength(30)
  expect(samples.filter(({ dueAt }) => dueAt !== undefined)).toHaveLength(10)
  expect(samples.every(({ dueAt = nowMs + 1 }) => dueAt > nowMs)).toBe(true)
  const { service } = new MemoryServiceCalls(() => nowMs)
  const submitted = () => Effect.runPromise(submitSamples(service, "http://127.0.0.1:1", nowMs))
  expect(await submitted()).toBe(30)
  expect(await submitted()).toBe(0)
  const { counts } = await Effect.runPromise(service.counts(demoTenant, {}))
  expect(counts.Submitted + counts.Scheduled).toBe(30)
})
