import { describe, expect, test } from "bun:test"
import { Schema } from "effect"
import fc from "fast-check"
import {
  DurationMs,
  durationBetween,
  formatDuration,
  maxDurationMs,
  parseDuration,
} from "../src/DurationMs.ts"
import { refusalsOf } from "./refusals.ts"

describe("a duration", () => {
  test("stays the same after a round trip", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: maxDurationMs }), (durationMs) => {
        expect(Schema.decodeSync(DurationMs)(Schema.encodeSync(DurationMs)(durationMs))).toBe(durationMs)
      }),
    )
  })

  test("means the same in the short form and in ISO 8601", () => {
    const parts = fc.tuple(fc.nat(300), fc.nat(99), fc.nat(99), fc.nat(99), fc.nat(999))
    fc.assert(
      fc.property(parts, ([d, h, m, s, ms]) => {
        const durationMs = (((d * 24 + h) * 60 + m) * 60 + s) * 1000 + ms
        expect(parseDuration(`${d}d${h}h${m}m${s}s${ms}ms`)).toBe(durationMs)
        expect(parseDuration(`P${d}DT${h}H${m}M${s}.${String(ms).padStart(3, "0")}S`)).toBe(durationMs)
      }),
    )
  })

  test("can be read from every form that the contract names", () => {
    const forms = {
      "90s": 90_000,
      "1h30m": 5_400_000,
      "250ms": 250,
      "7d": 604_800_000,
      PT90S: 90_000,
      P1DT2H: 93_600_000,
      P1D: 86_400_000,
      PT1M: 60_000,
      "PT0.25S": 250,
      "5m250ms": 300_250,
      "0s": 0,
      "0ms": 0,
    }
    for (const [text, durationMs] of Object.entries(forms))
      expect([text, parseDuration(text)]).toEqual([text, durationMs])
  })

  test("has one canonical form", () => {
    const forms = { "90s": "1m30s", "60m": "1h", PT0S: "0s", "1500ms": "1s500ms", PT36H: "1d12h" }
    for (const [text, canonical] of Object.entries(forms))
      expect(formatDuration(parseDuration(text) ?? -1)).toBe(canonical)
  })

  test("is refused when it is empty, bare, negative, broken, out of order, or needs a calendar", () => {
    const refused = [
      "",
      " ",
      "5",
      "5000",
      "-5s",
      "+5s",
      "1.5s",
      "5 s",
      "5S",
      "s",
      "1m1h",
      "1s1s",
      "1w",
      "1y",
      "1mo",
      "P",
      "PT",
      "P1",
      "P1DT",
      "P1W",
      "P1M",
      "P1Y",
      "P1Y2M",
      "PT1",
      "PT1.5H",
      "PT0.2505S",
      "PT.5S",
      "PT1,5S",
      "pt90s",
      "T90S",
      "-PT90S",
      "90s ",
      "٣s",
      "1e3s",
      "Infinity",
      "9999999999999999s",
    ]
    for (const text of refused) expect([text, parseDuration(text)]).toEqual([text, undefined])
  })

  test("reaches ten years and not a millisecond further", () => {
    expect(parseDuration("3653d")).toBe(maxDurationMs)
    expect(parseDuration("3653d1ms")).toBeUndefined()
    expect(parseDuration("999999999999999d")).toBeUndefined()
  })

  test("takes both ends of its bounds and refuses a value past either, with the bounds in the text", () => {
    const schema = durationBetween(1_000, 300_000)
    for (const text of ["1s", "1000ms", "5m", "PT300S"]) expect(refusalsOf(schema, text)).toEqual([])
    for (const text of ["999ms", "300001ms"])
      expect(refusalsOf(schema, text)).toEqual([" must be a duration from 1s to 5m"])
    for (const body of ["later", 5, null]) {
      expect(refusalsOf(schema, body)).toEqual([
        " must be a duration from 1s to 5m, such as 90s, 1h30m, 250ms, 7d or PT90S",
      ])
    }
  })
})
