import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import fc from "fast-check"
import { decodeUndeliverable, encodeUndeliverable, type UndeliverableFacts } from "../src/Undeliverable.ts"

const facts: UndeliverableFacts = {
  reason: "deliveriesExhausted",
  deliveries: 5,
  firstFailure: { at: Date.UTC(2030, 0, 1), error: "no room" },
  lastFailure: { at: Date.UTC(2030, 0, 2), error: "still no room" },
}

const envelope =
  '{"id":"01890a5d-ac96-774b-bcce-b302099a8057","type":"ScheduleTimer","tenantId":"a","aggregateId":"b",' +
  '"timestampMs":1,"payload":{ "n": 12345678901234567890.10, "s":"\\u00e9é" }}'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

describe("an undeliverable message", () => {
  test("holds a sound envelope as it is, so that people can read it, and gives it back", () => {
    const encoded = encodeUndeliverable(facts, bytes(envelope))
    expect(JSON.parse(new TextDecoder().decode(encoded)).envelope.aggregateId).toBe("b")
    const opened = Result.getOrThrow(decodeUndeliverable(encoded))
    expect(new TextDecoder().decode(opened.original)).toBe(envelope)
    expect(opened.record).toMatchObject({ ...facts, envelope: { type: "ScheduleTimer" } })
  })

  test("gives any other bytes back as they were", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (original) => {
        const opened = Result.getOrThrow(
          decodeUndeliverable(encodeUndeliverable({ ...facts, reason: "malformed" }, original)),
        )
        expect(opened.original).toEqual(original)
      }),
    )
  })

  test("keeps the white space around an envelope, at the cost of being readable", () => {
    const original = bytes(` ${envelope}\n`)
    const opened = Result.getOrThrow(decodeUndeliverable(encodeUndeliverable(facts, original)))
    expect(opened.original).toEqual(original)
  })

  test("that was cut holds raw bytes, of any kind", () => {
    const opened = Result.getOrThrow(
      decodeUndeliverable(encodeUndeliverable({ ...facts, isCut: true }, bytes(envelope))),
    )
    expect(opened.record.isCut).toBe(true)
    expect(opened.record.envelope).toBeUndefined()
    expect(opened.original).toEqual(bytes(envelope))
  })

  test("bounds what an error may say", () => {
    const long = { at: 0, error: "x".repeat(10_000) }
    const encoded = encodeUndeliverable({ ...facts, firstFailure: long, lastFailure: long }, bytes(envelope))
    expect(encoded.byteLength).toBeLessThan(3_000)
  })

  test("is refused when it contains no message, or is not a record", () => {
    const bare = JSON.parse(new TextDecoder().decode(encodeUndeliverable(facts, bytes("x"))))
    delete bare.raw
    expect(decodeUndeliverable(bytes(JSON.stringify(bare)))).toEqual(
      Result.fail("the record must hold the message, as envelope or as raw base64"),
    )
    expect(Result.isFailure(decodeUndeliverable(bytes("{}")))).toBe(true)
    expect(Result.isFailure(decodeUndeliverable(bytes("no")))).toBe(true)
    expect(Result.isFailure(decodeUndeliverable(bytes(JSON.stringify({ ...bare, raw: "%%" }))))).toBe(true)
  })
})
