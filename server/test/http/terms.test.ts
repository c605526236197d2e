// Terms of timers as callers meet them: retry waits, what happens on expiry and on death, and the trace.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import type { Delivery, Fire } from "../../src/ports/Deliverer.ts"
import { eventually } from "../../testkit/eventually.ts"
import { pointersOf, refused, succeeded } from "./answers.ts"
import { type Answered, type RunningService, withService } from "./ServiceFixture.ts"

const namespace = "billing"
const hook = "http://127.0.0.1:9/hook"
const onDead = { type: "webhook", url: "http://127.0.0.1:9/dead" }
const later = { namespace, delay: "1h", callbackUrl: hook }
const now = { namespace, delay: "0s", callbackUrl: hook }
const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
const otherTrace = "00-00000000000000000000000000000001-0000000000000002-00"

/** Refuses for good what is no call of onDead, and keeps what it was given. */
const refusing = () => {
  const fires: Array<Fire> = []
  const deliver = (fire: Fire) =>
    Effect.sync((): Delivery => {
      fires.push(fire)
      return fire.death === undefined
        ? { kind: "dead", reason: "refused", error: "gone", status: 410 }
        : { kind: "delivered", status: 200 }
    })
  return { fires, deliver }
}

const pointersIn = (answered: Answered) => pointersOf(refused(answered, "invalidRequest"))

const timerOf = async ({ call }: RunningService, timerId: string) =>
  (await call("get", { namespace, timerId })).json.timer

const stateOf = (running: RunningService, timerId: string, state: string) =>
  eventually(`${timerId} is ${state}`, async () => {
    const timer = await timerOf(running, timerId)
    return timer?.state === state ? timer : undefined
  })

describe("retry waits", () => {
  const waits = ["1m", "1h", "1d"]

  test("are kept and shown as they were given, by create, createMany, update and namespaces/put", () =>
    withService({}, async (running) => {
      const { call, post } = running
      await call("create", { ...later, timerId: "a", retryPolicy: { waits, maxDuration: "7d" } })
      expect((await timerOf(running, "a")).retryPolicy).toEqual({ waits, maxDuration: "7d" })
      await call("createMany", { timers: [{ ...later, timerId: "b", retryPolicy: { waits: [] } }] })
      expect((await timerOf(running, "b")).retryPolicy).toEqual({ waits: [] })
      await call("update", { namespace, timerId: "a", retryPolicy: { maxAttempts: 2 } })
      expect((await timerOf(running, "a")).retryPolicy).toMatchObject({ maxAttempts: 2, jitter: 0.2 })
      await call("update", { namespace, timerId: "a", retryPolicy: { waits: ["5s"] } })
      expect((await timerOf(running, "a")).retryPolicy).toEqual({ waits: ["5s"] })
      const { json } = await post("namespaces/put", { namespace, retryPolicy: { waits } })
      expect(json.settings.retryPolicy).toEqual({ waits })
      expect((await post("namespaces/get", { namespace })).json.settings.retryPolicy).toEqual({ waits })
      await call("create", { ...later, timerId: "c" })
      await call("update", { namespace, timerId: "a", retryPolicy: null })
      for (const timerId of ["a", "c"])
        expect((await timerOf(running, timerId)).retryPolicy).toEqual({ waits })
    }))

  test("are refused beside the other form, with a pointer to it, and nothing is created", () =>
    withService({}, async (running) => {
      const both = { ...later, timerId: "a", retryPolicy: { waits, jitter: 0.1 } }
      expect(pointersIn(await running.call("create", both))).toEqual(["/retryPolicy/jitter"])
      const { json } = await running.call("createMany", { timers: [later, both] })
      expect(json.results[1].problem.errors).toMatchObject([{ pointer: "/timers/1/retryPolicy/jitter" }])
      refused(await running.call("get", { namespace, timerId: "a" }), "timerNotFound")
    }))

  test("say when the next attempt is due, to the millisecond", () => {
    const deliver = () =>
      Effect.succeed<Delivery>({ kind: "retry", error: "not now", status: 500, isHostFailure: false })
    return withService({ deliver, clockStartMs: Date.UTC(2030, 0, 1) }, async (running) => {
      await running.call("create", { ...now, timerId: "a", retryPolicy: { waits: ["1m", "1h"] } })
      const advance = async (by: string) =>
        expect((await running.post("clock/advance", { by })).status).toBe(200)
      const attempted = (attempts: number) =>
        eventually(`attempt ${attempts} was made`, async () => {
          const timer = await timerOf(running, "a")
          return timer.attempts === attempts && timer.state !== "inFlight" ? timer : undefined
        })
      expect((await attempted(1)).fireAt).toBe("2030-01-01T00:01:00.000Z")
      await advance("1m")
      expect((await attempted(2)).fireAt).toBe("2030-01-01T01:01:00.000Z")
      await advance("1h")
      expect(await attempted(3)).toMatchObject({ state: "dead", reason: "attemptsExhausted" })
    })
  })
})

