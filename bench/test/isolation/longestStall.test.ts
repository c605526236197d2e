import { describe, expect, test } from "bun:test"
import { longestStallMs } from "../../src/isolation/longestStall.ts"

const metrics = (counts: Readonly<Record<string, number>>) =>
  [
    "# TYPE timer_thread_stall_seconds histogram",
    ...Object.entries(counts).map(([le, value]) => `timer_thread_stall_seconds_bucket{le="${le}"} ${value}`),
  ].join("\n")

describe("the longest stall", () => {
  test("is the bound of the highest bucket that got a value since the start", () => {
    const before = metrics({ "0.01": 4, "0.05": 5, "+Inf": 6 })
    expect(longestStallMs(before, metrics({ "0.01": 9, "0.05": 11, "+Inf": 12 }))).toBe(50)
    expect(longestStallMs(before, metrics({ "0.01": 9, "0.05": 10, "+Inf": 12 }))).toBe(
      Number.POSITIVE_INFINITY,
    )
    expect(longestStallMs(before, before)).toBeUndefined()
  })

  test("is unknown without the metric", () => {
    expect(longestStallMs("", "timer_pending 3")).toBeUndefined()
  })
})
