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
