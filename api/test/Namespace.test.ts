import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { Namespace } from "../src/Namespace.ts"
import { refusalsOf } from "./refusals.ts"

const message = " must be 1 to 100 characters of A-Z, a-z, 0-9, _ and -"

describe("a namespace", () => {
  test("may be any 1 to 100 of its characters", () => {
    const character = fc.constantFrom(..."ABCXYZabcxyz0189_-")
    fc.assert(
      fc.property(fc.string({ unit: character, minLength: 1, maxLength: 100 }), (text) => {
        expect(refusalsOf(Namespace, text)).toEqual(
          text.startsWith("_") ? [" must not begin with _, which is reserved"] : [],
        )
      }),
    )
  })

  test("ends at 100 characters", () => {
    expect(refusalsOf(Namespace, "a".repeat(100))).toEqual([])
    expect(refusalsOf(Namespace, "a".repeat(101))).toEqual([message])
  })

  test("is refused when it is empty, has other characters, or is not text", () => {
    for (const body of ["", "a b", "a.b", "a/b", "é", "a\n", "a\0", "名前", 5, null]) {
      expect(refusalsOf(Namespace, body)).toEqual([message])
    }
  })

  test("must not begin with the reserved _, but may contain it", () => {
    expect(refusalsOf(Namespace, "_system")).toEqual([" must not begin with _, which is reserved"])
    expect(refusalsOf(Namespace, "a_")).toEqual([])
  })
})
