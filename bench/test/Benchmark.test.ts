import { describe, expect, test } from "bun:test"
import { atLeast, atMost, figure, percentile, told, whyNot } from "../src/Benchmark.ts"

describe("percentiles", () => {
  test("use the nearest rank, for any order", () => {
    const values = [50, 15, 40, 20, 35]
    expect([0, 0.05, 0.3, 0.4, 0.5, 1].map((fraction) => percentile(values, fraction))).toEqual([
      15, 15, 20, 20, 35, 50,
    ])
    expect(values[0]).toBe(50)
  })

  test("of an empty list are not numbers", () => {
    expect(percentile([], 0.5)).toBeNaN()
  })

  test("a figure has the median of its rounds", () => {
    expect(figure("rate", "per second", [3, 9, 4])).toMatchObject({ median: 4, rounds: [3, 9, 4] })
  })
})

describe("verdicts", () => {
  test("a target that is just met is reached", () => {
    expect(atLeast("ratio", 1.5, 1.5).isReached).toBe(true)
    expect(atLeast("ratio", 1.499, 1.5).isReached).toBe(false)
    expect(atMost("p99", 25, 25, "ms").isReached).toBe(true)
    expect(atMost("p99", 25.04, 25, "ms").isReached).toBe(false)
  })

  test("a figure that was not measured is neither reached nor missed", () => {
    expect(atLeast("ratio", Number.NaN, 1.5)).toEqual({
      label: "ratio",
      value: "not measured",
      target: "≥ 1.5",
    })
    expect(atMost("p99", Number.NaN, 25, "ms").isReached).toBeUndefined()
    expect(told("ratio", Number.NaN).value).toBe("not measured")
  })

  test("a failure fits on a line of a table", () => {
    const text = whyNot(new Error(`first\nsecond ${"x".repeat(1_000)}`))
    expect(text).toStartWith("failed: first second")
    expect(text.length).toBeLessThan(250)
  })
})
