import { describe, expect, test } from "bun:test"
import { RecentIds } from "../../src/local/RecentIds.ts"

describe("RecentIds", () => {
  test("knows an id for as long as the window", () => {
    const ids = new RecentIds(100, 10)
    ids.add("a", 0)
    expect([ids.has("a", 99), ids.has("a", 100), ids.has("b", 0)]).toEqual([true, false, false])
    ids.add("a", 100)
    expect(ids.has("a", 199)).toBe(true)
  })

  test("knows a limited number of ids, and forgets the oldest", () => {
    const ids = new RecentIds(100, 2)
    for (const id of ["a", "b", "c"]) ids.add(id, 0)
    expect(["a", "b", "c"].map((id) => ids.has(id, 0))).toEqual([false, true, true])
  })
})
