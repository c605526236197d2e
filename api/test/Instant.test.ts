import { describe, expect, test } from "bun:test"
import { Schema } from "effect"
import fc from "fast-check"
import { formatInstant, Instant, parseInstant, whyNoInstant } from "../src/Instant.ts"
import { refusalsOf } from "./refusals.ts"

const firstMs = Date.parse("0000-01-01T00:00:00.000Z")
const lastMs = Date.parse("9999-12-31T23:59:59.999Z")
const anyInstant = fc.integer({ min: firstMs, max: lastMs })

describe("an instant", () => {
  test("stays the same after a round trip, from year 0 to year 9999", () => {
    fc.assert(
      fc.property(anyInstant, (instantMs) => {
        const text = Schema.encodeSync(Instant)(instantMs)
        expect(text).toBe(new Date(instantMs).toISOString())
        expect(Schema.decodeSync(Instant)(text)).toBe(instantMs)
      }),
    )
  })

  test("is the same moment under every offset", () => {
    const anyOffsetMinutes = fc.integer({ min: -1439, max: 1439 })
    fc.assert(
      fc.property(fc.integer({ min: 0, max: lastMs - 86_400_000 }), anyOffsetMinutes, (instantMs, offset) => {
        const local = new Date(instantMs + offset * 60_000).toISOString().slice(0, -1)
        const minutes = Math.abs(offset)
        const pad = (value: number) => String(value).padStart(2, "0")
        const suffix = `${offset < 0 ? "-" : "+"}${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`
        expect(parseInstant(local + suffix)).toBe(instantMs)
      }),
    )
  })

  test("that is finer than a millisecond rounds up, never down", () => {
    const second = Date.parse("2030-01-01T09:00:00Z")
    for (const [fraction, ms] of [
      ["0", 0],
      ["5", 500],
      ["001", 1],
      ["0001", 1],
      ["000000001", 1],
      ["001000", 1],
      ["001000001", 2],
      ["9990", 999],
      ["999000001", 1000],
    ] as const) {
      expect(parseInstant(`2030-01-01T09:00:00.${fraction}Z`)).toBe(second + ms)
    }
  })

  test("may omit its seconds", () => {
    expect(parseInstant("2030-01-01T09:00Z")).toBe(Date.parse("2030-01-01T09:00:00Z"))
    expect(parseInstant("2030-01-01T09:00+02:00")).toBe(Date.parse("2030-01-01T07:00:00Z"))
  })

  test("knows leap years", () => {
    expect(parseInstant("2028-02-29T00:00:00Z")).toBe(Date.UTC(2028, 1, 29))
    expect(parseInstant("2000-02-29T00:00:00Z")).toBe(Date.UTC(2000, 1, 29))
    expect(parseInstant("2100-02-29T00:00:00Z")).toBeUndefined()
    expect(parseInstant("2027-02-29T00:00:00Z")).toBeUndefined()
  })

  const refused = {
    "no offset": ["2030-01-01T09:00:00", "2030-01-01T09:00:00.000", "2030-01-01"],
    "an impossible date": [
      "2030-02-30T00:00:00Z",
      "2030-04-31T00:00:00Z",
      "2030-13-01T00:00:00Z",
      "2030-00-01T00:00:00Z",
      "2030-01-00T00:00:00Z",
    ],
    "an impossible time": ["2030-01-01T24:00:00Z", "2030-01-01T23:60:00Z", "2016-12-31T23:59:60Z"],
    "an impossible offset": [
      "2030-01-01T09:00:00+24:00",
      "2030-01-01T09:00:00+01:60",
      "2030-01-01T09:00:00+0100",
      "2030-01-01T09:00:00+01",
    ],
    "a year that needs more than four digits": [
      "10000-01-01T00:00:00Z",
      "+010000-01-01T00:00:00Z",
      "-000001-01-01T00:00:00Z",
      "+002030-01-01T09:00:00Z",
    ],
    "a moment that leaves year 0 to 9999": [
      "9999-12-31T23:59:59-00:01",
      "0000-01-01T00:00:00+00:01",
      "9999-12-31T23:59:59.9999Z",
    ],
    junk: [
      "",
      "now",
      "1893488400000",
      "2030-01-01 09:00:00Z",
      "2030-01-01t09:00:00z",
      " 2030-01-01T09:00:00Z",
      "2030-01-01T09:00:00Z ",
      "2030-01-01T09:00:00ZZ",
      "2030-01-01T09:00:00,5Z",
      "2030-01-01T09:00:00.Z",
      "2030-01-01T09:00:00.0000000001Z",
      "2030-1-1T9:00:00Z",
      "2030-01-01T09:00:0٠Z",
      "٢٠٣٠-01-01T09:00:00Z",
    ],
  }
  for (const [reason, texts] of Object.entries(refused)) {
    test(`is refused for ${reason}`, () => {
      for (const text of texts) expect([text, parseInstant(text)]).toEqual([text, undefined])
    })
  }

  test("that does not exist is refused with what does not exist about it", () => {
    const why: Record<string, string> = {
      "2030-02-30T00:00:00Z": "an instant that exists: February 2030 has 28 days",
      "2032-02-30": "an instant that exists: February 2032 has 29 days",
      "2030-04-31T09:00+02:00": "an instant that exists: April 2030 has 30 days",
      "2030-04-00T09:00+02:00": "an instant that exists: April 2030 has 30 days",
      "2030-13-01T00:00:00Z": "an instant that exists: months go from 01 to 12",
      "2030-01-01T24:00:00Z": "an instant that exists: hours go from 00 to 23",
      "2030-01-01T09:60:00Z": "an instant that exists: minutes go from 00 to 59",
      "2030-01-01T09:00:60Z": "an instant that exists: seconds go from 00 to 59",
      "2030-01-01T09:00:00": "an instant with an offset, such as 2030-01-01T09:00:00Z: its offset is missing",
      tomorrow: "an instant with an offset, such as 2030-01-01T09:00:00Z",
    }
    for (const [text, expected] of Object.entries(why)) {
      expect([text, parseInstant(text), whyNoInstant(text)]).toEqual([text, undefined, expected])
      expect(() => Schema.decodeSync(Instant)(text)).toThrow(`must be ${expected}`)
    }
  })

  test("is never read from a text that ISO 8601 does not allow", () => {
    const shape = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/
    const nearMiss = fc
      .tuple(anyInstant, fc.nat(30), fc.string({ minLength: 0, maxLength: 3 }))
      .map(([instantMs, at, noise]) => {
        const text = formatInstant(instantMs)
        return text.slice(0, at) + noise + text.slice(at + 1)
      })
    fc.assert(
      fc.property(nearMiss, (text) => {
        if (parseInstant(text) !== undefined) expect(text).toMatch(shape)
      }),
    )
  })

  test("that is refused says what an instant looks like", () => {
    const message = " must be an instant with an offset, such as 2030-01-01T09:00:00Z"
    for (const body of ["soon", 1893488400000, null, {}]) expect(refusalsOf(Instant, body)).toEqual([message])
  })

  test("cannot be encoded from a value that is not an instant", () => {
    for (const value of [Number.NaN, 0.5, lastMs + 1, firstMs - 1, Number.POSITIVE_INFINITY]) {
      expect(() => Schema.encodeSync(Instant)(value)).toThrow()
    }
  })
})
