import { describe, expect, test } from "bun:test"
import { Schema } from "effect"
import { defaultRetryPolicy } from "../src/RetryPolicy.ts"
import { TimerSchema } from "../src/Timer.ts"

const timer: typeof TimerSchema.Type = {
  namespace: "billing",
  timerId: "a",
  state: "dead",
  revision: 1_763_000_000_000,
  fireId: "0190c5b2-0000-7000-8000-000000000000",
  executeAt: 1_893_488_400_000,
  fireAt: 1_893_488_400_001,
  attempts: 10,
  lastAttempt: { at: 1_893_488_400_002, status: 500, error: "refused", durationMs: 12 },
  target: { type: "webhook", url: "http://a/", method: "POST", timeoutMs: 15_000, body: "envelope" },
  payload: { a: [1] },
  retryPolicy: defaultRetryPolicy,
  expireAfterMs: 5_400_000,
  correlationId: "c",
  createdAt: 0,
  updatedAt: 1,
  finishedAt: 2,
  latenessMs: 3,
}

describe("a timer in an answer", () => {
  test("has ISO instants and canonical durations under the names of the contract", () => {
    expect(JSON.parse(JSON.stringify(Schema.encodeSync(TimerSchema)(timer)))).toEqual({
      namespace: "billing",
      timerId: "a",
      state: "dead",
      revision: 1_763_000_000_000,
      fireId: "0190c5b2-0000-7000-8000-000000000000",
      executeAt: "2030-01-01T09:00:00.000Z",
      fireAt: "2030-01-01T09:00:00.001Z",
      attempts: 10,
      lastAttempt: { at: "2030-01-01T09:00:00.002Z", status: 500, error: "refused", durationMs: 12 },
      target: { type: "webhook", url: "http://a/", method: "POST", timeout: "15s", body: "envelope" },
      payload: { a: [1] },
      retryPolicy: {
        maxAttempts: 10,
        initialInterval: "5s",
        backoffMultiplier: 4,
        maxInterval: "8h",
        jitter: 0.2,
      },
      expireAfter: "1h30m",
      correlationId: "c",
      createdAt: "1970-01-01T00:00:00.000Z",
      updatedAt: "1970-01-01T00:00:00.001Z",
      finishedAt: "1970-01-01T00:00:00.002Z",
      latenessMs: 3,
    })
  })

  test("decodes to the same timer, and may gain fields that a client of today ignores", () => {
    const encoded = Schema.encodeSync(TimerSchema)(timer)
    expect(Schema.decodeUnknownSync(TimerSchema)({ ...encoded, addedLater: true })).toEqual(timer)
  })
})
