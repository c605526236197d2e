import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import { decodeScheduleTimer } from "../src/ScheduleTimer.ts"

const sample = { tenantId: "billing", serviceCallId: "call-1", dueAt: "2030-01-01T09:00:00+01:00" }

describe("a ScheduleTimer", () => {
  test("names a tenant, a service call and an instant", () => {
    const command = Result.getOrThrow(decodeScheduleTimer({ ...sample, note: "fields may be added" }))
    expect(command.dueAt).toBe(Date.UTC(2030, 0, 1, 8))
    expect(String(command.serviceCallId)).toBe("call-1")
  })

  test("rounds an instant that is finer than a millisecond up", () => {
    const { dueAt } = Result.getOrThrow(
      decodeScheduleTimer({ ...sample, dueAt: "2030-01-01T09:00:00.0001Z" }),
    )
    expect(dueAt).toBe(Date.UTC(2030, 0, 1, 9, 0, 0, 1))
  })

  test("may list retry waits and name its trace; ids that the service makes are refused", () => {
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    const command = Result.getOrThrow(
      decodeScheduleTimer({ ...sample, traceparent, retryPolicy: { waits: ["1m"] } }),
    )
    expect(command).toMatchObject({ traceparent, retryPolicy: { waits: [60_000] } })
    const refused = (fields: object) => {
      const result = decodeScheduleTimer({ ...sample, ...fields })
      return Result.isFailure(result) && result.failure
    }
    expect(refused({ serviceCallId: "_dead.x" })).toStartWith("/serviceCallId must not begin with _dead.")
    expect(refused({ traceparent: "x" })).toStartWith("/traceparent must be a W3C traceparent")
    expect(refused({ retryPolicy: { waits: ["1m"], jitter: 0 } })).toStartWith("/retryPolicy/jitter cannot")
  })

  test("is refused for missing or wrong fields, by name", () => {
    for (const [field, value] of [
      ["tenantId", "a.*"],
      ["serviceCallId", ""],
      ["dueAt", "tomorrow"],
      ["dueAt", 1_800_000_000_000],
    ] as const) {
      const refused = decodeScheduleTimer({ ...sample, [field]: value })
      expect(Result.isFailure(refused) && refused.failure).toStartWith(`/${field} must`)
    }
    const { dueAt: _, ...rest } = sample
    expect(decodeScheduleTimer(rest)).toEqual(Result.fail("/dueAt is required"))
    expect(Result.isFailure(decodeScheduleTimer("soon"))).toBe(true)
  })
})
