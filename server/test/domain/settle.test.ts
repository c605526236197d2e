import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { farthestRearmMs, nearestRearmMs, settle, waitMs } from "../../src/domain/settle.ts"
import type { RetryPolicy, Timer } from "../../src/domain/Timer.ts"
import type { Attempted } from "../../src/ports/Deliverer.ts"

const hourMs = 3_600_000
const defaults: RetryPolicy = {
  maxAttempts: 10,
  initialIntervalMs: 5_000,
  backoffMultiplier: 4,
  maxIntervalMs: 8 * hourMs,
  jitter: 0.2,
}

const policies: fc.Arbitrary<RetryPolicy> = fc.record({
  maxAttempts: fc.integer({ min: 1, max: 100 }),
  initialIntervalMs: fc.integer({ min: 1, max: hourMs }),
  backoffMultiplier: fc.double({ min: 1, max: 10, noNaN: true }),
  maxIntervalMs: fc.integer({ min: 1, max: 24 * hourMs }),
  jitter: fc.double({ min: 0, max: 1, noNaN: true }),
})
const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const attempts = fc.integer({ min: 1, max: 100 })

/** What the policy asks for after an attempt, before jitter. */
const intervalMs = (policy: RetryPolicy, attempt: number): number =>
  Math.min(policy.maxIntervalMs, policy.initialIntervalMs * policy.backoffMultiplier ** (attempt - 1))

const timerWith = (policy: Partial<RetryPolicy>, firstAttemptAt?: number): Timer => ({
  namespace: "billing",
  timerId: "invoice-1",
  uuid: "00".repeat(16),
  fireId: "0194fdc2-fa2f-7fb1-8a3c-1b2c3d4e5f60",
  revision: 1,
  executeAt: 1_000_000,
  fireAt: 1_000_000,
  attempts: 0,
  createdAt: 0,
  updatedAt: 0,
  correlationId: "c",
  spec: { target: { type: "handler" }, retryPolicy: { ...defaults, ...policy } },
  ...(firstAttemptAt === undefined ? {} : { firstAttemptAt }),
})

const startedAt = 1_000_030
const sentAt = 1_000_040
const endedAt = 1_000_100
const settled = (delivery: Attempted, timer = timerWith({}), attempt = 1, random = 0) =>
  settle(timer, {
    delivery,
    attempt,
    startedAt,
    sentAt,
    endedAt,
    random,
    pauses: [],
    nextFireId: () => "next",
  })

const retry: Attempted = { kind: "retry", error: "answered 500", isHostFailure: true }

describe("the wait before the next attempt", () => {
  test("is exactly what the policy lists, whatever the jitter; a far side may ask for longer, up to the longest", () => {
    const policy: RetryPolicy = {
      ...defaults,
      maxIntervalMs: 300,
      maxAttempts: 4,
      waitsMs: [100, 300, 200],
      jitter: 0,
    }
    for (const random of [0, 0.5, 0.999]) {
      expect([1, 2, 3].map((attempt) => waitMs(policy, attempt, random, undefined))).toEqual([100, 300, 200])
    }
    expect(waitMs(policy, 1, 0, 250)).toBe(250)
    expect(waitMs(policy, 1, 0, 9_000)).toBe(300)
    const timer = timerWith(policy)
    expect(settled(retry, timer, 3)).toEqual({ to: "retry", fireAt: endedAt + 200 })
    expect(settled(retry, timer, 4)).toEqual({ to: "dead", reason: "attemptsExhausted" })
  })

  test("is the interval, shortened by at most the jitter", () => {
    fc.assert(
      fc.property(policies, attempts, randoms, (policy, attempt, random) => {
        const interval = intervalMs(policy, attempt)
        const wait = waitMs(policy, attempt, random, undefined)
        expect(Number.isInteger(wait)).toBe(true)
        expect(wait).toBeGreaterThanOrEqual(Math.floor(interval * (1 - policy.jitter)))
        expect(wait).toBeLessThanOrEqual(Math.max(1, Math.ceil(interval)))
      }),
    )
  })

  test("is never longer than maxInterval and never zero", () => {
    fc.assert(
      fc.property(
        policies,
        attempts,
        randoms,
        fc.option(fc.nat()),
        (policy, attempt, random, retryAfterMs) => {
          const wait = waitMs(policy, attempt, random, retryAfterMs ?? undefined)
          expect(wait).toBeGreaterThanOrEqual(1)
          expect(wait).toBeLessThanOrEqual(policy.maxIntervalMs)
        },
      ),
    )
  })

  test("does not shrink from one attempt to the next, except for jitter", () => {
    fc.assert(
      fc.property(policies, attempts, (policy, attempt) => {
        const wait = waitMs(policy, attempt, 0, undefined)
        expect(waitMs(policy, attempt + 1, 0, undefined)).toBeGreaterThanOrEqual(wait)
      }),
    )
  })

  test("honours Retry-After up to maxInterval", () => {
    fc.assert(
      fc.property(policies, attempts, randoms, fc.nat(), (policy, attempt, random, retryAfterMs) => {
        const wait = waitMs(policy, attempt, random, retryAfterMs)
        expect(wait).toBeGreaterThanOrEqual(Math.min(retryAfterMs, policy.maxIntervalMs))
        expect(wait).toBeGreaterThanOrEqual(waitMs(policy, attempt, random, undefined))
      }),
    )
  })

  test("adds up to about a day by default", () => {
    let totalMs = 0
    for (let attempt = 1; attempt < defaults.maxAttempts; attempt++) {
      totalMs += waitMs(defaults, attempt, 0.5, undefined)
    }
    expect(totalMs / hourMs).toBeGreaterThan(20)
    expect(totalMs / hourMs).toBeLessThan(36)
  })
})

