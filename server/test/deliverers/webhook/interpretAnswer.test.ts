import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { interpretAnswer } from "../../../src/deliverers/webhook/interpretAnswer.ts"
import type { Delivery } from "../../../src/ports/Deliverer.ts"

const nowMs = Date.parse("2030-01-01T00:00:00Z")
const payloadBytes = 64 * 1024

const interpret = (
  status: number,
  text?: string,
  headers: Record<string, string> = {},
  isCut = false,
): Delivery =>
  interpretAnswer(
    { status, headers: new Headers(headers), body: text === undefined ? undefined : { text, isCut } },
    nowMs,
    payloadBytes,
  )

/** The delivery without the kept part of the body, which another test checks. */
const meaningOf = (delivery: Delivery): Delivery => {
  if (!("answer" in delivery)) return delivery
  const { answer: _, ...meaning } = delivery
  return meaning
}

const anyJson = fc.json()
const successes = fc.integer({ min: 200, max: 299 })

describe("a 2xx answer", () => {
  test("delivers when there is no JSON, or JSON that is not an object with ok", () => {
    expect(interpret(204)).toEqual({ kind: "delivered", status: 204 })
    for (const text of ["", "ok", "{", "null", "true", "[]", '["ok"]', '"ok"', "{}", '{"OK":false}']) {
      expect(interpret(200, text)).toEqual({ kind: "delivered", status: 200 })
    }
  })

  test("delivers with any JSON that has no ok of its own", () => {
    fc.assert(
      fc.property(successes, anyJson, (status, text) => {
        const value = JSON.parse(text)
        fc.pre(!(typeof value === "object" && value !== null && Object.hasOwn(value, "ok")))
        expect(interpret(status, text)).toEqual({ kind: "delivered", status })
      }),
    )
  })

  test("delivers with ok: true and no time, whatever else it contains", () => {
    for (const rest of ["", ',"payload":1', ',"nextDelay":null', ',"nextExecuteAt":null']) {
      expect(interpret(200, `{"ok":true${rest}}`)).toEqual({ kind: "delivered", status: 200 })
    }
  })

  test("arms again at nextExecuteAt or after nextDelay", () => {
    expect(interpret(200, '{"ok":true,"nextExecuteAt":"2030-01-02T01:00:00+01:00"}')).toEqual({
      kind: "rearm",
      status: 200,
      next: { atMs: nowMs + 86_400_000 },
    })
    expect(interpret(202, '{"ok":true,"nextDelay":"1h30m"}')).toEqual({
      kind: "rearm",
      status: 202,
      next: { inMs: 5_400_000 },
    })
  })

  test("arms again with the new payload, byte for byte", () => {
    const raw = '{ "n" : 1.50, "big":12345678901234567890, "u":"\\u00e9é" }'
    const delivery = interpret(200, `{"payload":0,"ok":true,"nextDelay":"5s","payload": ${raw} }`)
    expect(delivery).toEqual({
      kind: "rearm",
      status: 200,
      next: { inMs: 5_000 },
      payload: new TextEncoder().encode(raw),
    })
  })

  test("is retried when its new payload is too large, counted in bytes", () => {
    const fits = `"${"é".repeat((payloadBytes - 2) / 2)}"`
    expect(interpret(200, `{"ok":true,"nextDelay":"5s","payload":${fits}}`).kind).toBe("rearm")
    const delivery = interpret(200, `{"ok":true,"nextDelay":"5s","payload":${fits.replace("é", "éx")}}`)
    expect(delivery).toMatchObject({ kind: "retry", isHostFailure: false })
    expect(delivery).toMatchObject({ error: expect.stringContaining("payload of 65537 bytes") })
  })

  test("is retried when its new payload is nested too deep", () => {
    const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`
    expect(interpret(200, `{"ok":true,"nextDelay":"5s","payload":${nested(63)}}`).kind).toBe("rearm")
    expect(interpret(200, `{"ok":true,"nextDelay":"5s","payload":${nested(64)}}`)).toMatchObject({
      kind: "retry",
      error: "answered with a payload that is nested deeper than 64 levels",
      isHostFailure: false,
    })
  })

  test("is retried with ok: false, at the named time if there is one", () => {
    const error = "answered ok: false"
    const retry = { kind: "retry", status: 200, error, isHostFailure: false } as const
    expect(meaningOf(interpret(200, '{"ok":false}'))).toEqual(retry)
    expect(meaningOf(interpret(200, '{"ok":false,"nextDelay":"2m"}'))).toEqual({
      ...retry,
      next: { inMs: 120_000 },
    })
    expect(meaningOf(interpret(200, '{"ok":false,"nextExecuteAt":"2030-01-01T00:00:07Z"}'))).toEqual({
      ...retry,
      next: { atMs: nowMs + 7_000 },
    })
  })

  test("is retried when ok is neither true nor false", () => {
    for (const ok of ['"true"', "1", "null", "[]", "{}"]) {
      expect(interpret(200, `{"ok":${ok}}`)).toMatchObject({ kind: "retry", isHostFailure: false })
    }
  })

  test("is retried by the policy when its time cannot be read, for any ok", () => {
    const times = [
      '"nextExecuteAt":"tomorrow"',
      '"nextExecuteAt":"2030-01-01T00:00:00"',
      '"nextExecuteAt":1893456000000',
      '"nextDelay":"1 month"',
      '"nextDelay":60',
      '"nextDelay":"-5s"',
      '"nextDelay":"5s","nextExecuteAt":"2030-01-01T00:00:00Z"',
    ]
    for (const time of times) {
      for (const ok of [true, false]) {
        const delivery = interpret(200, `{"ok":${ok},${time}}`)
        expect(delivery).toMatchObject({ kind: "retry", error: expect.stringContaining("nextDelay") })
        expect(delivery).not.toHaveProperty("next")
      }
    }
  })

  test("that is too long to read is retried if it contains ok, and otherwise delivers", () => {
    expect(interpret(200, '{"ok":true,"payload":"xxx', {}, true)).toMatchObject({
      kind: "retry",
      error: expect.stringContaining("more JSON than is read"),
    })
    expect(interpret(200, '{"items":[{"ok":true},', {}, true)).toEqual({ kind: "delivered", status: 200 })
  })
})

describe("an answer that is not a success", () => {
  test("is dead with 400, 410 and 422", () => {
    for (const status of [400, 410, 422]) {
      expect(interpret(status)).toMatchObject({ kind: "dead", reason: "refused", status })
    }
  })

  test("is retried with any other status, and only a 5xx counts as a failure of the host", () => {
    const others = fc.integer({ min: 300, max: 599 }).filter((status) => ![400, 410, 422].includes(status))
    fc.assert(
      fc.property(others, (status) => {
        expect(interpret(status)).toEqual({
          kind: "retry",
          status,
          error: `answered ${status}`,
          isHostFailure: status >= 500,
        })
      }),
    )
  })

  test("ignores the body", () => {
    expect(interpret(500, '{"ok":true}').kind).toBe("retry")
    expect(interpret(410, '{"ok":false}').kind).toBe("dead")
  })
})

describe("the kept part of an answer", () => {
  const keptOf = (delivery: Delivery) => ("answer" in delivery ? delivery.answer : undefined)

  test("is its beginning if the attempt failed, and nothing if it delivered", () => {
    expect(keptOf(interpret(500, "no room\n\u001b[31m\0"))).toBe("no room\n\u001b[31m\0")
    expect(keptOf(interpret(410, "gone"))).toBe("gone")
    expect(keptOf(interpret(503, "later", { "punctual-retry": "never" }))).toBe("later")
    expect(keptOf(interpret(200, '{"ok":false,"why":"stock"}'))).toBe('{"ok":false,"why":"stock"}')
    for (const text of [undefined, ""]) expect(interpret(500, text)).not.toHaveProperty("answer")
    for (const text of ['{"ok":true}', "{}", '{"ok":true,"nextDelay":"5s"}']) {
      expect(interpret(200, text)).not.toHaveProperty("answer")
    }
  })

  test("has at most 512 bytes of UTF-8, and ends between two characters", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 900 }), (text) => {
        const kept = keptOf(interpret(500, text)) ?? ""
        expect(text.startsWith(kept)).toBe(true)
        expect(kept.isWellFormed()).toBe(true)
        const bytes = Buffer.byteLength(kept)
        expect(bytes).toBeLessThanOrEqual(512)
        // One more character would not have fitted.
        if (kept !== text) expect(bytes).toBeGreaterThan(512 - 4)
      }),
    )
  })
})

describe("punctual-retry: never", () => {
  const never = { "Punctual-Retry": " Never" }

  test("makes a timer dead that would otherwise be retried", () => {
    for (const status of [302, 404, 429, 500, 503]) {
      expect(interpret(status, undefined, never)).toMatchObject({ kind: "dead", reason: "refused", status })
    }
    expect(interpret(200, '{"ok":false,"nextDelay":"5s"}', never).kind).toBe("dead")
    expect(interpret(200, '{"ok":"?"}', never).kind).toBe("dead")
  })

  test("has no effect on an answer that delivers", () => {
    expect(interpret(200, undefined, never).kind).toBe("delivered")
    expect(interpret(200, '{"ok":true,"nextDelay":"5s"}', never).kind).toBe("rearm")
  })

  test("has only one valid value", () => {
    expect(interpret(500, undefined, { "punctual-retry": "later" }).kind).toBe("retry")
  })
})

describe("Retry-After", () => {
  const retryAfterMs = (value: string): number | undefined => {
    const delivery = interpret(429, undefined, { "retry-after": value })
    return delivery.kind === "retry" ? delivery.retryAfterMs : -1
  }

  test("counts seconds", () => {
    expect(retryAfterMs("0")).toBe(0)
    expect(retryAfterMs("120")).toBe(120_000)
  })

  test("counts from now to an HTTP date, and not backwards", () => {
    expect(retryAfterMs("Tue, 01 Jan 2030 00:01:30 GMT")).toBe(90_000)
    expect(retryAfterMs("Mon, 31 Dec 2029 23:00:00 GMT")).toBe(0)
  })

  test("is ignored in any other form", () => {
    for (const value of ["", "soon", "-5", "1.5", "2030-01-01", "9".repeat(30), "Never"]) {
      expect(retryAfterMs(value)).toBeUndefined()
    }
  })
})
