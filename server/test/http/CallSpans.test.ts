// The spans of calls, and what timers keep of them.
import { expect, test } from "bun:test"
import { Effect } from "effect"
import type { Delivery, Fire } from "../../src/ports/Deliverer.ts"
import { eventually } from "../../testkit/eventually.ts"
import { recordedSpans } from "../../testkit/recordedSpans.ts"
import { withService } from "./ServiceFixture.ts"

const namespace = "billing"
const later = { namespace, delay: "1h", callbackUrl: "http://127.0.0.1:9/hook?secret=1", payload: "secret" }
const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
const callers = `00-${traceId}-00f067aa0ba902b7-01`
/** The ids of the first and the second span. */
const [first, second] = ["1", "2"].map((id) => id.padStart(16, "0"))

test("a create is a span in the trace of its caller, and the timer keeps that span", () => {
  const { spans, tracing } = recordedSpans()
  return withService({ tracing }, async ({ call }) => {
    const created = await call("create", { ...later, timerId: "a" }, { traceparent: callers })
    expect(created.json.timer.traceparent).toBe(`00-${traceId}-${first}-01`)
    expect(spans).toMatchObject([
      {
        name: "POST /api/v1/timers/create",
        kind: "server",
        context: { traceId, spanId: first },
        parent: { traceId, spanId: "00f067aa0ba902b7" },
        attributes: {
          "http.route": "/api/v1/timers/create",
          "http.response.status_code": 200,
          "punctual.namespace": namespace,
          "punctual.timer.id": "a",
        },
      },
    ])
    expect(spans[0]?.link).toBeUndefined()
    expect(JSON.stringify(spans)).not.toContain("secret")
  })
})

test("the attempt links to the span of the create, and its request names the attempt's own span", () => {
  const { spans, tracing } = recordedSpans()
  const fires: Array<Fire> = []
  const deliver = (fire: Fire) =>
    Effect.sync((): Delivery => {
      fires.push(fire)
      return { kind: "delivered", status: 200 }
    })
  return withService({ tracing, deliver }, async ({ call }) => {
    await call("create", { ...later, delay: "0s" }, { traceparent: callers })
    const attempt = await eventually("the attempt has ended", () =>
      spans.find(({ name }) => name === "deliver webhook"),
    )
    expect(attempt).toMatchObject({
      context: { traceId, spanId: second },
      link: { traceId, spanId: first },
      kind: "client",
    })
    expect(fires.map(({ ownTraceparent }) => ownTraceparent)).toEqual([`00-${traceId}-${second}-01`])
  })
})

test("a create of the usual form and one of another form have the same spans", () => {
  const { spans, tracing } = recordedSpans()
  return withService({ tracing }, async ({ call }) => {
    await call("create", { ...later, timerId: "a" })
    await call("create", { ...later, timerId: "b", onExpire: "drop", expireAfter: "1h" })
    await call("create", { ...later, timerId: "c", payload: "x".repeat(20_000) })
    const named = spans.map(({ attributes }) => attributes["punctual.timer.id"])
    expect(named).toEqual(["a", "b", "c"])
    expect(new Set(spans.map(({ name, kind }) => `${name} ${kind}`)).size).toBe(1)
  })
})

test("the timers of createMany keep the span of the call, unless they name a trace", () => {
  const { spans, tracing } = recordedSpans()
  return withService({ tracing }, async ({ call }) => {
    const own = "00-00000000000000000000000000000001-0000000000000002-00"
    const timers = [
      { ...later, timerId: "a" },
      { ...later, timerId: "b", traceparent: own },
    ]
    await call("createMany", { timers })
    const traces = await Promise.all(
      ["a", "b"].map(async (timerId) => (await call("get", { namespace, timerId })).json.timer.traceparent),
    )
    expect(traces).toEqual([`00-${"f".repeat(32)}-${first}-01`, own])
    expect(spans).toMatchObject([{ attributes: { "punctual.timers": 2 } }])
  })
})

test("changes and refusals are spans, and reads are not", () => {
  const { spans, tracing } = recordedSpans()
  return withService({ tracing }, async ({ call }) => {
    await call("create", { ...later, timerId: "a" })
    await call("get", { namespace, timerId: "a" })
    await call("list", { namespace })
    await call("update", { namespace, timerId: "a", delay: "2h" })
    await call("delete", { namespace, timerId: "a" })
    await call("delete", { namespace, timerId: "nobody" })
    await call("create", "no JSON")
    const shown = spans.map(({ name, attributes, error }) => [
      name.slice("POST /api/v1/timers/".length),
      attributes["http.response.status_code"],
      error,
    ])
    expect(shown).toEqual([
      ["create", 200, undefined],
      ["update", 200, undefined],
      ["delete", 200, undefined],
      // A wrong request is no failure of the service.
      ["delete", 404, undefined],
      ["create", 400, undefined],
    ])
  })
})

test("a trace that is left out has no span, and the timer keeps what its caller sent", () => {
  const { spans, tracing } = recordedSpans()
  return withService({ tracing }, async ({ call }) => {
    const unsampled = callers.replace(/01$/, "00")
    const created = await call("create", { ...later, timerId: "a" }, { traceparent: unsampled })
    expect(created.json.timer.traceparent).toBe(unsampled)
    expect(spans).toEqual([])
  })
})
