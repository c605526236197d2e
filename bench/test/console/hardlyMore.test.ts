import { describe, expect, test } from "bun:test"
import { hardlyMore } from "../../src/console/hardlyMore.ts"

const isReached = (withMs: number, withoutMs: number) => hardlyMore("p99", withMs, withoutMs).isReached

describe("lateness with readers is hardly more than without", () => {
  test("if it is at most a tenth more, or at most one millisecond", () => {
    expect(isReached(22, 20)).toBe(true)
    expect(isReached(22.1, 20)).toBe(false)
    expect(isReached(2, 1)).toBe(true)
    expect(isReached(2.1, 1)).toBe(false)
    expect(isReached(1, 20)).toBe(true)
  })

  test("and the verdict shows both the ratio and the difference", () => {
    expect(hardlyMore("p99", 6, 5).value).toBe("1.20 (1.0 ms more)")
    expect(hardlyMore("p99", 4, 5).value).toBe("0.80 (1.0 ms less)")
  })

  test("but a side that was not measured is neither reached nor missed", () => {
    expect(hardlyMore("p99", Number.NaN, 5)).toMatchObject({ value: "not measured" })
    expect(isReached(Number.NaN, 5)).toBeUndefined()
  })
})
