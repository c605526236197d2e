import { describe, expect, test } from "bun:test"
import { Traceparent, traceparentOfHeader } from "../src/Traceparent.ts"
import { refusalsOf } from "./refusals.ts"

const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
const span = "00f067aa0ba902b7"
const sound = `00-${trace}-${span}-01`

const wrong = [
  "",
  "x",
  `00-${trace}-${span}`,
  `00-${trace.toUpperCase()}-${span}-01`,
  `00-${"0".repeat(32)}-${span}-01`,
  `00-${trace}-${"0".repeat(16)}-01`,
  `ff-${trace}-${span}-01`,
  `${sound}-more`,
  `${sound} `,
]

describe("a traceparent", () => {
  test("is what W3C Trace Context allows, and a field that is not is refused", () => {
    for (const text of [sound, `00-${trace}-${span}-00`, `01-${trace}-${span}-03`]) {
      expect(refusalsOf(Traceparent, text)).toEqual([])
    }
    for (const text of [...wrong, 5, null]) {
      expect(refusalsOf(Traceparent, text)).toEqual([expect.stringContaining("must be a W3C traceparent")])
    }
  })

  test("in a header that is not valid says nothing; a later version may say more", () => {
    expect(traceparentOfHeader(sound)).toBe(sound)
    for (const text of wrong) expect(traceparentOfHeader(text)).toBeUndefined()
    const later = `01-${trace}-${span}-01`
    expect(traceparentOfHeader(`${later}-and-more`)).toBe(later)
    expect(traceparentOfHeader(`${later}x`)).toBeUndefined()
  })
})
