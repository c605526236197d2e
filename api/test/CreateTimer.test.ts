import { describe, expect, test } from "bun:test"
import { Schema } from "effect"
import { makeCreateTimer, targetOf } from "../src/CreateTimer.ts"
import { defaultLimits } from "../src/Limits.ts"
import { decoded, refusalsOf } from "./refusals.ts"

const CreateTimer = makeCreateTimer(defaultLimits)
const body = {
  namespace: "billing",
  timerId: "a",
  executeAt: "2030-01-01T09:00:00Z",
  callbackUrl: "https://example.com/",
}
const without = (field: keyof typeof body) => {
  const { [field]: _, ...rest } = body
  return rest
}

describe("a create", () => {
  test("decodes to plain data with times in milliseconds", () => {
    const full = {
      ...without("callbackUrl"),
      target: { type: "event" },
      payload: { any: ["json", null, 1.5] },
      retryPolicy: { initialInterval: "1s" },
      expireAfter: "1h",
      correlationId: "order-1",
      onExisting: "keep",
    }
    const request: unknown = decoded(CreateTimer, full)
    expect(request).toEqual({
      ...full,
      executeAt: 1_893_488_400_000,
      retryPolicy: { initialInterval: 1_000 },
      expireAfter: 3_600_000,
    })
  })

  test("may say what happens when it expires, but only if it can expire", () => {
    for (const onExpire of ["dead", "drop"]) {
      expect(refusalsOf(CreateTimer, { ...body, expireAfter: "1h", onExpire })).toEqual([])
      expect(refusalsOf(CreateTimer, { ...body, onExpire })).toEqual([
        "/onExpire needs expireAfter: give both of them, or neither",
      ])
    }
    expect(refusalsOf(CreateTimer, { ...body, expireAfter: "1h", onExpire: "keep" })).toEqual([
      "/onExpire must be one of dead, drop",
    ])
  })

  test("may name who is told when it is dead: a webhook or an event", () => {
    for (const onDead of [{ type: "event" }, { type: "webhook", url: "https://example.com/dead" }]) {
      expect(refusalsOf(CreateTimer, { ...body, onDead })).toEqual([])
    }
    for (const onDead of [{ type: "handler" }, "https://example.com/dead", null]) {
      expect(refusalsOf(CreateTimer, { ...body, onDead })).toEqual([
        "/onDead must be an object whose type is webhook or event",
      ])
    }
    expect(refusalsOf(CreateTimer, { ...body, onDead: { type: "webhook", url: "ftp://x" } })).toHaveLength(1)
  })

  test("must not take an id that the service makes itself", () => {
    const reserved = "_dead.0194fdc2-fa2f-7fb1-8a3c-1b2c3d4e5f60"
    expect(refusalsOf(CreateTimer, { ...body, timerId: reserved })).toEqual([
      "/timerId must not begin with _dead., which is reserved for calls of onDead",
    ])
    for (const timerId of ["_dead", "_deadline", "a_dead.b"]) {
      expect(refusalsOf(CreateTimer, { ...body, timerId })).toEqual([])
    }
  })

  test("needs only a namespace, a time and a target", () => {
    expect(refusalsOf(CreateTimer, without("timerId"))).toEqual([])
    expect(refusalsOf(CreateTimer, {})).toEqual(["/namespace is required"])
  })

  test("names exactly one of executeAt and delay", () => {
    expect(refusalsOf(CreateTimer, { ...without("executeAt"), delay: "5s" })).toEqual([])
    expect(refusalsOf(CreateTimer, without("executeAt"))).toEqual([
      "/executeAt is required: give exactly one of executeAt and delay",
    ])
    expect(refusalsOf(CreateTimer, { ...body, delay: "5s" })).toEqual([
      "/delay cannot be given together with executeAt: remove one of them",
    ])
  })

  test("names exactly one of callbackUrl and target", () => {
    expect(refusalsOf(CreateTimer, without("callbackUrl"))).toEqual([
      "/callbackUrl is required: give exactly one of callbackUrl and target",
    ])
    expect(refusalsOf(CreateTimer, { ...body, target: { type: "event" } })).toEqual([
      "/target cannot be given together with callbackUrl: remove one of them",
    ])
  })

  test("with a callbackUrl means the same as with that webhook target", () => {
    const short = targetOf(decoded(CreateTimer, body), defaultLimits)
    const long = { ...without("callbackUrl"), target: { type: "webhook", url: body.callbackUrl } }
    expect(short).toEqual(targetOf(decoded(CreateTimer, long), defaultLimits))
    expect(targetOf({}, defaultLimits)).toBeUndefined()
  })

  test("may be ten years ahead by delay, and not a millisecond more", () => {
    const timer = without("executeAt")
    expect(refusalsOf(CreateTimer, { ...timer, delay: "3653d" })).toEqual([])
    expect(refusalsOf(CreateTimer, { ...timer, delay: "0s" })).toEqual([])
    expect(refusalsOf(CreateTimer, { ...timer, delay: "3653d1ms" })).toHaveLength(1)
    expect(
      refusalsOf(makeCreateTimer({ ...defaultLimits, aheadMs: 1_000 }), { ...timer, delay: "1001ms" }),
    ).toEqual(["/delay must be a duration from 0s to 1s (the service's setting TIMER_LIMIT_AHEAD)"])
  })

  test("takes any JSON as payload, and null differs from absence", () => {
    for (const payload of [null, false, 0, "", [], {}, { __proto__: null }]) {
      expect(decoded(CreateTimer, { ...body, payload }).payload).toBe(payload)
    }
    expect("payload" in decoded(CreateTimer, body)).toBe(false)
  })

  test("does not read the payload, however deep it is", () => {
    const look = () => {
      throw new Error("the payload was read")
    }
    const closed = new Proxy({}, { get: look, has: look, ownKeys: look, getPrototypeOf: look })
    let deep: unknown = []
    for (let depth = 0; depth < 200_000; depth++) deep = [deep]
    for (const schema of [CreateTimer, Schema.toCodecJson(CreateTimer)]) {
      for (const payload of [closed, deep]) expect(refusalsOf(schema, { ...body, payload })).toEqual([])
    }
  })

  test("refuses unknown fields by name", () => {
    const refusals = refusalsOf(CreateTimer, { ...body, executeat: "x", "a/b~c": 1 })
    expect(refusals.map((text) => text.slice(0, text.indexOf(":")))).toEqual([
      "/executeat is an unknown field",
      "/a~1b~0c is an unknown field",
    ])
    expect(
      refusalsOf(
        CreateTimer,
        JSON.parse('{"namespace":"a","delay":"1s","callbackUrl":"http://a/","__proto__":{}}'),
      ),
    ).toHaveLength(1)
  })

  test("names every wrong field, not only the first", () => {
    const wrong = {
      namespace: "_a",
      timerId: "",
      executeAt: "tomorrow",
      callbackUrl: "ftp://a",
      expireAfter: "0s",
      correlationId: 5,
      onExisting: "merge",
    }
    expect(refusalsOf(CreateTimer, wrong).map((text) => text.split(" ")[0])).toEqual([
      "/namespace",
      "/timerId",
      "/executeAt",
      "/callbackUrl",
      "/expireAfter",
      "/correlationId",
      "/onExisting",
    ])
  })

  test("must be an object", () => {
    for (const wrong of [null, [], "a", 5, true])
      expect(refusalsOf(CreateTimer, wrong)).toEqual([" must be a JSON object"])
  })

  test("encodes back to the wire form", () => {
    expect(Schema.encodeSync(CreateTimer)(decoded(CreateTimer, body))).toEqual({
      ...body,
      executeAt: "2030-01-01T09:00:00.000Z",
    })
  })

  test("is one schema for one set of limits", () => {
    expect(makeCreateTimer(defaultLimits)).toBe(CreateTimer)
    expect(makeCreateTimer({ ...defaultLimits })).not.toBe(CreateTimer)
  })
})
