import { describe, expect, test } from "bun:test"
import { makeCreateTimer } from "../src/CreateTimer.ts"
import { defaultLimits } from "../src/Limits.ts"
import { CountTimers } from "../src/ListTimers.ts"
import { makeUpdateTimer } from "../src/UpdateTimer.ts"
import { decoded, refusalsOf } from "./refusals.ts"

const CreateTimer = makeCreateTimer(defaultLimits)
const UpdateTimer = makeUpdateTimer(defaultLimits)
const create = (tags: unknown) => ({
  namespace: "billing",
  delay: "1s",
  callbackUrl: "https://example.com/hook",
  tags,
})
const ten = Array.from({ length: 10 }, (_, index) => `tag ${index}`)

describe("tags", () => {
  test("are up to ten texts of up to 64 bytes, kept in their order", () => {
    for (const tags of [["a"], ten, ["☂".repeat(21)], ["b", "a", "A", " a"], ['",%']]) {
      expect(decoded(CreateTimer, create(tags)).tags).toEqual(tags)
    }
  })

  test("are refused with the position and the fix", () => {
    const array = "/tags must be an array of 1 to 10 tags; leave it out for none"
    const text = "must be text of 1 to 64 bytes of UTF-8 without control characters"
    const cases: ReadonlyArray<readonly [unknown, string]> = [
      [[], array],
      ["a", array],
      [null, array],
      [[...ten, "one more"], array],
      [["a", ""], `/tags/1 ${text}`],
      [["a".repeat(65)], `/tags/0 ${text}`],
      [["☂".repeat(22)], `/tags/0 ${text}`],
      [[7], `/tags/0 ${text}`],
      [["a\nb"], "/tags/0 must not contain control characters: remove U+000A"],
      [["\ud800"], "/tags/0 must not contain lone surrogates"],
      [["a", "b", "a"], "/tags/2 is given twice: remove one of them"],
    ]
    for (const [tags, refusal] of cases)
      expect([tags, refusalsOf(CreateTimer, create(tags))]).toEqual([tags, [refusal]])
  })

  test("are not compared with each other if there are too many, because that would take minutes", () => {
    const tags = Array.from({ length: 200_000 }, (_, index) => `tag-${index}`)
    expect(refusalsOf(CreateTimer, create(tags))).toHaveLength(1)
  })

  test("can be set, and cleared by null, in an update", () => {
    const key = { namespace: "billing", timerId: "a" }
    for (const tags of [["a"], null]) {
      const request: unknown = decoded(UpdateTimer, { ...key, tags })
      expect(request).toEqual({ ...key, tags })
    }
    expect(refusalsOf(UpdateTimer, { ...key, tags: 5 })).toEqual([
      "/tags must be an array of 1 to 10 tags, or null for none",
    ])
  })

  test("filter by one of them", () => {
    expect(refusalsOf(CountTimers, { namespace: "billing", tag: "trial" })).toEqual([])
    expect(refusalsOf(CountTimers, { namespace: "billing", tag: "" })).toHaveLength(1)
    expect(refusalsOf(CountTimers, { namespace: "billing", tag: ["trial"] })).toHaveLength(1)
  })
})
