import { describe, expect, test } from "bun:test"
import { secretBytes } from "@punctual/api/WebhookSecret"
import fc from "fast-check"
import { Webhook } from "standardwebhooks"
import { webhookRequest } from "../../../src/deliverers/webhook/WebhookRequest.ts"
import type { WebhookTarget } from "../../../src/domain/Timer.ts"
import type { Fire } from "../../../src/ports/Deliverer.ts"

const nowMs = Date.parse("2030-01-01T00:00:05.900Z")

const requestOf = (
  target: Partial<WebhookTarget> = {},
  fire: Partial<Fire> = {},
  secrets: ReadonlyArray<Uint8Array> = [],
  atMs = nowMs,
) => {
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
      maxAttempts: 10,
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
    atMs,
    secrets,
  )
  return { headers, body, text: body === undefined ? undefined : new TextDecoder().decode(body) }
}

const bytes = (text: string) => new TextEncoder().encode(text)

describe("the envelope", () => {
  test("has the timer's tags, and a header also has them, percent-encoded", () => {
    const { text, headers } = requestOf({}, { tags: ["trial", "a,b é"] })
    expect(JSON.parse(text ?? "")).toMatchObject({ tags: ["trial", "a,b é"] })
    expect(headers["punctual-tags"]).toBe("trial,a%2Cb%20%C3%A9")
    const { text: plain, headers: without } = requestOf()
    expect(JSON.parse(plain ?? "")).not.toHaveProperty("tags")
    expect(without).not.toHaveProperty("punctual-tags")
  })

  test("of a dead timer has its words, and says how it ended; the headers are those of the call", () => {
    const death = {
      timerId: "invoice-1",
      fireId: "0194fdc2-0000-7fb1-8a3c-1b2c3d4e5f60",
      revision: 9,
      executeAt: Date.parse("2029-01-01T00:00:00Z"),
      reason: "refused",
      attempts: 2,
      lastAttempt: {
        at: Date.parse("2029-01-01T00:00:01Z"),
        durationMs: 5,
        status: 410,
        error: "answered 410",
      },
    }
    const { text, headers } = requestOf({}, { timerId: "_dead.x", payload: bytes('{"n": 1.0}'), death })
    expect(text).toEndWith(',"payload":{"n": 1.0}}')
    expect(JSON.parse(text ?? "")).toMatchObject({
      ...death,
      type: "timer.dead",
      namespace: "billing",
      attempt: 3,
      epoch: 7,
      firedAt: "2030-01-01T00:00:00.004Z",
      executeAt: "2029-01-01T00:00:00.000Z",
      correlationId: "order\\1",
      lastAttempt: { ...death.lastAttempt, at: "2029-01-01T00:00:01.000Z" },
    })
    expect(headers["webhook-id"]).toBe("0194fdc2-fa2f-7fb1-8a3c-1b2c3d4e5f60")
    const { lastAttempt: _, ...expired } = death
    expect(JSON.parse(requestOf({}, { death: expired }).text ?? "")).not.toHaveProperty("lastAttempt")
  })

  test("names the timer and the attempt", () => {
    expect(JSON.parse(requestOf().text ?? "")).toEqual({
      type: "timer.fired",
      namespace: "billing",
      timerId: 'invoice "4711" é',
      fireId: "0194fdc2-fa2f-7fb1-8a3c-1b2c3d4e5f60",
      attempt: 3,
      maxAttempts: 10,
      epoch: 7,
      revision: 42,
      executeAt: "2030-01-01T00:00:00.000Z",
      firedAt: "2030-01-01T00:00:00.004Z",
      correlationId: "order\\1",
    })
  })

  test("contains the bytes of the payload unchanged", () => {
    const raw = '{ "a": 1.0,\n "a": 12345678901234567890, "b":"\\u00e9é" }'
    expect(requestOf({}, { payload: bytes(raw) }).text).toEndWith(`,"payload":${raw}}`)
  })

  test("is JSON with the payload as a member, for any payload and ids", () => {
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
  test("is only the payload if the target says so", () => {
    expect(requestOf({ body: "payload" }, { payload: bytes('"é"') }).text).toBe('"é"')
  })

  test("is empty and has no type if the target wants only the payload and there is none", () => {
    const { body, headers } = requestOf({ body: "payload" })
    expect(body).toBeUndefined()
    expect(headers).not.toHaveProperty("content-type")
  })

  test("is omitted on GET and kept on the other methods", () => {
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

  test("name the timer for every kind of body", () => {
    for (const body of ["envelope", "payload"] as const) {
      const { headers } = requestOf({ body }, { tags: ["a b"] })
      expect(headers).toMatchObject({
        "punctual-namespace": "billing",
        "punctual-timer-id": "invoice%20%224711%22%20%C3%A9",
        "punctual-execute-at": "2030-01-01T00:00:00.000Z",
        "punctual-tags": "a%20b",
      })
      expect(decodeURIComponent(headers["punctual-timer-id"] ?? "")).toBe('invoice "4711" é')
    }
  })

  test("put the attempts of an arming into one trace, each as its own span", () => {
    const [first, second] = [requestOf().headers["traceparent"], requestOf().headers["traceparent"]]
    expect(first).toMatch(/^00-0194fdc2fa2f7fb18a3c1b2c3d4e5f60-[0-9a-f]{16}-01$/)
    expect(second).not.toBe(first as string)
  })

  test("include the target's own headers, which may set another type", () => {
    const { headers } = requestOf({
      headers: { Authorization: "Bearer x", "Content-Type": "application/vnd.example+json" },
    })
    expect(headers).toMatchObject({
      authorization: "Bearer x",
      "content-type": "application/vnd.example+json",
    })
  })

  test("cannot be overridden by the target, in any spelling", () => {
    const honest = requestOf().headers
    const forged = [
      "Webhook-Id",
      "WEBHOOK-SIGNATURE",
      "Punctual-Attempt",
      "Punctual-Timer-Id",
      "traceparent",
      "Host",
    ]
    const hopByHop = ["Content-Length", "Connection", "Transfer-Encoding", "TE", "Upgrade", "Keep-Alive"]
    const own = Object.fromEntries([...forged, ...hopByHop].map((name) => [name, "forged"]))
    const { headers } = requestOf({ headers: own })
    expect(Object.keys(headers).sort()).toEqual(Object.keys(honest).sort())
    expect(Object.values(headers)).not.toContain("forged")
  })
})

describe("the signature", () => {
  const secretOf = (byte: number) => `whsec_${Buffer.alloc(32, byte).toString("base64")}`
  const keyOf = (secret: string) => secretBytes(secret) ?? new Uint8Array()
  const [first, second, other] = [secretOf(1), secretOf(2), secretOf(3)]

  /** The timestamp must be near the present, because receivers refuse old ones. */
  const signed = (
    secrets: ReadonlyArray<string>,
    target: Partial<WebhookTarget> = {},
    fire: Partial<Fire> = {},
  ) => requestOf(target, fire, secrets.map(keyOf), Date.now())

  const verify = (secret: string, { headers, text }: ReturnType<typeof requestOf>) =>
    new Webhook(secret).verify(text ?? "", headers)

  test("is absent without a secret", () => {
    expect(requestOf().headers).not.toHaveProperty("webhook-signature")
  })

  test("is valid for a Standard Webhooks receiver, over the exact bytes that are sent", () => {
    for (const raw of ['{ "a": 1.0,\n "b":"\\u00e9é" }', "null", '"x"']) {
      for (const body of ["envelope", "payload"] as const) {
        const request = signed([first], { body }, { payload: bytes(raw) })
        expect(verify(first, request)).toEqual(JSON.parse(request.text ?? ""))
      }
    }
    expect(signed([first]).headers["webhook-signature"]).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/)
  })

  test("covers an empty body if there is none", () => {
    const { headers, body } = signed([first], { method: "GET" })
    expect(body).toBeUndefined()
    const timestamp = new Date(Number(headers["webhook-timestamp"]) * 1_000)
    expect(headers["webhook-signature"]).toBe(
      new Webhook(first).sign(headers["webhook-id"] ?? "", timestamp, ""),
    )
  })

  test("is wrong for another secret, a changed body, another id or another time", () => {
    const request = signed([first], {}, { payload: bytes('{"amount":10}') })
    expect(() => verify(other, request)).toThrow()
    expect(() => verify(first, { ...request, text: request.text?.replace("10", "11") })).toThrow()
    for (const name of ["webhook-id", "webhook-timestamp"]) {
      const value = request.headers[name] ?? ""
      const touched = `${value.slice(0, -1)}${value.endsWith("1") ? "2" : "1"}`
      expect(() => verify(first, { ...request, headers: { ...request.headers, [name]: touched } })).toThrow()
    }
  })

  test("has one value for each of two secrets, so that either works during a rotation", () => {
    const request = signed([second, first], {}, { payload: bytes("1") })
    expect(request.headers["webhook-signature"]?.split(" ")).toHaveLength(2)
    for (const secret of [first, second]) expect(verify(secret, request)).toMatchObject({ payload: 1 })
    expect(() => verify(other, request)).toThrow()
  })
})

test("the creator's trace goes on: same trace id and flags, a span of its own for each attempt", () => {
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
  const spans = [1, 2, 3].map((attempt) => {
    const [version, trace, span, flags] =
      requestOf({}, { attempt, traceparent }).headers["traceparent"]?.split("-") ?? []
    expect([version, trace, flags]).toEqual(["00", "4bf92f3577b34da6a3ce929d0e0e4736", "00"])
    expect(span).toMatch(/^[0-9a-f]{16}$/)
    return span
  })
  expect(new Set([...spans, "00f067aa0ba902b7"]).size).toBe(4)
})
