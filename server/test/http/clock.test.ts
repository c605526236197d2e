// The answers of the clock call: the current time, the number of firings, and why the clock cannot move.
import { describe, expect, test } from "bun:test"
import { AdvanceClockAnswer, advanceAnswerWithinMs } from "@punctual/api/AdvanceClock"
import { Effect, Schema } from "effect"
import { InvalidAdvance, longestAdvanceMs } from "../../src/engine/clock/ClockAdvance.ts"
import type { Delivery } from "../../src/ports/Deliverer.ts"
import { eventually } from "../../testkit/eventually.ts"
import { type RunningService, withService } from "./ServiceFixture.ts"

const start = "2030-01-01T00:00:00.000Z"
const startMs = Date.parse(start)

const advance = (service: RunningService, body: unknown) =>
  service.fetch("/api/v1/clock/advance", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  })

const create = (service: RunningService, timerId: string, delay: string) =>
  service.call("create", { namespace: "n", timerId, delay, callbackUrl: "http://localhost/hook" })

describe("a manual clock", () => {
  test("stands still at its start, and an advance by zero shows its time", () =>
    withService({ clockStartMs: startMs }, async (service) => {
      const { status, json } = await advance(service, { by: "0s" })
      expect(status).toBe(200)
      expect(json).toEqual({ now: start, fired: 0 })
      Schema.decodeUnknownSync(AdvanceClockAnswer)(json)
      const { json: created } = await create(service, "a", "30d")
      expect(created.timer).toMatchObject({ executeAt: "2030-01-31T00:00:00.000Z", createdAt: start })
    }))

  test("moves by a duration or to an instant, and the due timers on the way are stored when it answers", () =>
    withService({ clockStartMs: startMs }, async (service) => {
      await create(service, "a", "30d")
      expect((await advance(service, { by: "31d" })).json).toEqual({
        now: "2030-02-01T00:00:00.000Z",
        fired: 1,
      })
      const { json } = await service.call("get", { namespace: "n", timerId: "a" })
      expect(json.timer).toMatchObject({
        state: "delivered",
        latenessMs: 0,
        finishedAt: "2030-01-31T00:00:00.000Z",
      })
      expect((await advance(service, { to: "2030-02-02T00:00:00Z" })).json).toEqual({
        now: "2030-02-02T00:00:00.000Z",
        fired: 0,
      })
    }))

  test("stops at maxFirings, and says that there is more", () =>
    withService({ clockStartMs: startMs }, async (service) => {
      for (const hours of [1, 2, 3]) await create(service, `t${hours}`, `${hours}h`)
      expect((await advance(service, { by: "1d", maxFirings: 2 })).json).toEqual({
        now: "2030-01-01T02:00:00.000Z",
        fired: 2,
        more: true,
      })
    }))

  test("refuses to go back, and says its time", () =>
    withService({ clockStartMs: startMs }, async (service) => {
      const { status, json } = await advance(service, { to: "2029-12-31T23:59:59.999Z" })
      expect(status).toBe(400)
      expect(json).toMatchObject({
        code: "invalidRequest",
        errors: [{ pointer: "/to", detail: expect.stringContaining(start) }],
      })
    }))

  test("is moved by one caller after the other, and more than 64 at once are told to retry later", async () => {
    const { promise, resolve } = Promise.withResolvers<Delivery>()
    const deliver = () => Effect.promise(() => promise)
    await withService({ clockStartMs: startMs, deliver }, async (service) => {
      await create(service, "a", "1s")
      const early: Array<Awaited<ReturnType<typeof advance>>> = []
      const answers = Array.from({ length: 70 }, async () => {
        const answer = await advance(service, { by: "1s" })
        early.push(answer)
        return answer
      })
      // Then all 70 requests have arrived.
      await eventually("six are refused", () => early.length === 6 || undefined)
      for (const { status, json } of early) {
        expect(status).toBe(503)
        expect(json).toMatchObject({ code: "overloaded", retryAfterSeconds: 1, written: "no" })
      }
      resolve({ kind: "delivered" })
      const moved = (await Promise.all(answers)).filter(({ status }) => status === 200)
      expect(moved.length).toBe(64)
      expect((await advance(service, { by: "0s" })).json).toEqual({
        now: new Date(startMs + 64_000).toISOString(),
        fired: 0,
      })
    })
  })
})

test("the system's clock cannot be moved", () =>
  withService({}, async (service) => {
    const { status, json } = await advance(service, { by: "1h" })
    expect(status).toBe(409)
    expect(json).toMatchObject({
      code: "clockNotManual",
      detail: expect.stringContaining("TIMER_CLOCK=manual"),
    })
  }))

test("a call that may take longer than others is not cut off", () => {
  const advanced = Effect.delay(new InvalidAdvance({ message: "in the end" }), 100)
  const clock = { nowMs: 0, advance: () => advanced }
  return withService({ answerTimeoutMs: 20, engine: { clock: clock as never } }, async (service) => {
    expect((await advance(service, { by: "1h" })).json).toMatchObject({
      errors: [{ pointer: "/by", detail: "in the end" }],
    })
  })
})

test("the contract gives an advance more time than its own limit, with a minute for the last attempts", () => {
  expect(advanceAnswerWithinMs).toBeGreaterThanOrEqual(longestAdvanceMs + 60_000)
})