describe("onExpire", () => {
  const late = { namespace, executeAt: "2020-01-01T00:00:00Z", callbackUrl: hook, expireAfter: "1s" }

  test("drop ends an expired timer as cancelled, with the reason; dead and no word keep a dead letter", () =>
    withService({}, async (running) => {
      // Metrics count for the whole process, and other tests run in it.
      const dropped = async (): Promise<number> => {
        const { text } = await running.fetch("/metrics")
        return Number(/^timer_deliveries_total\{outcome="dropped"\} (\d+)$/m.exec(text)?.[1])
      }
      const before = await dropped()
      await running.call("create", { ...late, timerId: "a", onExpire: "drop", onDead })
      await running.call("create", { ...late, timerId: "b", onExpire: "dead" })
      await running.call("create", { ...late, timerId: "c" })
      expect(await stateOf(running, "a", "cancelled")).toMatchObject({
        reason: "expired",
        attempts: 0,
        onExpire: "drop",
      })
      for (const timerId of ["b", "c"]) {
        const timer = await stateOf(running, timerId, "dead")
        expect(timer.reason).toBe("expired")
        expect(timer).not.toHaveProperty("onExpire")
      }
      expect(await dropped()).toBe(before + 1)
    }))

  test("is kept by an update that does not name it, and cleared with expireAfter", () =>
    withService({}, async (running) => {
      const { call } = running
      const key = { namespace, timerId: "a" }
      await call("create", { ...later, timerId: "a", expireAfter: "1h", onExpire: "drop", onDead })
      await call("update", { ...key, expireAfter: "2h" })
      expect(await timerOf(running, "a")).toMatchObject({ expireAfter: "2h", onExpire: "drop", onDead })
      await call("update", { ...key, expireAfter: "2h", onExpire: "dead", onDead: null })
      expect(await timerOf(running, "a")).not.toHaveProperty("onExpire")
      expect(await timerOf(running, "a")).not.toHaveProperty("onDead")
      await call("update", { ...key, expireAfter: "2h", onExpire: "drop" })
      await call("update", { ...key, expireAfter: null })
      expect(await timerOf(running, "a")).not.toHaveProperty("onExpire")
      expect(pointersIn(await call("update", { ...key, onExpire: "drop" }))).toEqual(["/onExpire"])
      expect(pointersIn(await call("create", { ...later, onExpire: "drop" }))).toEqual(["/onExpire"])
    }))
})

