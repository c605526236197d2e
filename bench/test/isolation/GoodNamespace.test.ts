import { describe, expect, test } from "bun:test"
import { goodResult } from "../../src/isolation/GoodNamespace.ts"

const timer = (timerId: string, dueAtMs: number, isAccepted = true) => ({ timerId, dueAtMs, isAccepted })

describe("the result of the good namespace", () => {
  test("takes the lateness from the first arrival and counts the others as repeats", () => {
    const result = goodResult(
      [timer("a", 100), timer("b", 200)],
      [
        ["b", 201],
        ["a", 150],
        ["a", 400],
        ["warm-up", 90],
      ],
      1_000,
    )
    expect(result).toEqual({ latenessMs: [50, 1], missing: 0, notAccepted: 0, repeated: 1 })
  })

  test("counts a timer that never arrived as late until the end", () => {
    const result = goodResult([timer("a", 100), timer("b", 200, false)], [], 1_000)
    expect(result).toEqual({ latenessMs: [900, 800], missing: 1, notAccepted: 1, repeated: 0 })
  })
})