describe("a retry", () => {
  test("is due one wait after the attempt ended", () => {
    expect(settled(retry)).toEqual({ to: "retry", fireAt: endedAt + 5_000 })
    expect(settled(retry, timerWith({}), 2, 0.5)).toEqual({ to: "retry", fireAt: endedAt + 18_000 })
    expect(settled({ ...retry, retryAfterMs: 60_000 })).toEqual({ to: "retry", fireAt: endedAt + 60_000 })
  })

  test("is due when the target says, if it names a time", () => {
    const then = settled({ ...retry, next: { inMs: 12_345 }, retryAfterMs: 60_000 })
    expect(then).toEqual({ to: "retry", fireAt: endedAt + 12_345 })
  })

  test("follows each attempt except the last, after which the timer is dead", () => {
    fc.assert(
      fc.property(attempts, attempts, (maxAttempts, attempt) => {
        const then = settled(retry, timerWith({ maxAttempts }), attempt)
        if (attempt < maxAttempts) expect(then.to).toBe("retry")
        else expect(then).toEqual({ to: "dead", reason: "attemptsExhausted" })
      }),
    )
  })

  test("counts as an attempt even if the target names a time", () => {
    const then = settled({ ...retry, next: { inMs: 5_000 } }, timerWith({ maxAttempts: 3 }), 3)
    expect(then).toEqual({ to: "dead", reason: "attemptsExhausted" })
  })

  test("is never due later than maxDuration after the first attempt: then the timer is dead", () => {
    const dead = { to: "dead", reason: "durationExhausted" } as const
    const firstAttemptAt = startedAt - 60_000
    const lastMs = endedAt + 5_000 - firstAttemptAt
    const inTime = settled(retry, timerWith({ maxDurationMs: lastMs }, firstAttemptAt), 1)
    expect(inTime).toEqual({ to: "retry", fireAt: endedAt + 5_000 })
    expect(settled(retry, timerWith({ maxDurationMs: lastMs - 1 }, firstAttemptAt), 1)).toEqual(dead)
    expect(settled(retry, timerWith({ maxDurationMs: 5_000 }), 1)).toEqual(dead)
  })
})

describe("a re-arming", () => {
  const executeAt = (next: { atMs: number } | { inMs: number }): number => {
    const then = settled({ kind: "rearm", next })
    return then.to === "rearmed" ? then.executeAt : Number.NaN
  }

  test("is for the named time", () => {
    expect(executeAt({ inMs: 5_000 })).toBe(endedAt + 5_000)
    expect(executeAt({ atMs: endedAt + 86_400_000 })).toBe(endedAt + 86_400_000)
  })

  test("is never nearer than a second or farther than ten years", () => {
    const times = fc.oneof(fc.maxSafeInteger(), fc.integer({ min: endedAt - 5_000, max: endedAt + 5_000 }))
    fc.assert(
      fc.property(times, (atMs) => {
        const at = executeAt({ atMs })
        expect(at).toBeGreaterThanOrEqual(endedAt + nearestRearmMs)
        expect(at).toBeLessThanOrEqual(endedAt + farthestRearmMs)
        if (atMs >= endedAt + nearestRearmMs && atMs <= endedAt + farthestRearmMs) expect(at).toBe(atMs)
      }),
    )
    expect(nearestRearmMs).toBe(1_000)
    expect(executeAt({ inMs: 0 })).toBe(endedAt + 1_000)
  })

  test("takes a new fireId, and a new payload only if there is one", () => {
    const payload = new Uint8Array([49])
    const base = { to: "rearmed", executeAt: endedAt + 5_000, fireId: "next", latenessMs: 40 } as const
    expect(settled({ kind: "rearm", next: { inMs: 5_000 } })).toEqual(base)
    expect(settled({ kind: "rearm", next: { inMs: 5_000 }, payload })).toEqual({ ...base, payload })
  })
})

describe("an end", () => {
  test("of a delivered timer has its lateness, which is never negative", () => {
    expect(settled({ kind: "delivered" })).toEqual({ to: "delivered", latenessMs: 40 })
    const createdLate = { ...timerWith({}), executeAt: 0, createdAt: sentAt - 3, updatedAt: sentAt - 3 }
    expect(settled({ kind: "delivered" }, createdLate)).toEqual({ to: "delivered", latenessMs: 3 })
    const early = { ...timerWith({}), executeAt: sentAt + 1 }
    expect(settled({ kind: "delivered" }, early)).toEqual({ to: "delivered", latenessMs: 0 })
  })

  test("of a dead one keeps the reason", () => {
    const dead: Attempted = { kind: "dead", reason: "egressRefused", error: "no" }
    expect(settled(dead)).toEqual({ to: "dead", reason: "egressRefused" })
  })
})