describe("onDead", () => {
  test("of a timer is called by a timer of its own, which can be seen and has none of its own", () => {
    const { fires, deliver } = refusing()
    return withService({ deliver }, async (running) => {
      const { json } = await running.call("create", { ...now, timerId: "a", payload: { n: 1 }, onDead })
      const { fireId } = json.timer
      expect(json.timer.onDead).toMatchObject({ ...onDead, method: "POST", timeout: "15s" })
      await stateOf(running, `_dead.${fireId}`, "delivered")
      expect(fires.map((fire) => fire.death?.timerId)).toEqual([undefined, "a"])
      const notice = await timerOf(running, `_dead.${fireId}`)
      expect(notice.target.url).toBe(onDead.url)
      expect(notice).not.toHaveProperty("onDead")
    })
  })

  test("of a namespace is shown, called for timers without one, and reset by null", () => {
    const { fires, deliver } = refusing()
    return withService({ deliver }, async (running) => {
      const { post } = running
      const { json } = await post("namespaces/put", { namespace, onDead })
      expect(json.settings.onDead).toMatchObject(onDead)
      expect((await post("namespaces/get", { namespace })).json.settings.onDead).toMatchObject(onDead)
      const { fireId } = succeeded("create", await running.call("create", { ...now, timerId: "a" })).timer
      await stateOf(running, `_dead.${fireId}`, "delivered")
      const reset = await post("namespaces/put", { namespace, onDead: null })
      expect(reset.json.settings).not.toHaveProperty("onDead")
      await running.call("create", { ...now, timerId: "b" })
      await stateOf(running, "b", "dead")
      expect(fires).toHaveLength(3)
    })
  })

  test("must name a target that this service delivers to, and ids of its calls cannot be created", () =>
    withService({}, async ({ call, post }) => {
      for (const type of ["event", "handler"]) {
        const target = { type }
        expect(pointersIn(await call("create", { ...later, onDead: target }))[0]).toStartWith("/onDead")
        const update = { namespace, timerId: "a", onDead: target }
        expect(pointersIn(await call("update", update))[0]).toStartWith("/onDead")
        expect(pointersIn(await post("namespaces/put", { namespace, onDead: target }))[0]).toStartWith(
          "/onDead",
        )
      }
      const timerId = "_dead.0194fdc2-fa2f-7fb1-8a3c-1b2c3d4e5f60"
      const problem = refused(await call("create", { ...later, timerId }), "invalidRequest")
      expect(problem.detail).toContain("/timerId must not begin with _dead.")
      const { json } = await call("createMany", { timers: [{ ...later, timerId }] })
      expect(json.results[0].problem.errors).toMatchObject([{ pointer: "/timers/0/timerId" }])
      for (const name of ["get", "delete"]) refused(await call(name, { namespace, timerId }), "timerNotFound")
    }))
})

describe("the creator's trace", () => {
  const tracing = () => {
    const fires: Array<Fire> = []
    const deliver = (fire: Fire) =>
      Effect.sync((): Delivery => {
        fires.push(fire)
        return { kind: "delivered", status: 200 }
      })
    return {
      fires,
      deliver,
      traceOf: (timerId: string) => fires.find((fire) => fire.timerId === timerId)?.traceparent,
    }
  }

  test("is the header of create, or the field, which has precedence; a header that is not valid is ignored", () => {
    const { deliver, traceOf } = tracing()
    return withService({ deliver }, async (running) => {
      const { call } = running
      await call("create", { ...now, timerId: "header" }, { traceparent })
      await call("create", { ...now, timerId: "field", traceparent: otherTrace }, { traceparent })
      for (const [timerId, header] of [
        ["none", undefined],
        ["broken", "00-xyz"],
        ["zero", `00-${"0".repeat(32)}-00f067aa0ba902b7-01`],
      ] as const) {
        const created = await call(
          "create",
          { ...now, timerId },
          header === undefined ? {} : { traceparent: header },
        )
        expect(created.json.result).toBe("created")
      }
      await call("createMany", { timers: [{ ...now, timerId: "item", traceparent: otherTrace }] })
      for (const timerId of ["header", "field", "none", "broken", "zero", "item"]) {
        await stateOf(running, timerId, "delivered")
      }
      expect(["header", "field", "none", "broken", "zero", "item"].map(traceOf)).toEqual([
        traceparent,
        otherTrace,
        undefined,
        undefined,
        undefined,
        otherTrace,
      ])
      expect((await timerOf(running, "header")).traceparent).toBe(traceparent)
    })
  })

  test("in a field that is not valid is refused, with a pointer", () =>
    withService({}, async ({ call }) => {
      for (const wrong of ["x", 5, traceparent.toUpperCase()]) {
        const body = { ...later, traceparent: wrong }
        expect(pointersIn(await call("create", body))).toEqual(["/traceparent"])
        const { json } = await call("createMany", { timers: [body] })
        expect(json.results[0].problem.errors).toMatchObject([{ pointer: "/timers/0/traceparent" }])
      }
    }))

  test("does not make a repeated create another one: the first trace stays", () =>
    withService({}, async (running) => {
      const { call } = running
      const create = { namespace, timerId: "a", executeAt: "2030-01-01T00:00:00Z", callbackUrl: hook }
      const results: Array<string> = []
      for (const trace of [traceparent, otherTrace]) {
        results.push((await call("create", create, { traceparent: trace })).json.result)
      }
      expect(results).toEqual(["created", "unchanged"])
      expect((await timerOf(running, "a")).traceparent).toBe(traceparent)
      await call("update", { namespace, timerId: "a", payload: 1 }, { traceparent: otherTrace })
      expect((await timerOf(running, "a")).traceparent).toBe(traceparent)
    }))
})
