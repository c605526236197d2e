import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { CorrelationId } from "../src/CorrelationId.ts"
import { TimerId, whyNotId } from "../src/TimerId.ts"
import { refusalsOf } from "./refusals.ts"

const bytesMessage = "must be text of 1 to 255 bytes of UTF-8 without control characters"

describe("an id", () => {
  test("is valid exactly when its UTF-8 has 1 to 255 bytes, decodes to the same text, and has no control character", () => {
    const anyText = fc.string({ unit: "binary", maxLength: 300 })
    const wideText = fc.string({
      unit: fc.constantFrom("a", "é", "€", "😀", "\ud800", "\u0085"),
      maxLength: 130,
    })
    fc.assert(
      fc.property(fc.oneof(anyText, wideText), (text) => {
        const bytes = new TextEncoder().encode(text)
        const survives = new TextDecoder().decode(bytes) === text || text.startsWith("\ufeff")
        const isSound = bytes.length >= 1 && bytes.length <= 255 && survives && !/\p{Cc}/u.test(text)
        expect(whyNotId(text) === undefined).toBe(isSound)
      }),
    )
  })

  test("is counted in bytes: 255 pass, 256 do not", () => {
    for (const [unit, bytes] of [
      ["a", 1],
      ["é", 2],
      ["€", 3],
      ["😀", 4],
    ] as const) {
      const fitting = unit.repeat(Math.floor(255 / bytes)) + "a".repeat(255 % bytes)
      expect(refusalsOf(TimerId, fitting)).toEqual([])
      expect(refusalsOf(TimerId, `${fitting}a`)).toEqual([` ${bytesMessage}`])
    }
  })

  test("must not be empty, and must be text", () => {
    for (const body of ["", 5, null, ["a"]]) expect(refusalsOf(TimerId, body)).toEqual([` ${bytesMessage}`])
  })

  test("must not contain control characters: C0, DEL or C1", () => {
    for (let code = 0; code <= 0xff; code++) {
      const isControl = code < 0x20 || (code >= 0x7f && code <= 0x9f)
      const hex = code.toString(16).toUpperCase().padStart(4, "0")
      const expected = isControl ? [` must not contain control characters: remove U+${hex}`] : []
      expect(refusalsOf(TimerId, `a${String.fromCharCode(code)}b`)).toEqual(expected)
    }
  })

  test("must not contain lone surrogates, which have no UTF-8", () => {
    for (const text of [
      "\ud800",
      "a\udc00",
      "\udc00\ud800",
      "\udc00\udc00",
      "\ud800\ud800\udc00",
      "a\udbff",
    ]) {
      expect(refusalsOf(TimerId, text)).toEqual([" must not contain lone surrogates"])
    }
    expect(refusalsOf(TimerId, "\ud83d\ude00")).toEqual([])
  })

  test("of a correlation follows the same rules", () => {
    expect(refusalsOf(CorrelationId, "a".repeat(255))).toEqual([])
    for (const text of ["", "a".repeat(256), "a\n", "\ud800"])
      expect(refusalsOf(CorrelationId, text)).toHaveLength(1)
  })
})
