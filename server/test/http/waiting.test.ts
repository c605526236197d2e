// What answers say about a timer that is due and has not started.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import type { Delivery } from "../../src/ports/Deliverer.ts"
import { eventually } from "../../testkit/eventually.ts"
import { succeeded } from "./answers.ts"
import { type RunningService, withService } from "./ServiceFixture.ts"

const startMs = Date.UTC(2030, 0, 1)
const key = { namespace: "shop", timerId: "t" }
const timer = { ...key, executeAt: "2030-01-01T00:00:00Z", callbackUrl: "http://127.0.0.1:9/hook" }

const pause = async ({ post }: RunningService, paused: boolean) =>
  succeeded("namespaces/put", await post("namespaces/put", { namespace: "shop", paused }))

const waiting = { reason: "paused", since: startMs, detail: "The namespace shop is paused." } as const

describe("waiting", () => {
  test("stands in every answer that shows a timer, as long as it is due and waits", () =>
    withService({ clockStartMs: startMs }, async (service) => {
      const { call } = service
      await pause(service, true)
      expect(succeeded("create", await call("create", timer)).timer.waiting).toEqual(waiting)
      const again = succeeded("create", await call("create", timer))
      expect([again.result, again.timer.waiting]).toEqual(["unchanged", waiting])
      expect(succeeded("get", await call("get", key)).timer.waiting).toEqual(waiting)
      const listed = succeeded("list", await call("list", { namespace: "shop" }))
      expect(listed.timers.map((one) => one.waiting)).toEqual([waiting])
      const changed = succeeded("update", await call("update", { ...key, payload: 1 }))
      expect(changed.timer.waiting).toEqual(waiting)
      const later = succeeded("update", await call("update", { ...key, delay: "1h" }))
      expect(later.timer).not.toHaveProperty("waiting")
      expect(succeeded("get", await call("get", key)).timer).not.toHaveProperty("waiting")
    }))

  test("is not said of an attempt that runs, which says when it started", async () => {
    let end = (_: Delivery) => {}
    const deliver = () =>
      Effect.callback<Delivery>((resume) => {
        end = (delivery) => resume(Effect.succeed(delivery))
      })
    await withService({ deliver }, async (service) => {
      const { call } = service
      await call("create", { ...timer, executeAt: undefined, delay: "0s" })
      const shown = await eventually("an attempt runs", async () => {
        const found = succeeded("get", await call("get", key)).timer
        return found.state === "inFlight" ? found : undefined
      })
      await pause(service, true)
      expect(succeeded("get", await call("get", key)).timer).toEqual(shown)
      expect(shown).not.toHaveProperty("waiting")
      expect(shown.attemptStartedAt).toBeGreaterThanOrEqual(shown.executeAt)
      end({ kind: "delivered" })
      await eventually("it is delivered", async () => {
        const found = succeeded("get", await call("get", key)).timer
        return found.state === "delivered" ? found : undefined
      })
      expect(succeeded("get", await call("get", key)).timer).not.toHaveProperty("attemptStartedAt")
    })
  })
})
