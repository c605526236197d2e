// Lays JSON out for people. Only the white space between the tokens differs from the input.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { layOutJson } from "../../../src/cli/frame/layOutJson.ts"

describe("layOutJson", () => {
  test("has the layout of JSON.stringify, whatever white space the input has", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, "\t"), (value, space) => {
        const json = JSON.stringify(value, undefined, space)
        expect(layOutJson(json)).toBe(JSON.stringify(value, undefined, 2))
      }),
    )
  })

  test("keeps digits, duplicate keys and escapes unchanged", () => {
    const json = '{"n":12345678901234567890.10,"n":-1E+2,"\\u0061":"\\/ \\" {[,:]} "}'
    expect(layOutJson(json)).toBe(
      '{\n  "n": 12345678901234567890.10,\n  "n": -1E+2,\n  "\\u0061": "\\/ \\" {[,:]} "\n}',
    )
  })

  test("deep nesting does not make the output much larger", () => {
    const depth = 100_000
    const laidOut = layOutJson("[".repeat(depth) + "]".repeat(depth))
    expect(laidOut.replace(/\s/g, "").length).toBe(2 * depth)
    expect(laidOut.length).toBeLessThan(200 * depth)
  })
})
