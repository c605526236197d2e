import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import fc from "fast-check"
import { decodeEnvelope, type Envelope, encodeEnvelope, outgoingEnvelope } from "../src/Envelope.ts"

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const bytes = (content: string): Uint8Array => new TextEncoder().encode(content)

const sample = {
  id: "01890a5d-ac96-774b-bcce-b302099a8057",
  type: "ScheduleTimer",
  tenantId: "billing",
  aggregateId: "invoice 4711",
  timestampMs: 1_800_000_000_000,
  correlationId: "order-4711",
  payload: { dueAt: "2030-01-01T09:00:00.000Z" },
}

const decoded = (content: unknown): Result.Result<Envelope, string> =>
  decodeEnvelope(bytes(JSON.stringify(content)))

const refusalOf = (content: unknown): string => {
  const result = decoded(content)
  return Result.isFailure(result) ? result.failure : "accepted"
}

describe("an envelope", () => {
  test("comes back from its bytes as it was", () => {
    fc.assert(
      fc.property(
        fc.record({
          id: fc.uuid(),
          type: fc.constantFrom("ScheduleTimer", "DueTimeReached", "Other.Thing"),
          tenantId: fc.stringMatching(/^[A-Za-z0-9-][A-Za-z0-9_-]{0,99}$/),
          aggregateId: fc.string({ minLength: 1, maxLength: 40, unit: fc.constantFrom(...'aZ09 .*>é名"\\') }),
          timestampMs: fc.integer({ min: 0, max: 253_402_300_799_999 }),
          payload: fc.jsonValue({ noUnicodeString: false }),
        }),
        (content) => {
          const envelope = Result.getOrThrow(decoded(content))
          expect(Result.getOrThrow(decodeEnvelope(encodeEnvelope(outgoingEnvelope(envelope))))).toEqual(
            envelope,
          )
        },
      ),
    )
  })

  test("keeps the text of its payload: numbers keep their digits", () => {
    const { payload: _, ...head } = Result.getOrThrow(decoded(sample))
    const payloadJson = '{ "amount": 12345678901234567890.10 , "a":1,"a":2}'
    expect(text(encodeEnvelope({ ...head, payloadJson }))).toEndWith(`"payload":${payloadJson}}`)
  })

  test("may lack correlation and causation, and may gain fields", () => {
    const { correlationId: _, ...uncorrelated } = sample
    expect(refusalOf({ ...uncorrelated, traceId: "x" })).toBe("accepted")
    expect(text(encodeEnvelope(outgoingEnvelope(Result.getOrThrow(decoded(uncorrelated)))))).not.toContain(
      "undefined",
    )
  })

  test("is refused for each field that is missing or wrong, by its name", () => {
    for (const field of ["id", "type", "tenantId", "aggregateId", "timestampMs", "payload"] as const) {
      const { [field]: _, ...rest } = sample
      expect(refusalOf(rest)).toBe(`/${field} is required`)
    }
    expect(refusalOf({ ...sample, id: "4711" })).toStartWith("/id must be a UUID")
    expect(refusalOf({ ...sample, type: "" })).toStartWith("/type must be text")
    expect(refusalOf({ ...sample, timestampMs: 1.5 })).toStartWith("/timestampMs must be whole milliseconds")
    expect(refusalOf({ ...sample, timestampMs: -1 })).toStartWith("/timestampMs must be whole milliseconds")
    expect(refusalOf({ ...sample, correlationId: "a\nb" })).toContain(
      "/correlationId must not contain control",
    )
    expect(refusalOf([])).not.toBe("accepted")
    expect(refusalOf(null)).not.toBe("accepted")
  })

  test("belongs to a sound tenant: no wildcard, no dot, nothing reserved", () => {
    for (const tenantId of ["*", ">", "a.b", "a b", "", "_unknown", "a*", "ä", "a".repeat(101), 7]) {
      expect(refusalOf({ ...sample, tenantId })).toStartWith("/tenantId must")
    }
  })

  test("is refused when it is no JSON, or no UTF-8", () => {
    const refusal = Result.fail("the message must be JSON in UTF-8")
    expect(decodeEnvelope(bytes("{"))).toEqual(refusal)
    expect(decodeEnvelope(new Uint8Array())).toEqual(refusal)
    expect(decodeEnvelope(new Uint8Array([0x22, 0xff, 0x22]))).toEqual(refusal)
  })
})

describe("a large message", () => {
  const large = (payload: string) =>
    bytes(`${JSON.stringify({ ...sample, payload: undefined }).slice(0, -1)},"payload":${payload}}`)
  const refusal = (payload: string) => {
    const result = decodeEnvelope(large(payload))
    return Result.isFailure(result) ? result.failure : "accepted"
  }

  test("is read if it has few values", () => {
    expect(refusal(JSON.stringify("x".repeat(500_000)))).toBe("accepted")
    expect(refusal(`[${new Array(49_000).fill("{}").join(",")}]`)).toBe("accepted")
  })

  test("is refused before it is parsed if it has many values or is nested deeply", () => {
    expect(refusal(`[${new Array(51_000).fill("{}").join(",")}]`)).toBe(
      "the message must have at most 50000 fields and elements in total (this limit is fixed)",
    )
    expect(refusal("[".repeat(40_000) + "]".repeat(40_000))).toBe(
      "the message must not be nested deeper than 64 levels (this limit is fixed)",
    )
  })
})
