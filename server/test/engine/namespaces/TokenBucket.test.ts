import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { TokenBucket } from "../../../src/engine/namespaces/TokenBucket.ts"

describe("a token bucket", () => {
  test("gives one second's worth at once, then says when there will be one more", () => {
    const bucket = new TokenBucket()
    for (let taken = 0; taken < 4; taken++) expect(bucket.take(4, 1_000)).toBe(0)
    expect(bucket.take(4, 1_000)).toBe(250)
    expect(bucket.take(4, 1_200)).toBeCloseTo(50)
    expect(bucket.take(4, 1_250)).toBe(0)
  })

  test("gives a token now and then even if the rate is below one a second", () => {
    const bucket = new TokenBucket()
    expect(bucket.take(0.5, 0)).toBe(0)
    expect(bucket.take(0.5, 0)).toBe(2_000)
    expect(bucket.take(0.5, 2_000)).toBe(0)
  })

  test("never gives more over any time than its rate and one second's worth, for any requests", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 200 }),
        (rate, steps) => {
          const bucket = new TokenBucket()
          let nowMs = 0
          const given: Array<number> = []
          for (const step of steps) {
            nowMs += step
            if (bucket.take(rate, nowMs) === 0) given.push(nowMs)
          }
          for (const [index, from] of given.entries()) {
            for (let end = index; end < given.length; end++) {
              const spanMs = (given[end] ?? 0) - from
              expect(end - index + 1).toBeLessThanOrEqual(rate + (spanMs / 1_000) * rate + 1e-6)
            }
          }
        },
      ),
    )
  })
})
