import { describe, expect, test } from "bun:test"
import { FailureMemory } from "../src/FailureMemory.ts"

describe("FailureMemory", () => {
  test("remembers the first failure and the last", () => {
    const memory = new FailureMemory(10)
    const [first, second, third] = [1, 2, 3].map((at) => ({ at, error: `failure ${at}` }))
    for (const failure of [first, second, third]) if (failure !== undefined) memory.note("m", failure)
    expect<unknown>(memory.of("m")).toEqual({ first, last: third })
    memory.forget("m")
    expect(memory.of("m")).toBeUndefined()
  })

  test("is bounded: the oldest message is forgotten first, and long errors are cut", () => {
    const memory = new FailureMemory(2)
    for (const key of ["a", "b", "a", "c"]) memory.note(key, { at: 0, error: "x".repeat(5_000) })
    expect(memory.of("a")).toBeUndefined()
    expect(memory.of("b")).toBeDefined()
    expect(memory.of("c")?.last.error.length).toBe(1_000)
  })
})
