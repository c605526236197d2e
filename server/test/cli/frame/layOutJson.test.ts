// JSON laid out for people: only the white space between its tokens differs from what came.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { layOutJson } from "../../../src/cli/frame/layOutJson.ts"

describe("layOutJson", () => {
  test("is the layout that JSON.stringify has, whatever white space it came with", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, "\t"), (value, space) => {
        const json = JSON.stringify(value, undefined, space)
        expect(layOutJson(json)).toBe(JSON.stringify(value, undefined, 2))
      }),
    )
  })

  test("keeps digits, duplicate keys and escapes as they are", () => {
    const json = '{"n":12345678901234567890.10,"n":-1E+2,"\\u0061":"\\/ \\" {[,:]} "}'
    expect(layOutJson(json)).toBe(
      '{\n  "n": 12345678901234567890.10,\n  "n": -1E+2,\n  "\\u0061": "\\/ \\" {[,:]} "\n}',
    )
  })

  test("nothing is made large by being deep", () => {
    const depth = 100_000
    const laidOut = layOutJson("[".repeat(depth) + "]".repeat(depth))
    expect(laidOut.replace(/\s/g, "").length).toBe(2 * depth)
    expect(laidOut.length).toBeLessThan(200 * depth)
  })
})
