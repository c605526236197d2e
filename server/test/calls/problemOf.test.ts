// What a caller is told about a write that had no owner to do it, and about a timer that cannot be read.
import { describe, expect, test } from "bun:test"
import { problemOf } from "../../src/calls/problemOf.ts"
import { NoOwner, TimerUnreadable } from "../../src/engine/front/RefusedWrite.ts"

const told = (mayBeDone?: boolean) =>
  problemOf(
    new NoOwner({
      message: "no owner is in reach",
      retryAfterMs: 1_200,
      ...(mayBeDone === undefined ? {} : { mayBeDone }),
    }),
  )

describe("a write without an owner", () => {
  test("is refused with a pause, and says that nothing was written only if that is sure", () => {
    for (const sure of [told(), told(false)]) {
      expect(sure).toMatchObject({ status: 503, code: "ownerUnavailable", retryAfterSeconds: 2 })
      expect(sure.detail).toBe("No owner is in reach. Nothing was written: try again after the pause.")
    }
    expect(told(true)).toMatchObject({ status: 503, code: "ownerUnavailable", retryAfterSeconds: 2 })
    expect(told(true).detail).not.toContain("Nothing")
    expect(told(true).detail).toContain("not known")
  })
})

test("a timer that cannot be read is no mistake of the caller, who is told why", () => {
  const reason = "What is stored under this key cannot be read."
  expect(problemOf(new TimerUnreadable({ reason }))).toMatchObject({
    status: 500,
    code: "internal",
    detail: reason,
  })
})
