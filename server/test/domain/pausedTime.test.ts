import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { hasExpired, pausedMs, pausesOf } from "../../src/domain/pausedTime.ts"
import { sampleSpec, sampleTimer } from "../../testkit/timers.ts"

const pause = (fromMs: number, untilMs: number) => ({ fromMs, untilMs })
const forEver = Number.POSITIVE_INFINITY

describe("the pauses of a namespace", () => {
  test("are its own and those of the service, and current ones have no end", () => {
    expect(pausesOf({}, {})).toEqual([])
    expect(
      pausesOf({ pastPauses: [pause(10, 20)], pausedSinceMs: 70 }, { pastPauses: [pause(40, 50)] }),
    ).toEqual([pause(10, 20), pause(40, 50), pause(70, forEver)])
    expect(pausesOf({}, { pause: { sinceMs: 5, kind: "asked" } })).toEqual([pause(5, forEver)])
  })

  test("that overlap or meet are merged, so that their time counts once", () => {
    expect(
      pausesOf(
        { pastPauses: [pause(10, 30), pause(50, 60)], pausedSinceMs: 200 },
        {
          pastPauses: [pause(0, 5), pause(20, 40), pause(40, 45), pause(52, 55)],
          pause: { sinceMs: 150, kind: "asked" },
        },
      ),
    ).toEqual([pause(0, 5), pause(10, 45), pause(50, 60), pause(150, forEver)])
  })
})

describe("the time within pauses", () => {
  test("is the part of a span that lies inside them, edges included", () => {
    const pauses = [pause(10, 20), pause(30, forEver)]
    expect(pausedMs(pauses, 0, 10)).toBe(0)
    expect(pausedMs(pauses, 0, 15)).toBe(5)
    expect(pausedMs(pauses, 12, 14)).toBe(2)
    expect(pausedMs(pauses, 15, 35)).toBe(10)
    expect(pausedMs(pauses, 40, 50)).toBe(10)
    expect(pausedMs(pauses, 50, 40)).toBe(0)
    expect(pausedMs([], 0, 99)).toBe(0)
  })

  test("equals a count millisecond by millisecond", () => {
    const past = fc
      .uniqueArray(fc.integer({ min: 0, max: 60 }), { minLength: 2, maxLength: 2 })
      .map((ends) => pause(Math.min(...ends), Math.max(...ends)))
    const instant = fc.integer({ min: 0, max: 60 })
    const since = fc.option(instant, { nil: undefined })
    fc.assert(
      fc.property(
        fc.array(past),
        fc.array(past),
        since,
        since,
        instant,
        instant,
        (own, all, mine, ours, a, b) => {
          const [fromMs, untilMs] = [Math.min(a, b), Math.max(a, b)]
          const isPaused = (ms: number) =>
            [...own, ...all].some((one) => one.fromMs <= ms && ms < one.untilMs) ||
            (mine !== undefined && mine <= ms) ||
            (ours !== undefined && ours <= ms)
          let expected = 0
          for (let ms = fromMs; ms < untilMs; ms++) if (isPaused(ms)) expected++
          const pauses = pausesOf(
            { pastPauses: own, ...(mine === undefined ? {} : { pausedSinceMs: mine }) },
            { pastPauses: all, ...(ours === undefined ? {} : { pause: { sinceMs: ours, kind: "asked" } }) },
          )
          expect(pausedMs(pauses, fromMs, untilMs)).toBe(expected)
        },
      ),
    )
  })
})

describe("a timer expires", () => {
  const timer = sampleTimer({ executeAt: 1_000, spec: { ...sampleSpec, expireAfterMs: 100 } })

  test("when more than expireAfter has passed since it was due, without the time within pauses", () => {
    expect(hasExpired(timer, 1_100, [])).toBe(false)
    expect(hasExpired(timer, 1_101, [])).toBe(true)
    expect(hasExpired(timer, 1_150, [pause(900, 1_050)])).toBe(false)
    expect(hasExpired(timer, 1_151, [pause(900, 1_050)])).toBe(true)
    expect(hasExpired(timer, 9_000, [pause(1_100, forEver)])).toBe(false)
  })

  test("never without expireAfter, nor after an attempt", () => {
    expect(hasExpired({ ...timer, spec: sampleSpec }, 1e12, [])).toBe(false)
    expect(hasExpired({ ...timer, attempts: 1 }, 1e12, [])).toBe(false)
  })
})
