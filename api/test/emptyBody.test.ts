import { describe, expect, test } from "bun:test"
import { emptyBody } from "../src/emptyBody.ts"
import { refusalsOf } from "./refusals.ts"

const Nothing = emptyBody("Nothing")

describe("the body of a call without fields", () => {
  test("is an empty object", () => {
    expect(refusalsOf(Nothing, {})).toEqual([])
  })

  test("is not any other value", () => {
    for (const body of [{ limit: 1 }, [], ["a"], "", "text", 0, true, null]) {
      expect(refusalsOf(Nothing, body)).toHaveLength(1)
    }
  })
})
