import { describe, expect, test } from "bun:test"
import { defaultLimits } from "../src/Limits.ts"
import { makeUpdateTimer } from "../src/UpdateTimer.ts"
import { decoded, refusalsOf } from "./refusals.ts"

const UpdateTimer = makeUpdateTimer(defaultLimits)
const key = { namespace: "billing", timerId: "a" }

describe("an update", () => {
  test("keeps absent fields and clears those that are null", () => {
    const request: unknown = decoded(UpdateTimer, {
      ...key,
      payload: null,
      retryPolicy: null,
      expireAfter: null,
    })
    expect(request).toEqual({ ...key, payload: null, retryPolicy: null, expireAfter: null })
  })

  test("sets onExpire only together with expireAfter, and clears onDead by null", () => {
    expect(refusalsOf(UpdateTimer, { ...key, expireAfter: "1h", onExpire: "drop" })).toEqual([])
    for (const rest of [{}, { expireAfter: null }]) {
      expect(refusalsOf(UpdateTimer, { ...key, ...rest, onExpire: "drop" })).toEqual([
        "/onExpire needs expireAfter: give both of them, or neither",
      ])
    }
    expect(refusalsOf(UpdateTimer, { ...key, onDead: null })).toEqual([])
    expect(refusalsOf(UpdateTimer, { ...key, onDead: { type: "handler" } })).toEqual([
      "/onDead must be an object whose type is webhook or event",
    ])
    // Timers that the service made may be changed.
    expect(refusalsOf(UpdateTimer, { ...key, timerId: "_dead.x", delay: "1h" })).toEqual([])
  })

  test("cannot clear a field that a timer must have", () => {
    for (const field of ["executeAt", "delay", "callbackUrl", "target", "correlationId", "ifRevision"]) {
      expect(refusalsOf(UpdateTimer, { ...key, expireAfter: "1h", [field]: null })).toHaveLength(1)
    }
  })

  test("names the fix for a field that may be null", () => {
    expect(refusalsOf(UpdateTimer, { ...key, expireAfter: 5, retryPolicy: 5 })).toEqual([
      "/retryPolicy must be an object of retry settings, or null for the default",
      "/expireAfter must be a duration such as 1h30m, or null to clear it",
    ])
    expect(refusalsOf(UpdateTimer, { ...key, expireAfter: "0s" })).toEqual([
      "/expireAfter must be a duration from 1ms to 3653d (the service's setting TIMER_LIMIT_AHEAD)",
    ])
    expect(refusalsOf(UpdateTimer, { ...key, retryPolicy: { jitter: 2 } })).toEqual([
      "/retryPolicy/jitter must be a number from 0 to 1",
    ])
  })

  test("must change something", () => {
    for (const body of [key, { ...key, ifRevision: 5 }])
      expect(refusalsOf(UpdateTimer, body)).toEqual([
        expect.stringContaining(" must have at least one change: executeAt, delay"),
      ])
  })

  test("names at most one time and at most one target", () => {
    expect(refusalsOf(UpdateTimer, { ...key, delay: "1s", executeAt: "2030-01-01T09:00:00Z" })).toEqual([
      "/delay cannot be given together with executeAt: remove one of them",
    ])
    expect(refusalsOf(UpdateTimer, { ...key, callbackUrl: "http://a/", target: { type: "event" } })).toEqual([
      "/target cannot be given together with callbackUrl: remove one of them",
    ])
  })

  test("compares with a whole revision", () => {
    for (const ifRevision of [0, 1_763_000_000_000])
      expect(refusalsOf(UpdateTimer, { ...key, delay: "1s", ifRevision })).toEqual([])
    for (const ifRevision of [-1, 1.5, "5", 2 ** 53])
      expect(refusalsOf(UpdateTimer, { ...key, delay: "1s", ifRevision })).toEqual([
        "/ifRevision must be a revision: a whole number",
      ])
  })

  test("needs its key and refuses unknown fields", () => {
    expect(refusalsOf(UpdateTimer, { delay: "1s" })).toEqual([
      "/namespace is required",
      "/timerId is required",
    ])
    expect(refusalsOf(UpdateTimer, { ...key, delay: "1s", onExisting: "keep" })).toEqual([
      expect.stringContaining("/onExisting is an unknown field"),
    ])
  })
})
