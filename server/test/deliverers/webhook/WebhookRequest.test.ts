import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { webhookRequest } from "../../../src/deliverers/webhook/WebhookRequest.ts"
import type { WebhookTarget } from "../../../src/domain/Timer.ts"
import type { Fire } from "../../../src/ports/Deliverer.ts"

const nowMs = Date.parse("2030-01-01T00:00:05.900Z")

const requestOf = (target: Partial<WebhookTarget> = {}, fire: Partial<Fire> = {}) => {
  const whole: WebhookTarget = {
    type: "webhook",
    url: "http://127.0.0.1/hook",
    method: "POST",
    timeoutMs: 1_000,
    body: "envelope",
    ...target,
  }
  const { headers, body } = webhookRequest(
    {
      namespace: "billing",
      timerId: 'invoice "4711" é',
      fireId: "0194fdc2-fa2f-7fb1-8a3c-1b2c3d4e5f60",
      attempt: 3,
      epoch: 7,
      revision: 42,
      executeAt: Date.parse("2030-01-01T00:00:00Z"),
      firedAt: Date.parse("2030-01-01T00:00:00.004Z"),
      correlationId: "order\\1",
      payload: undefined,
      ...fire,
      target: whole,
    },
    whole,
    nowMs,
  )
  return { headers, body, text: body === undefined ? undefined : new TextDecoder().decode(body) }
}

const bytes = (text: string) => new TextEncoder().encode(text)

describe("the envelope", () => {
  test("names the timer and the attempt", () => {
    expect(JSON.parse(requestOf().text ?? "")).toEqual({
      type: "timer.fired",
      namespace: "billing",
      timerId: 'invoice "4711" é',
      fireId: "0194fdc2-fa2f-7fb1-8a3c-1b2c3d4e5f60",
      attempt: 3,
      epoch: 7,
      revision: 42,
      executeAt: "2030-01-01T00:00:00.000Z",
      firedAt: "2030-01-01T00:00:00.004Z",
      correlationId: "order\\1",
    })
  })

  test("carries the bytes of the payload as they are", () => {
    const raw = '{ "a": 1.0,\n "a": 12345678901234567890, "b":"\\u00e9é" }'
    expect(requestOf({}, { payload: bytes(raw) }).text).toEndWith(`,"payload":${raw}}`)
  })

  test("is JSON with the payload as a member, whatever the payload and the ids", () => {
    fc.assert(
      fc.property(fc.json(), fc.string(), fc.string(), (payload, timerId, correlationId) => {
        const { text } = requestOf({}, { payload: bytes(payload), timerId, correlationId })
        expect(JSON.parse(text ?? "")).toMatchObject({ timerId, correlationId })
        expect(JSON.parse(text ?? "").payload).toEqual(JSON.parse(payload))
      }),
    )
  })
})

describe("the body", () => {
  test("is the payload alone if the target says so", () => {
    expect(requestOf({ body: "payload" }, { payload: bytes('"é"') }).text).toBe('"é"')
  })

  test("is empty, and of no type, if there is no payload to send alone", () => {
    const { body, headers } = requestOf({ body: "payload" })
    expect(body).toBeUndefined()
    expect(headers).not.toHaveProperty("content-type")
  })

  test("is left out on GET and kept on the other methods", () => {
    expect(requestOf({ method: "GET" }, { payload: bytes("1") }).body).toBeUndefined()
    for (const method of ["POST", "PUT", "PATCH", "DELETE"] as const) {
      expect(requestOf({ method }).text).toStartWith('{"type":"timer.fired"')
    }
  })
})

describe("the headers", () => {
  test("identify the arming, the attempt and the moment", () => {
    expect(requestOf().headers).toMatchObject({
      "content-type": "application/json",
      "user-agent": "punctual",
      "webhook-id": "0194fdc2-fa2f-7fb1-8a3c-1b2c3d4e5f60",
      "webhook-timestamp": String(Date.parse("2030-01-01T00:00:05Z") / 1000),
      "punctual-attempt": "3",
      "punctual-epoch": "7",
    })
  })

  test("make the attempts of an arming one trace, each a span of its own", () => {
    const [first, second] = [requestOf().headers["traceparent"], requestOf().headers["traceparent"]]
    expect(first).toMatch(/^00-0194fdc2fa2f7fb18a3c1b2c3d4e5f60-[0-9a-f]{16}-01$/)
    expect(second).not.toBe(first as string)
  })

  test("include the target's own, which may name another type", () => {
    const { headers } = requestOf({
      headers: { Authorization: "Bearer x", "Content-Type": "application/vnd.example+json" },
    })
    expect(headers).toMatchObject({
      authorization: "Bearer x",
      "content-type": "application/vnd.example+json",
    })
  })

  test("cannot be forged by the target, in any spelling", () => {
    const honest = requestOf().headers
    const forged = ["Webhook-Id", "WEBHOOK-SIGNATURE", "Punctual-Attempt", "traceparent", "Host"]
    const hopByHop = ["Content-Length", "Connection", "Transfer-Encoding", "TE", "Upgrade", "Keep-Alive"]
    const own = Object.fromEntries([...forged, ...hopByHop].map((name) => [name, "forged"]))
    const { headers } = requestOf({ headers: own })
    expect(Object.keys(headers).sort()).toEqual(Object.keys(honest).sort())
    expect(Object.values(headers)).not.toContain("forged")
  })
})
