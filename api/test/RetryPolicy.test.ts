import { describe, expect, test } from "bun:test"
import { Schema } from "effect"
import { defaultLimits } from "../src/Limits.ts"
import {
  completeRetryPolicy,
  defaultRetryPolicy,
  makeRetryPolicyInput,
  RetryPolicySchema,
  shownRetryPolicy,
} from "../src/RetryPolicy.ts"
import { decoded, refusalsOf } from "./refusals.ts"

const RetryPolicyInput = makeRetryPolicyInput(defaultLimits)

describe("a retry policy", () => {
  test("that is empty is the default one", () => {
    expect(completeRetryPolicy(undefined)).toEqual(defaultRetryPolicy)
    expect(completeRetryPolicy(decoded(RetryPolicyInput, {}))).toEqual(defaultRetryPolicy)
    expect(Schema.encodeSync(RetryPolicySchema)(defaultRetryPolicy)).toEqual({
      maxAttempts: 10,
      initialInterval: "5s",
      backoffMultiplier: 4,
      maxInterval: "8h",
      jitter: 0.2,
    })
  })

  test("keeps given values, in milliseconds", () => {
    const input = {
      maxAttempts: 3,
      initialInterval: "1s",
      backoffMultiplier: 1.5,
      maxInterval: "1m",
      jitter: 0,
      maxDuration: "1d",
    }
    const policy = completeRetryPolicy(decoded(RetryPolicyInput, input))
    expect(policy).toEqual({
      maxAttempts: 3,
      initialIntervalMs: 1_000,
      backoffMultiplier: 1.5,
      maxIntervalMs: 60_000,
      jitter: 0,
      maxDurationMs: 86_400_000,
    })
    expect(Schema.encodeSync(RetryPolicySchema)(policy)).toEqual(input)
    expect(Schema.decodeUnknownSync(RetryPolicySchema)(input)).toEqual(policy)
  })

  test("may list its waits: one attempt more, no jitter, and shown as it was given", () => {
    const input = { waits: ["1m", "1h", "1d"], maxDuration: "7d" }
    const policy = completeRetryPolicy(decoded(RetryPolicyInput, input))
    expect(policy).toMatchObject({ maxAttempts: 4, jitter: 0, waitsMs: [60_000, 3_600_000, 86_400_000] })
    expect(Schema.encodeSync(RetryPolicySchema)(shownRetryPolicy(policy))).toEqual(input)
    expect(Schema.decodeUnknownSync(RetryPolicySchema)(input)).toEqual(shownRetryPolicy(policy))
    expect(completeRetryPolicy({ waits: [] }).maxAttempts).toBe(1)
    const longest = Array.from({ length: 99 }, () => "30d")
    expect(completeRetryPolicy(decoded(RetryPolicyInput, { waits: longest })).maxAttempts).toBe(100)
  })

  test("has one form: the other one is refused beside waits, and takes nothing from it", () => {
    for (const [field, value] of [
      ["maxAttempts", 3],
      ["initialInterval", "1s"],
      ["backoffMultiplier", 2],
      ["maxInterval", "1h"],
      ["jitter", 0],
    ]) {
      expect(refusalsOf(RetryPolicyInput, { waits: ["1m"], [String(field)]: value })).toEqual([
        `/${field} cannot be given together with waits: remove one of them`,
      ])
    }
    const waits = completeRetryPolicy({ waits: [7], maxDuration: 9 })
    expect(completeRetryPolicy(undefined, waits)).toBe(waits)
    expect(completeRetryPolicy({ maxAttempts: 3 }, waits)).toEqual({ ...defaultRetryPolicy, maxAttempts: 3 })
    expect(
      completeRetryPolicy({ waits: [5] }, { ...defaultRetryPolicy, maxDurationMs: 9 }),
    ).not.toHaveProperty("maxDurationMs")
  })

  test("refuses waits that are too many, too long, or no durations", () => {
    const many = Array.from({ length: 100 }, () => "1s")
    const message = "/waits must be an array of at most 99 durations"
    expect(refusalsOf(RetryPolicyInput, { waits: many })).toEqual([message])
    expect(refusalsOf(RetryPolicyInput, { waits: "1m" })).toEqual([message])
    for (const wait of ["0s", "31d", 5, "soon"]) {
      expect(refusalsOf(RetryPolicyInput, { waits: ["1s", wait] })).toEqual([
        expect.stringMatching(/^\/waits\/1 must be a duration/),
      ])
    }
  })

  test("never ends with an initial interval above its maximum", () => {
    expect(completeRetryPolicy({ initialInterval: 86_400_000 }).maxIntervalMs).toBe(86_400_000)
    expect(completeRetryPolicy({ maxInterval: 1_000 }).initialIntervalMs).toBe(1_000)
    expect(refusalsOf(RetryPolicyInput, { initialInterval: "2h", maxInterval: "1h" })).toEqual([
      "/maxInterval must not be shorter than initialInterval",
    ])
  })

  const bounds = [
    ["maxAttempts", [1, 100], [0, 101, 1.5, "3", null], "must be a whole number from 1 to 100"],
    ["backoffMultiplier", [1, 100, 1.5], [0.999, 100.1, "4"], "must be a number from 1 to 100"],
    ["jitter", [0, 1, 0.5], [-0.1, 1.1, "0.2"], "must be a number from 0 to 1"],
    [
      "initialInterval",
      ["1ms", "30d"],
      ["0s", "2592000001ms"],
      "must be a duration from 1ms to 30d (the service's setting TIMER_LIMIT_RETRY_INTERVAL)",
    ],
    [
      "maxInterval",
      ["1ms", "30d"],
      ["0s", "2592000001ms"],
      "must be a duration from 1ms to 30d (the service's setting TIMER_LIMIT_RETRY_INTERVAL)",
    ],
    [
      "maxDuration",
      ["1ms", "3653d"],
      ["0s"],
      "must be a duration from 1ms to 3653d (the service's setting TIMER_LIMIT_AHEAD)",
    ],
  ] as const
  for (const [field, accepted, refused, message] of bounds) {
    test(`limits ${field}, both ends included`, () => {
      for (const value of accepted) expect(refusalsOf(RetryPolicyInput, { [field]: value })).toEqual([])
      for (const value of refused)
        expect(refusalsOf(RetryPolicyInput, { [field]: value })).toEqual([
          expect.stringContaining(`/${field} ${message}`),
        ])
    })
  }

  test("refuses NaN in the form that JSON codecs know", () => {
    const json = Schema.toCodecJson(RetryPolicyInput)
    for (const value of ["NaN", "Infinity"]) expect(refusalsOf(json, { jitter: value })).toHaveLength(1)
  })

  test("has other bounds under other limits", () => {
    const Strict = makeRetryPolicyInput({ ...defaultLimits, attempts: 5 })
    expect(refusalsOf(Strict, { maxAttempts: 6 })).toEqual([
      "/maxAttempts must be a whole number from 1 to 5 (the service's setting TIMER_LIMIT_ATTEMPTS)",
    ])
  })
})
